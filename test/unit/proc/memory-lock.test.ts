/** Of which processes it is asked whether their memory answers, and by which thread. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
	findSilentMemory,
	memoryAnswers,
	silentMemories,
	silentText,
} from '../../../src/proc/memory-lock.js';
import { questions, WAITING_MS } from './asked.js';
import { fakeProc, NOBODY, statText } from './fake-proc.js';

const FOLDER = `/proc/${NOBODY}`;
const [STATE, COUNT, BEGAN, SIZE] = [0, 17, 19, 20];

interface Threads {
	/** By how many more than the process's own number each has, its state. */
	readonly states?: Readonly<Record<number, string>>;
	readonly count?: number;
	readonly size?: number;
	readonly began: number;
}

/** What is said of a process with these threads; each test has one that began at a time of its own. */
function said({ states = { 0: 'S' }, count = 2, size = 4096, began }: Threads) {
	const tids = Object.keys(states).map((more) => NOBODY + Number(more));
	const stats = Object.entries(states).map(([more, state]) => [
		`${FOLDER}/task/${NOBODY + Number(more)}/stat`,
		statText({ [STATE]: state, [COUNT]: count, [BEGAN]: began, [SIZE]: size }),
	]);
	return {
		files: { ...Object.fromEntries(stats), [`${FOLDER}/comm`]: 'nfs client\n' },
		folders: { [`${FOLDER}/task`]: tids.map(String), '/proc': ['self', `${NOBODY}`, 'cpuinfo'] },
	};
}

/** What is looked at holds for a while: here each look is later. */
function looking(t: TestContext, threads: Threads) {
	const ask = questions(t);
	const say = fakeProc(t, said(threads));
	const look = () => {
		ask.now_ms += 300;
		return memoryAnswers(NOBODY);
	};
	return { ask, look, say: (next: Threads) => say(said(next)) };
}

const about = (more: number) => ['head', '-c', '1', '--', `/proc/${NOBODY + more}/cmdline`];

test('nobody is asked where no thread waits for a disk or a mount', (t) => {
	const { ask, look } = looking(t, { states: { 0: 'S', 1: 'R', 2: 'Z' }, began: 1 });
	assert.equal(look(), true);
	assert.deepEqual(ask.asked, []);
});

test('the thread that waits for one is asked, whichever that is', (t) => {
	const { ask, look } = looking(t, { states: { 0: 'S', 1: 'R', 2: 'D', 3: 'S' }, began: 2 });
	assert.equal(look(), true);
	assert.deepEqual(ask.asked, [about(2)]);
});

test('of very many threads one is asked in any case: the first, unless that one has ended', (t) => {
	const many = { states: { 0: 'S', 5: 'S', 7: 'D' }, count: 1025 };
	const { ask, look, say } = looking(t, { ...many, began: 3 });
	assert.equal(look(), true);
	assert.deepEqual(ask.asked, [about(0)]);
	say({ ...many, size: 0, began: 4 });
	assert.equal(look(), true);
	assert.deepEqual(ask.asked.slice(1), [about(7)]);
	// As many as are looked at, one by one.
	say({ states: { 0: 'S' }, count: 1024, began: 5 });
	assert.equal(look(), true);
	assert.equal(ask.asked.length, 2);
});

test('who answered is not looked at again for a moment, and is not asked again for a while', (t) => {
	const { ask, look, say } = looking(t, { states: { 0: 'D' }, began: 6 });
	assert.equal(look(), true);
	ask.now_ms += 150;
	assert.equal(memoryAnswers(NOBODY), true);
	assert.equal(ask.asked.length, 1);
	say({ states: { 0: 'D' }, began: 7 });
	ask.now_ms += 10;
	assert.equal(memoryAnswers(NOBODY), true);
	assert.equal(ask.asked.length, 1, 'within a moment nothing is read');
	ask.now_ms += 20;
	assert.equal(memoryAnswers(NOBODY), true);
	assert.equal(ask.asked.length, 2, 'another process has the number');
	assert.equal(look(), true);
	assert.equal(ask.asked.length, 3);
});

test('who does not answer is told, by number and name; once it does, it does', async (t) => {
	const { ask, look } = looking(t, { states: { 0: 'S', 1: 'D' }, began: 8 });
	ask.silence();
	assert.equal(look(), false);
	assert.equal(look(), false);
	// That look took no time.
	ask.now_ms -= WAITING_MS;
	assert.equal(memoryAnswers(NOBODY), false);
	assert.equal(ask.asked.length, 1);
	const silent = { pid: NOBODY, comm: 'nfs client' };
	assert.deepEqual(silentMemories().at(-1), silent);
	assert.deepEqual(findSilentMemory(), silent);
	assert.equal(silentText(silent), `nfs client (${NOBODY})`);
	assert.equal(silentText({ pid: 7, comm: undefined }), 'a process (7)');
	await ask.speak();
	assert.equal(look(), true);
});

test('of all processes one that does not answer; where all do, nobody looks again for a second', async (t) => {
	const { ask, say } = looking(t, { states: { 0: 'S' }, began: 9 });
	ask.now_ms += 10_000;
	assert.equal(findSilentMemory(), undefined);
	say({ states: { 0: 'D' }, began: 10 });
	ask.now_ms += 900;
	assert.equal(findSilentMemory(), undefined);
	assert.equal(ask.asked.length, 0);
	ask.now_ms += 200;
	ask.silence();
	assert.deepEqual(findSilentMemory(), { pid: NOBODY, comm: 'nfs client' });
	await ask.speak();
	assert.equal(findSilentMemory(), undefined);
});
