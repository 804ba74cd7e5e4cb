/** What identifies a row or a group, and colours a row: `pid`, `comm`, … */
export type Key = Readonly<Record<string, string | number>>;

/**
 * What stacks are apart by besides whose they are, the outermost first: which memory it is; of waits which part
 * of their time, which kind, what they were for, who ended them. Beside a `place` of the window, the kind says
 * which one, and both read as one. Empty where only whose it is tells stacks apart.
 */
export function apartOf({ place, memory, part, kind, object, waker }: Key): string[] {
	const where = place === undefined ? kind : `${place}: ${kind}`;
	return [memory, part, where, object, waker].flatMap((each) =>
		each === undefined ? [] : [`${each}`],
	);
}

/** Whose it is, and nothing else. */
export function withoutApart(key: Key): Key {
	const { place, memory, part, kind, object, waker, ...whose } = key;
	return whose;
}
