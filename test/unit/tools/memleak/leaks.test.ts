/** What memleak makes of a process's heap: when a free says something, what is gone, what is mapped still, what is told. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { memleak as layout } from '../../../../src/generated/memleak.js';
import { Sideband } from '../../../../src/perf/sideband.js';
import { ProcessWatch } from '../../../../src/symbolize/process-watch.js';
import { SiteTable } from '../../../../src/tools/memleak/allocations.js';
import { HeapWatch } from '../../../../src/tools/memleak/heap/watch.js';
import { memleak } from '../../../../src/tools/memleak/memleak.js';
import { fakeProc, NOBODY } from '../../proc/fake-proc.js';
import { Kernel } from '../kernel.js';
import { type Fields, structs } from '../structs.js';

type Raw = Readonly<Record<string, unknown>>;
const { site, stack_key, allocation, allocation_key } = layout.structs;
const { COUNT_ONE, NO_STACK } = layout.enums.stack_constant;
const { ALLOCATION_HEAP, ALLOCATION_MAPPING } = layout.enums.allocation_kind;
const EVERYTHING = { pids: [], tids: [], comms: [], cgroups: [], cpus: [] };

interface Allocated extends Fields<typeof allocation_key> {
	/** Whose; each process is a site. */
	readonly pid: number;
	readonly size: number;
}

function tracing(t: TestContext, raw: Raw = {}, filter: Raw = { pids: [70] }) {
	t.mock.restoreAll();
	const did: unknown[] = [];
	t.mock.method(Sideband.prototype, 'start', () => undefined);
	for (const name of ['begin', 'close'] as const)
		t.mock.method(HeapWatch.prototype, name, () => did.push(name));
	t.mock.method(HeapWatch.prototype, 'notices', () => ['of probes']);
	const kernel = new Kernel(t, layout);
	const base = kernel.object as { setVariable: (name: string, value: unknown) => void };
	const object = Object.assign(base, {
		program: () => ({}),
		setVariable: ((set) => (name: string, value: unknown) => {
			if (name === 'sees_all') did.push([name, value]);
			set(name, value);
		})(base.setVariable),
	});
	const { settings } = askedOf(memleak, { raw, interval_s: 1, count: undefined, command: [] });
	const subjects = { filter: { ...EVERYTHING, ...filter }, command: undefined, words: [] };
	const reader = memleak.reader(
		...([object as never, settings, subjects as never, () => undefined, undefined] as const),
	);
	t.after(() => reader.close?.());
	const fill = (all: readonly Allocated[]) => {
		const pids = [...new Set(all.map(({ pid }) => pid))];
		const owners = pids.map((tgid) => {
			const key = { kernel: BigInt(NO_STACK), user: BigInt(NO_STACK), tgid, comm: `of ${tgid}` };
			const owner = new Uint8Array(structs(stack_key, [key]).buffer);
			return { owner, kind: ALLOCATION_HEAP, first_ns: 40, allocated_count: COUNT_ONE };
		});
		const numbers = BigUint64Array.from(pids, (_, i) => BigInt(i + 1));
		kernel.maps.set('sites', [new DataView(numbers.buffer), structs(site, owners), pids.length]);
		const keys = all.map(({ pid: _, size: __, ...key }) => ({ kind: ALLOCATION_HEAP, ...key }));
		const values = all.map(({ pid, size }) => ({
			...{ size, site: pids.indexOf(pid) + 1, born_ns: 50 },
			weight: new Uint8Array(BigUint64Array.of(BigInt(size), BigInt(COUNT_ONE)).buffer),
		}));
		kernel.maps.set('allocations', [
			...([structs(allocation_key, keys), structs(allocation, values), all.length] as const),
		]);
	};
	const sums = async () =>
		((await reader.read()) as { stacks: readonly { key: Raw; value: number }[] }).stacks.map(
			({ key, value }) => [key.pid, value],
		);
	return { reader, kernel, did, fill, sums };
}

