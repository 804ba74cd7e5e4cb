/** Amounts of what was counted, as text. Needs nothing of node: see numbers.ts. */
import { grouped } from './numbers.js';
import { humanTime } from './units.js';

/** A value with its unit: "1.20 s", "1,234 samples". */
export function amountText(value: number, countName: string): string {
	if (countName === 'ns') return humanTime(value);
	const number = Number.isInteger(value) ? grouped(value) : `${Number(value.toPrecision(6))}`;
	return countName === '' ? number : `${number} ${countName}`;
}

/** A share: "41.2 %"; never "0.0 %" of what is there. */
export function shareText(share: number): string {
	const percent = 100 * share;
	return `${percent >= 0.1 || percent === 0 ? percent.toFixed(1) : percent.toPrecision(1)} %`;
}
