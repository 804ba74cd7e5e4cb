/** That parts and what was not seen are all of the wall-clock time, whatever was sampled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { windowRows } from '../../../../src/tools/why/window-rows.js';
import { anyEvidence } from './any-evidence.js';
import {
	answerTo,
	blocked,
	isNear,
	MS,
	partsTo,
	SECOND,
	STACK_OF,
	sample,
	thread,
} from './support.js';

/** 10 s of which 1 s ran: exact waits, and sampled ones with their standard error. */
function fitted(exact_ns: number, sampled_ns: number, error_ns: number) {
	const { parts, unseen_ns, wall_ns } = partsTo({
		threads: [thread(10 * SECOND, SECOND)],
		samples: [sample('main', 4)],
		blocked: [
			blocked(STACK_OF['disk read'], exact_ns),
			blocked(STACK_OF.lock, sampled_ns, { variance: error_ns ** 2, count: 50 }),
		],
	});
	assert.equal(wall_ns, 10 * SECOND);
	const of = (kind: string) => parts.find((part) => part.kind === kind);
	const [exact, sampled] = [of('disk read'), of('lock')].map((part) => part?.value_ns ?? 0);
	const error = Math.sqrt(of('lock')?.variance ?? 0);
	return { exact, sampled, error, unseen: unseen_ns, count: of('lock')?.count };
}

test('sampled waits take what exact ones leave, if that is no more than chance', () => {
	// 5 s of exact waits leave 4 s.
	const more = fitted(5 * SECOND, 3.7 * SECOND, 100 * MS);
	assert.equal(more.exact, 5 * SECOND);
	assert.ok(isNear(more.sampled as number, 4 * SECOND));
	assert.ok(isNear(more.error, (100 * MS * 4) / 3.7));
	assert.ok(more.unseen < 1);
	assert.equal(more.count, 50);
	const less = fitted(5 * SECOND, 4.3 * SECOND, 100 * MS);
	assert.equal(less.exact, 5 * SECOND);
	assert.ok(isNear(less.sampled as number, 4 * SECOND));
});

test('four standard errors are chance, more is not', () => {
	assert.ok(fitted(5 * SECOND, 3.605 * SECOND, 100 * MS).unseen < 1);
	const off = fitted(5 * SECOND, 3.595 * SECOND, 100 * MS);
	assert.equal(off.sampled, 3.595 * SECOND);
	assert.ok(isNear(off.unseen, 405 * MS));
	assert.equal(off.error, 100 * MS);
});

test('what was sampled is at most doubled, and at least halved', () => {
	const doubled = fitted(5 * SECOND, SECOND, SECOND);
	assert.equal(doubled.sampled, 2 * SECOND);
	assert.ok(isNear(doubled.unseen, 2 * SECOND));
	// 10 s of sampled waits, where 2 s are left: 5 s, and then all as much less as is too much.
	const halved = fitted(7 * SECOND, 10 * SECOND, 10 * SECOND);
	assert.ok(isNear(halved.exact as number, (7 * SECOND * 9) / 12));
	assert.ok(isNear(halved.sampled as number, (5 * SECOND * 9) / 12));
	assert.equal(halved.unseen, 0);
});

test('exact waits that come to too much are too long all alike, and none of it was not seen', () => {
	const { exact, sampled, unseen } = fitted(8 * SECOND, 4 * SECOND, 1 * MS);
	assert.ok(isNear(exact as number, 6 * SECOND));
	assert.ok(isNear(sampled as number, 3 * SECOND));
	assert.equal(unseen, 0);
});

test('whatever was seen: parts and what was not seen are the wall-clock time, and none is below 0', () => {
	fc.assert(
		fc.property(anyEvidence, (given) => {
			const { parts, wall_ns, unseen_ns } = partsTo(given);
			const lives = given.threads.reduce((sum, { life_ns }) => sum + life_ns, 0);
			assert.equal(wall_ns, lives);
			const sum = parts.reduce((all, { value_ns }) => all + value_ns, 0);
			assert.ok(isNear(sum + unseen_ns, wall_ns), `${sum} + ${unseen_ns} != ${wall_ns}`);
			const numbers = parts.flatMap(({ value_ns, variance, count }) => [value_ns, variance, count]);
			for (const each of [...numbers, unseen_ns]) assert.ok(each >= 0 && Number.isFinite(each));
		}),
		{ numRuns: 500 },
	);
});

test('whatever was seen: the account is all of it, reasons are the working time, rows are the parts', () => {
	fc.assert(
		fc.property(anyEvidence, (given) => {
			const answer = answerTo(given);
			const { wall_ns, account, reasons, working_ns, idle_ns, following_ns, unseen_ns } = answer;
			const sum = (of: readonly { readonly total_ns: number }[]) =>
				of.reduce((all, { total_ns }) => all + total_ns, 0);
			assert.ok(isNear(sum(account), wall_ns), `account: ${sum(account)}, not ${wall_ns}`);
			assert.ok(isNear(sum(reasons), working_ns, wall_ns), `${sum(reasons)}, not ${working_ns}`);
			assert.ok(isNear(working_ns + idle_ns + following_ns + unseen_ns, wall_ns));
			const rows = windowRows(partsTo(given)).reduce((all, { value }) => all + value, 0);
			assert.ok(isNear(rows + unseen_ns, wall_ns));
			assert.ok(account.every(({ total_ns }) => total_ns > 0));
			assert.ok(reasons.every(({ total_ns }) => total_ns > 0));
		}),
		{ numRuns: 300 },
	);
});