test('a free of an unknown address says something where every allocation is kept, while all probes are in', (t) => {
	const toldOf = (raw: Raw, filter?: Raw) => {
		const { reader, did } = tracing(t, raw, filter);
		reader.begin?.();
		return did.at(-1);
	};
	const [all, some] = [
		['sees_all', 1],
		['sees_all', 0],
	];
	assert.deepEqual(toldOf({}), all);
	for (const raw of [{ sampleBytes: 1024 }, { minSize: 1 }, { maxSize: 5000 }])
		assert.deepEqual(toldOf(raw), some, JSON.stringify(raw));
	for (const more of [{ tids: [71] }, { cgroups: ['x'] }, { cpus: [1] }])
		assert.deepEqual(toldOf({}, { pids: [70], ...more }), some, JSON.stringify(more));
	// The kernel's own memory.
	assert.deepEqual(toldOf({}, {}), some);
	const { reader, did } = tracing(t);
	reader.begin?.();
	assert.deepEqual(did.splice(0), ['begin', all]);
	reader.slowDown?.();
	assert.deepEqual(did.splice(0), [some]);
	reader.end?.();
	// Probes of frees go after those of allocations.
	assert.deepEqual(did.splice(0), [some, 'close']);
});

test('what a process had before it executed another program is gone; of what the kernel tells the probes hear', async (t) => {
	const { reader, fill, sums } = tracing(t);
	let tell: ((record: unknown) => void) | undefined;
	t.mock.method(Sideband.prototype, 'start', (onRecord: never) => {
		tell = onRecord;
	});
	const follow = t.mock.method(HeapWatch.prototype, 'follow', () => undefined);
	reader.begin?.();
	const record = { type: 'exit', pid: 71, tid: 71, time_ns: 5 };
	tell?.(record);
	assert.deepEqual(
		follow.mock.calls.map(({ arguments: [told] }) => told),
		[record],
	);
	fill([
		{ address: 0x10, pid: 71, size: 100 },
		{ address: 0x20, pid: 72, size: 200 },
	]);
	t.mock.method(
		HeapWatch.prototype,
		'isGone',
		({ allocated }: { allocated: { pid: number; at_ns: number } }) => {
			assert.equal(allocated.at_ns, 40);
			return allocated.pid === 71;
		},
	);
	assert.deepEqual(await sums(), [[72, 200]]);
});

test('of mappings what is mapped still counts, each in its own process; blocks of a heap are not looked for there', async (t) => {
	const { fill, sums } = tracing(t);
	const [, start = '0'] = /^([0-9a-f]+)-/.exec(readFileSync('/proc/self/maps', 'utf8')) ?? [];
	const here = Number.parseInt(start, 16);
	fakeProc(t, {
		files: { [`/proc/${NOBODY}/maps`]: '1000-3000 rw-p 00000000 00:00 0\n' },
		folders: { [`/proc/${NOBODY}/task`]: [] },
	});
	const kind = ALLOCATION_MAPPING;
	fill([
		{ kind, address: 0x1000, pid: NOBODY, size: 0x4000 },
		{ kind, address: here, pid: process.pid, size: 4096 },
		{ kind, address: 0x1000, pid: process.pid, size: 0x2000 },
		{ address: 0x7000, pid: NOBODY, size: 16 },
	]);
	const found = await sums();
	assert.deepEqual(
		found.sort(([a], [b]) => Number(b) - Number(a)),
		[
			[NOBODY, 0x2000 + 16],
			[process.pid, 4096],
		],
	);
});

test('names: as deep as was asked for, and from where symbols may come; what there is to know of them, and of probes, is told', async (t) => {
	const { reader } = tracing(t, { maxDepth: 9, debuginfod: false });
	const name = t.mock.method(ProcessWatch.prototype, 'name', async () => {
		return { stacks: [], notices: ['of names'] };
	});
	const { notices } = (await reader.read()) as { notices: readonly string[] };
	assert.deepEqual(notices, ['of probes', 'of names']);
	const [, { maxDepth, debuginfod } = {} as never] = name.mock.calls[0]?.arguments ?? [];
	assert.deepEqual([maxDepth, debuginfod], [9, false]);
	t.mock.method(ProcessWatch.prototype, 'lost', () => ({ mappings_lost: 3 }));
	assert.deepEqual(reader.lost?.(), { mappings_lost: 3 });
});

test('in the end probes go, and all that was opened is closed', (t) => {
	const { reader, did } = tracing(t);
	const watch = t.mock.method(ProcessWatch.prototype, 'close');
	const sites = t.mock.method(SiteTable.prototype, 'close');
	reader.close?.();
	assert.deepEqual(did, ['close']);
	assert.deepEqual([watch.mock.callCount(), sites.mock.callCount()], [1, 1]);
});
