/** What identifies a row or a group, and colours a row: `pid`, `comm`, … */
export type Key = Readonly<Record<string, string | number>>;
