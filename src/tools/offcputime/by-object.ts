/** Waits apart by what they were for, for --by object and --by kind,object. */
import type { StackFindings, StackRow } from '../../aggregate/stack-rows.js';
import { scaledUncertainty } from '../../aggregate/variance.js';
import { splitByKind } from '../../aggregate/wait-kinds.js';
import type { ObjectShare } from '../../aggregate/wait-object.js';
import { isBlocked, withBlocked } from '../../aggregate/wait-parts.js';
import { objectText } from '../../render/wait-object.js';

/** The same rows, each object of blocked time apart, as the key's `object`; its `kind` says what kind of wait it was. */
export function splitByObject(findings: StackFindings): StackRow[] {
	return splitByKind(findings).flatMap((row) => {
		const shares = isBlocked(row) ? (row.objects ?? []) : [];
		const rest = shares.reduce(without, row);
		const known = shares.map((share) => ofObject(row, share));
		return rest.value > 0 ? [...known, named(rest, `[${row.key.kind}]`)] : known;
	});
}

/** The same rows, whatever their kinds: the object says enough. */
export function withoutKinds(rows: readonly StackRow[]): StackRow[] {
	return rows.map(({ key: { kind: _, ...key }, ...row }) => ({ ...row, key }));
}

function ofObject(row: StackRow, share: ObjectShare): StackRow {
	const { object, value, count, variance } = share;
	const name = objectText(object);
	const parts = withBlocked(row.parts, value);
	const { against, ...of } = row;
	// All of the row is as uncertain as the row.
	const uncertain =
		value === row.value && against ? { variance: row.variance, against } : { variance };
	return named({ ...of, parts, value, count, ...uncertain, objects: [share] }, name);
}

function named(row: StackRow, object: string): StackRow {
	return { ...row, key: { object, ...row.key } };
}

/** What is left of a row; less than a nanosecond is nothing. */
function without(row: StackRow, { value, count, variance }: ObjectShare): StackRow {
	const { objects: _, against, ...rest } = row;
	const left = row.value - value < 1 ? 0 : row.value - value;
	return {
		...rest,
		parts: withBlocked(row.parts, left),
		value: left,
		count: Math.max(0, row.count - count),
		...(against
			? scaledUncertainty(row, left / row.value)
			: { variance: Math.max(0, row.variance - variance) }),
	};
}
