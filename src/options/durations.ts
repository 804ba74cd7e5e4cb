/** Times, as options and arguments take them: "10ms", "500us", "2s", "5m". */

const NS_OF = {
	ns: 1,
	us: 1e3,
	µs: 1e3,
	ms: 1e6,
	s: 1e9,
	m: 60e9,
	h: 3600e9,
} as const;

/** Units that a plain number can have. */
export type PlainUnit = 'us' | 'ms' | 's';

/** Examples, for help and errors. */
export const DURATION_EXAMPLES = {
	us: '500us, 10ms or 2s',
	ms: '500ms, 2s or 5m',
	s: '500ms, 2s or 5m',
} as const;

/** In units of `plain`, which a number without a unit has; NaN where it is no time. */
export function durationOf(text: string, plain: PlainUnit): number {
	const match = /^\+?(\d+\.?\d*|\.\d+)(?:([eE]\d+)| ?([nu\u00b5m]?s|m|h))?$/u.exec(text.trim());
	if (!match) return Number.NaN;
	const [, digits, exponent = '', unit] = match;
	const ns = NS_OF[(unit ?? plain) as keyof typeof NS_OF];
	const value = (Number(`${digits}${exponent}`) * ns) / NS_OF[plain];
	// 0.07ms are 70 us, not 70.00000000000001.
	return Number(value.toPrecision(12));
}
