/** Which processes are read, and when. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { Filter } from '../../../src/bpf/filter.js';
import { koffi } from '../../../src/loader/koffi.js';
import type { SidebandRecord } from '../../../src/perf/records.js';
import { Sideband } from '../../../src/perf/sideband.js';
import { processLives } from '../../../src/proc/lives.js';
import { ProcessWatch } from '../../../src/symbolize/process-watch.js';
import { stackOf } from './support.js';
import { waitingChild } from './waiting-child.js';

const EVERYBODY: Filter = {
	pids: [],
	tids: [],
	comms: [],
	cgroups: [],
	cpus: [],
	userThreads: true,
	kernelThreads: true,
	follow: false,
};

/** An address in the C library of this process. */
function anAddress(): number {
	const line = /^([0-9a-f]+)-\S+ r-xp .*libc/m.exec(readFileSync('/proc/self/maps', 'utf8'));
	return Number.parseInt(line?.[1] ?? '', 16) + 0x1000;
}

/** Watches everybody, and has read nobody when tracing ends. */
function watchThatReadNobody(t: TestContext): ProcessWatch {
	const watch = new ProcessWatch({ filter: EVERYBODY, command: undefined, words: [] });
	t.after(() => watch.close());
	// Each look at the clock is a second later, so that no process has its turn.
	let now_ms = 0;
	const clock = t.mock.method(performance, 'now', () => {
		now_ms += 1000;
		return now_ms;
	});
	watch.begin();
	watch.end();
	clock.mock.restore();
	return watch;
}

test('a process whose turn to be read has not come when tracing ends is read for its stacks', async (t) => {
	const watch = watchThatReadNobody(t);
	const at_ns = Number(process.hrtime.bigint());
	const { stacks } = await watch.name([stackOf([anAddress()], { at_ns })], {
		debuginfod: false,
		maxDepth: 127,
	});
	const [frame] = stacks[0]?.frames ?? [];
	assert.ok(frame?.inCLibrary, frame?.name);
});

test('and for the stacks of its threads that wait', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const watch = watchThatReadNobody(t);
	const now_ns = Number(process.hrtime.bigint());
	const { user, userEnd } = watch.walkWaiting({ pid, tid: pid, registers }, now_ns, 127);
	assert.equal(userEnd, 'whole');
	assert.equal(user[0], registers.ip);
});

/** What is said of children of `chosen` after these forks, each a child or a thread of its parent. */
async function toldOf(
	t: TestContext,
	forks: ReadonlyArray<readonly [pid: number, parentPid: number]>,
	filter: Partial<Filter> = {},
): Promise<readonly string[]> {
	let tell: ((record: SidebandRecord) => void) | undefined;
	const start = t.mock.method(Sideband.prototype, 'start', (onRecord: typeof tell) => {
		tell = onRecord;
	});
	const chosen = { ...EVERYBODY, pids: [process.pid], ...filter };
	const watch = new ProcessWatch({ filter: chosen, command: undefined, words: [] });
	watch.begin();
	start.mock.restore();
	for (const [pid, parentPid] of forks)
		tell?.({ type: 'fork', pid, tid: pid + 1, time_ns: 1, parentPid });
	watch.end();
	const { notices } = await watch.name([], { debuginfod: false, maxDepth: 127 });
	watch.close();
	assert.ok(tell, notices.join());
	return notices;
}

/** Others may not open events of the whole machine. */
const AS_ROOT = process.getuid?.() === 0 ? {} : { skip: 'needs root, to see what others start' };

