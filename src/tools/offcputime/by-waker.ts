/** Waits apart by who ended them, for --by waker. */
import { type StackFindings, type StackRow, splitStacks } from '../../aggregate/stack-rows.js';
import { isBlocked } from '../../aggregate/wait-parts.js';
import { ownerText } from '../../render/stack-summaries.js';

/** The same rows; `waker` of the key says who ended the blocked part, or which other part it is. */
export function splitByWaker(findings: StackFindings, json: boolean): StackRow[] {
	return splitStacks(findings).map((row) => {
		const { part = '', ...key } = row.key;
		return { ...withoutWaker(row, json), key: { waker: wakerText(row) ?? part, ...key } };
	});
}

/** The same rows, each of one kind; `waker` of the key says who ended it. Nobody ends a wait for a CPU: `[run queue]`. */
export function withWakers(rows: readonly StackRow[], json: boolean): StackRow[] {
	return rows.map((row) => {
		const waker = wakerText(row) ?? `[${row.key.kind}]`;
		return { ...withoutWaker(row, json), key: { waker, ...row.key } };
	});
}

const wakerText = (row: StackRow) =>
	row.waker && isBlocked(row) ? ownerText(row.waker) : undefined;

/** For programs it stays with what was blocked. */
function withoutWaker({ waker, ...row }: StackRow, json: boolean): StackRow {
	return waker && json && isBlocked(row) ? { ...row, waker } : row;
}
