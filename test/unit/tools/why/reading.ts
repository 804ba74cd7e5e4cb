/** Verdicts on evidence, each of which has to read. */
import assert from 'node:assert/strict';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { type Verdict, verdictOf } from '../../../../src/tools/why/verdict.js';
import { answerTo } from './support.js';

export function verdict(rest: Partial<Evidence>): Verdict {
	const given = verdictOf(answerTo(rest));
	assertReads(given);
	return given;
}
export const said = (rest: Partial<Evidence>) => verdict(rest).text;

function assertReads({ text, because, next }: Verdict): void {
	assert.match(text, /^\S.*\.$/s);
	for (const each of [text, next, ...because])
		assert.doesNotMatch(each, / {2}|undefined|NaN|Infinity|null|\[object| [.,]|\.\.|-\d/, each);
}
