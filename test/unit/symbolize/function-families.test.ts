/** Names of functions of forked processes, of processes that execute, and names that are read bit by bit. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { LanguageFunction } from '../../../src/runtimes/runtime.js';
import { V8Functions } from '../../../src/runtimes/v8/functions.js';
import { inlinedIn, PID, world } from './functions-world.js';

test('what is asked for of one child is known of all others of its family, also if they have ended', (t) => {
	const here = world(t);
	const [FIRST, SECOND, GRANDCHILD] = [PID + 1, PID + 2, PID + 3];
	here.begin(PID).isGone = true;
	here.fork(PID, FIRST);
	here.fork(PID, SECOND);
	here.fork(FIRST, GRANDCHILD);
	const last = here.pagesOf(GRANDCHILD);
	last.isGone = false;
	const word = last.function('handle');
	assert.equal(here.nameOf(word, { pid: GRANDCHILD }), 'handle');
	last.isGone = true;
	for (const pid of [FIRST, SECOND]) assert.equal(here.nameOf(word, { pid }), 'handle');
});

test("what neither a child nor its parent has any more is read in its parent's parent", (t) => {
	const here = world(t);
	const word = here.begin(PID).function('handle');
	here.fork(PID, PID + 1);
	here.fork(PID + 1, PID + 2);
	assert.equal(here.nameOf(word, { pid: PID + 2 }), 'handle');
});

test('of a program that a process does not run any more, no functions are found in the memory of the next', (t) => {
	const here = world(t);
	for (const pid of [PID, PID + 1]) {
		const { word, inlined, call } = inlinedIn(here.begin(pid));
		const isSame = pid === PID;
		if (!isSame) here.execute(pid);
		assert.deepEqual(here.withInlined(call, word, pid), isSame ? [inlined, word] : [word]);
	}
});

test('of processes that have no number here nothing is read', async (t) => {
	const here = world(t);
	const word = here.begin(PID).function('handle');
	// Who would read it fails: there is no memory of such a process.
	here.meet([word], 0);
	here.meet([word]);
	await here.tell();
	assert.deepEqual(here.pagesOf(PID).reads, ['handle']);
});

/** What is known of a function after it was read so often, with this each time. */
async function knownAfter(t: TestContext, ...reads: readonly (LanguageFunction | undefined)[]) {
	const here = world(t);
	const word = here.begin(PID).function('handle');
	const due = [...reads];
	t.mock.method(V8Functions.prototype, 'functionAt', () => due.shift());
	here.meet([word]);
	await here.tell();
	for (let i = 0; i < 10; i++) here.pause(5);
	assert.deepEqual(due, []);
	return here.functionOf(word);
}

test('a line that cannot be read at the moment is read later; if it never is, the name stays', async (t) => {
	const place = { language: 'javascript', name: 'handle', file: '/srv/a.js' } as const;
	const early = { ...place, line: undefined, isLineLater: true };
	const whole = { ...place, line: 15 };
	await t.test('later', async (each) => {
		assert.deepEqual(await knownAfter(each, early, early, whole), whole);
	});
	await t.test('never', async (each) => {
		assert.deepEqual(await knownAfter(each, early, undefined, undefined, undefined), early);
	});
	await t.test('at once', async (each) => assert.deepEqual(await knownAfter(each, whole), whole));
});
