/** Waits apart by who ended them, for --by waker. */
import { type StackFindings, type StackRow, splitStacks } from '../../aggregate/stack-rows.js';
import { ownerText } from '../../render/stack-summaries.js';
import { PARTS } from '../../waits/waits.js';

const [BLOCKED] = PARTS;

/** The same rows; `kind` of the key says who ended the blocked part, or which other part it is. */
export function splitByWaker(findings: StackFindings, json: boolean): StackRow[] {
	return splitStacks(findings).map(({ waker, ...row }) => {
		const { kind = '', ...key } = row.key;
		const isWoken = waker !== undefined && kind === BLOCKED;
		const name = isWoken ? ownerText(waker) : kind;
		const woken = isWoken && json ? { waker } : {};
		return { ...row, ...woken, key: { kind: name, ...key } };
	});
}
