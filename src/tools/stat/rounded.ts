/** Counts as JSON has them: without digits that say nothing. Pure. */
import type { CountRow, StatFindings } from './findings.js';

/** Microseconds, and shares to a millionth. */
const DIGITS = 6;

const round = (value: number) => Number(value.toFixed(DIGITS));

export function rounded(findings: StatFindings): StatFindings {
	const { about } = findings;
	const times = Object.entries(about).map(([name, value]) => [
		name,
		typeof value === 'number' ? round(value) : value,
	]);
	return {
		...findings,
		about: { ...about, ...Object.fromEntries(times) },
		rows: findings.rows.map(roundedRow),
	};
}

function roundedRow(row: CountRow): CountRow {
	const { per_s, metric, counted_share } = row;
	return {
		...row,
		per_s: per_s === null ? null : round(per_s),
		metric: metric && { ...metric, value: round(metric.value) },
		counted_share: round(counted_share),
	};
}
