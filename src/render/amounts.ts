/** Amounts of what was counted, as text. Needs nothing of node: see numbers.ts. */
import { grouped } from './numbers.js';
import { humanTime } from './units.js';

/** Units of time, in ns. */
const TIMES_NS: ReadonlyMap<string, number> = new Map([
	['ns', 1],
	['us', 1e3],
	['ms', 1e6],
	['s', 1e9],
]);

/** A value with its unit: "1.20 s", "1,234 samples". */
export function amountText(value: number, countName: string): string {
	const unit_ns = TIMES_NS.get(countName);
	if (unit_ns !== undefined) return humanTime(value * unit_ns);
	const number = Number.isInteger(value) ? grouped(value) : `${Number(value.toPrecision(6))}`;
	if (countName === 'samples' && value === 1) return '1 sample';
	return countName === '' ? number : `${number} ${countName}`;
}

/** A share: "41.2 %"; never "0.0 %" of what is there. */
export function shareText(share: number): string {
	const percent = 100 * share;
	if (percent > 0 && percent < 0.001) return '< 0.001 %';
	return `${percent >= 0.1 || percent === 0 ? percent.toFixed(1) : percent.toPrecision(1)} %`;
}
