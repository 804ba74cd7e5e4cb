/** What all forms of a difference say in the same words. */

import { grouped } from '../../render/numbers.js';
import { shareText } from '../../render/picture-look.js';
import { printable } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';
import { changeOf, type Difference, fateOf, type Sides, sharesOf } from './difference.js';

/** Written out, amounts from here on leave no room for names beside them. */
const TOO_LONG = 1e10;

/** The unit that amounts have where it is not written beside them: "samples"; '' for times and the unknown. */
export function unitName(unit: string | undefined): string {
	return unit === undefined || unit === 'ns' ? '' : printable(unit);
}

/** Amounts of a difference, all with as many digits, so that they can be compared at a glance. */
export class Amounts {
	readonly #unit: string | undefined;
	readonly #digits: number;

	constructor({ unit, values, sides, factor }: Difference) {
		this.#unit = unit;
		const whole = [values.before, values.after].every((side) => side.every(Number.isInteger));
		const largest = Math.max(sides.before.total * factor, sides.after.total);
		const digits = Math.max(1, Math.min(6, 2 - Math.floor(Math.log10(largest))));
		this.#digits = whole || largest >= 1000 ? 0 : digits;
	}

	/** Without a unit, except times: "1.20 s", "1,234", "48.5" of what was multiplied. */
	short(value: number): string {
		if (this.#unit === 'ns') return humanTime(value);
		if (value >= TOO_LONG) return value.toExponential(3);
		return value === 0 || this.#digits === 0 ? grouped(value) : value.toFixed(this.#digits);
	}

	/** "+1.20 s", "-3", "0" */
	signed(change: number): string {
		return `${signOf(change)}${this.short(Math.abs(change))}`;
	}

	/** With its unit: "1.20 s", "1,234 samples". */
	full(value: number): string {
		return `${this.short(value)} ${unitName(this.#unit)}`.trimEnd();
	}
}

/** The change of a share in percentage points: "+2.8". */
export function points({ before, after }: Sides<number>): string {
	const change = 100 * (after - before);
	const text = Math.abs(change).toFixed(1);
	return text === '0.0' ? '0.0' : `${signOf(change)}${text}`;
}

const signOf = (change: number): string => (change > 0 ? '+' : change < 0 ? '-' : '');

/** "before × 1.234, to the same total" */
export function factorText({ factor, normalization }: Difference): string {
	const times = `before × ${Number(factor.toPrecision(4))}`;
	if (normalization === 'none') return `not normalized: ${times}`;
	return `${times}, to the same ${normalization}`;
}

/** Both sides of something, and what became of it, in one line without parentheses. */
export function sidesText(values: Sides<number>, difference: Difference, amounts: Amounts): string {
	const shares = sharesOf(values, difference);
	const fate = fateOf(values);
	return (
		`before ${amounts.full(values.before)}, ${shareText(shares.before)}; ` +
		`after ${amounts.full(values.after)}, ${shareText(shares.after)}; ` +
		`${amounts.signed(changeOf(values))}, ${points(shares)} points` +
		(fate === '' ? '' : `, ${fate}`)
	);
}
