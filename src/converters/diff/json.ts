/** A difference as JSON: one object on a line of its own. */

import { FRAME_LETTERS } from '../../render/folded.js';
import { escapedJson, SCHEMA } from '../../render/json.js';
import {
	changeOf,
	type Difference,
	type FunctionChange,
	functionChanges,
	largestChanges,
	type Side,
} from './difference.js';

const ROWS_AT_ONCE = 1000;

/**
 * In pieces. Functions come the largest change in self first, then those of which only the total
 * changed, then the others; of them before is multiplied with the factor, in `before` it is not.
 */
export function* renderDifferenceJson(
	difference: Difference,
	notices: readonly string[],
): Generator<string> {
	const { sides, normalization, factor, unit } = difference;
	const head = {
		tool: 'diff',
		schema: SCHEMA,
		normalization,
		factor,
		unit: unit ?? null,
		before: sideObject(sides.before),
		after: sideObject(sides.after),
		notices,
	};
	yield `${escapedJson(head).slice(0, -1)},"functions":[`;
	const changes = functionChanges(difference);
	const rows = new Set([
		...largestChanges(changes, 'self'),
		...largestChanges(changes, 'total'),
		...changes,
	]);
	let piece: string[] = [];
	let comma = '';
	for (const row of rows) {
		piece.push(escapedJson(rowObject(row)));
		if (piece.length < ROWS_AT_ONCE) continue;
		yield comma + piece.join(',');
		piece = [];
		comma = ',';
	}
	yield `${piece.length > 0 ? comma + piece.join(',') : ''}]}\n`;
}

function sideObject({ name, origin, total, stacks }: Side): object {
	return { file: name, ...origin, total, stacks };
}

function rowObject({ name, kind, self, total }: FunctionChange): object {
	return {
		name,
		kind: FRAME_LETTERS[kind],
		self: { ...self, change: changeOf(self) },
		total: { ...total, change: changeOf(total) },
	};
}
