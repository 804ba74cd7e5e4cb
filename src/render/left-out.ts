/** What a result does not show, as the user asked for. */
import { type LeftOut, type StackFindings, totalOf } from '../aggregate/stack-rows.js';
import { grouped } from './numbers.js';
import { humanBytes, humanTime } from './units.js';

/** "12.5 s in 3 stacks left out by --exclude, …"; '' where everything is shown. */
export function leftOutText({ leftOut = [], unit, parts }: StackFindings): string {
	const amounts = leftOut.filter(({ rows }) => rows.length > 0).map((each) => one(each));
	return amounts.length === 0 ? '' : `left out: ${amounts.join('; ')}`;

	function one({ by, rows, threads }: LeftOut): string {
		const amount = valueText(totalOf({ stacks: rows, parts }).value, unit);
		const stacks = `${grouped(rows.length)} ${rows.length === 1 ? 'stack' : 'stacks'}`;
		if (threads === undefined) return `${amount} in ${stacks} by --${by}`;
		return `${amount} of ${grouped(threads)} idle ${threads === 1 ? 'thread' : 'threads'}`;
	}
}

/** A value in words. */
export function valueText(value: number, unit: StackFindings['unit']): string {
	if (unit === 'ns') return humanTime(value);
	if (unit === 'bytes') return humanBytes(value);
	return grouped(value) + (value === 1 ? ' sample' : ' samples');
}