test(
	'children that start meanwhile are told, where nobody asked to follow them; threads are none',
	AS_ROOT,
	async (t) => {
		const [own, other, child] = [process.pid, 5_000_000, 5_000_001];
		assert.deepEqual(await toldOf(t, [[own, own]]), []);
		assert.deepEqual(await toldOf(t, [[child, other]]), [], "somebody else's");
		assert.deepEqual(await toldOf(t, [[child, own]], { follow: true }), []);
		assert.deepEqual(await toldOf(t, [[child, own]], { pids: [] }), [], 'everybody is traced');
		const said = (children: string) => [`${children} not traced; add --follow.`];
		assert.deepEqual(
			await toldOf(t, [[child, own]]),
			said('1 child process started during tracing and was'),
		);
		assert.deepEqual(
			await toldOf(t, [
				[child, own],
				[child + 1, own],
				[own, own],
				[child + 2, other],
			]),
			said('2 child processes started during tracing and were'),
		);
	},
);

test('a process that was chosen is read as tracing begins: its functions have names though it ends then', async (t) => {
	const { pid, stdin, registers } = await waitingChild(t, 'cat');
	const filter = { ...EVERYBODY, pids: [pid] };
	const watch = new ProcessWatch({ filter, command: undefined, words: [] });
	t.after(() => watch.close());
	watch.begin();
	const at_ns = Number(process.hrtime.bigint());
	stdin.end();
	while (processLives(pid)) await new Promise(setImmediate);
	watch.end();
	const { stacks } = await watch.name([stackOf([registers.ip], { pid, at_ns })], {
		debuginfod: false,
		maxDepth: 127,
	});
	const [frame] = stacks[0]?.frames ?? [];
	assert.ok(frame?.inCLibrary, frame?.name);
});

test(
	'where stacks may be of others than those that were chosen, what begins meanwhile is known, too',
	AS_ROOT,
	async (t) => {
		const filter = { ...EVERYBODY, pids: [process.pid] };
		const namesWhere = async (everybody: boolean) => {
			const watch = new ProcessWatch({ filter, command: undefined, words: [] }, undefined, {
				everybody,
			});
			t.after(() => watch.close());
			watch.begin();
			const { pid, stdin, registers } = await waitingChild(t, 'cat');
			watch.take();
			const at_ns = Number(process.hrtime.bigint());
			stdin.end();
			while (processLives(pid)) await new Promise(setImmediate);
			watch.end();
			const { stacks } = await watch.name([stackOf([registers.ip], { pid, at_ns })], {
				debuginfod: false,
				maxDepth: 127,
			});
			return stacks[0]?.frames[0]?.inCLibrary === true;
		};
		assert.equal(await namesWhere(true), true);
		assert.equal(await namesWhere(false), false);
	},
);

/** Watches this process, whose records the kernel loses, as many as `lose` says, from then on. */
function watchThatLoses(t: TestContext, filter: Partial<Filter>) {
	t.mock.method(Sideband.prototype, 'start', () => {});
	let due = 0;
	t.mock.method(Sideband.prototype, 'lost', () => {
		const lost = due;
		due = 0;
		return lost;
	});
	const chosen = { ...EVERYBODY, pids: [process.pid], ...filter };
	const watch = new ProcessWatch({ filter: chosen, command: undefined, words: [] });
	t.after(() => watch.close());
	watch.begin();
	const lose = (count: number) => {
		due = count;
	};
	return { watch, lose };
}

test(
	'records that were lost are told where a process that is traced has mapped something since',
	AS_ROOT,
	(t) => {
		const { watch, lose } = watchThatLoses(t, {});
		lose(3);
		assert.deepEqual(watch.lost(), {}, 'they were of others');
		const library = koffi().load('libresolv.so.2');
		lose(4);
		// Every second.
		watch.drain();
		lose(5);
		assert.deepEqual(watch.lost(), { mappings_lost: 9 });
		library.unload();
		assert.deepEqual(watch.lost(), {});
	},
);

for (const [who, filter] of [
	['everybody is', { pids: [] }],
	['children are', { follow: true }],
	['a process that is gone was', { pids: [5_000_000] }],
] as const)
	test(`they are told in any case where ${who} traced`, AS_ROOT, (t) => {
		const { watch, lose } = watchThatLoses(t, filter);
		lose(3);
		assert.deepEqual(watch.lost(), { mappings_lost: 3 });
	});
