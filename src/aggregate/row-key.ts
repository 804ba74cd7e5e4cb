/** What identifies a row or a group, and colours a row: `pid`, `comm`, … */
export type Key = Readonly<Record<string, string | number>>;

/**
 * What stacks are apart by besides whose they are, the outermost first: in which place of the window they were;
 * which memory it is; of waits which part of their time, which kind, what they were for, who ended them.
 */
const APART = ['place', 'memory', 'part', 'kind', 'object', 'waker'] as const;
const APART_FIELDS: ReadonlySet<string> = new Set(APART);

/** What a stack is apart by, in names; empty where only whose it is tells it apart from others. */
export function apartOf(key: Key): string[] {
	const { place, kind, ...rest } = key;
	// Of a place the kind says which one: both read as one.
	const fields: Key = place === undefined ? key : { ...rest, place: `${place}: ${kind}` };
	return APART.flatMap((field) => (fields[field] === undefined ? [] : [`${fields[field]}`]));
}

/** Whose it is, and nothing else. */
export function withoutApart(key: Key): Key {
	return Object.fromEntries(Object.entries(key).filter(([field]) => !APART_FIELDS.has(field)));
}
