/** What identifies a row or a group. */

/** What identifies a group or colours a row: `pid`, `comm`, … */
export type Key = Readonly<Record<string, string | number>>;
