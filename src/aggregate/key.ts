/** What rows and groups are told apart by. */

/** What identifies a group or colours a row: `pid`, `comm`, … */
export type Key = Readonly<Record<string, string | number>>;
