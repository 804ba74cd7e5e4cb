/** What memleak is asked for: what programs are told then, in which order they run, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTables } from '../../../../src/abi/syscalls.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { memleak as layout } from '../../../../src/generated/memleak.js';
import { kernelHasTracepoint } from '../../../../src/loader/kernel.js';
import { possibleCpus } from '../../../../src/loader/map.js';
import { pageSizeBytes } from '../../../../src/loader/memory.js';
import { chanceTable } from '../../../../src/tools/memleak/byte-sampling.js';
import { memleak } from '../../../../src/tools/memleak/memleak.js';
import { requireHeap } from '../../../../src/tools/memleak/options.js';
import { Kernel } from '../kernel.js';

type Raw = Readonly<Record<string, unknown>>;
const NONE = { pids: [], tids: [], comms: [], cgroups: [], cpus: [] };
const settingsOf = (raw: Raw) =>
	askedOf(memleak, { raw, interval_s: 1, count: undefined, command: [] }).settings;

test('what programs are told: of whose memory, of which sizes, and by which chances', (t) => {
	const planned = (raw: Raw, pids: readonly number[] = []) => {
		const kernel = new Kernel(t, layout);
		const subjects = { filter: { ...NONE, pids }, command: undefined, words: [] } as never;
		const settings = settingsOf({ ...raw, unwind: 'fp' });
		const program = () => ({ setAttachType: () => undefined });
		const object = Object.assign(kernel.object, { program });
		const plan = memleak.plan(object, settings, subjects, () => undefined);
		return { ...kernel, plan, subject: memleak.subject(settings, subjects) };
	};
	const usual = planned({});
	assert.deepEqual([usual.told.walk_kernel, usual.told.walk_user], [true, false]);
	assert.deepEqual([usual.told.smallest_bytes, usual.told.largest_bytes], [0, undefined]);
	assert.equal(usual.room.allocations, 1_000_000);
	assert.equal(usual.subject, 'kernel allocations');
	for (const [i, chance] of chanceTable().entries())
		assert.equal(usual.constants.chances?.getUint32(4 * i, true), chance);
	const some = planned({ minSize: 100, maxSize: 200, sampleBytes: 4_096 });
	assert.deepEqual([some.told.smallest_bytes, some.told.largest_bytes], [100, 200]);
	assert.equal(some.room.allocations, 100_000);
	assert.equal(some.subject, 'kernel allocations (one in 4,096 B)');
	assert.equal(planned({ maxAllocs: 5 }).room.allocations, 5);
	// Frees first: what is allocated before they are seen would seem to stay.
	const programs = usual.plan.attach.map((name) => /free/.test(name));
	assert.ok(programs.includes(true) && programs.includes(false));
	assert.equal(programs.lastIndexOf(true) + 1, programs.indexOf(false));
	for (const [tracepoint, program] of [
		['kfree', 'memleak_kfree'],
		['mm_page_free', 'memleak_page_free'],
		['percpu_free_percpu', 'memleak_percpu_free'],
	] as const)
		if (kernelHasTracepoint(tracepoint)) assert.ok(usual.plan.attach.includes(program), program);
	assert.equal(usual.told.page_bytes, pageSizeBytes());
	assert.equal(usual.told.possible_cpus, possibleCpus());
	assert.equal(usual.room.scratch, layout.enums.stack_constant.SCRATCHES);
	const heap = planned({}, [process.pid]);
	assert.deepEqual(heap.plan.attach, ['memleak_exit']);
	assert.deepEqual([heap.told.walk_kernel, heap.told.walk_user], [false, true]);
	assert.ok((heap.room.heap_calls ?? 0) > 1000);
	assert.equal(heap.told.possible_cpus, undefined);
	const growth = planned({ growth: true }, [process.pid]);
	assert.deepEqual([growth.told.walk_kernel, growth.told.walk_user], [false, true]);
	assert.equal(growth.room.allocations, 1);
	const [native] = callTables();
	assert.equal(native[Number(growth.told.brk_nr)], 'brk');
	assert.equal(native[Number(growth.told.mmap_nr)], 'mmap');
	assert.equal(growth.subject, 'page faults, brk and mmap');
});

test('the last chance is one, less what 32 bits do not hold', () => {
	const chances = chanceTable();
	assert.equal(chances[0], 0);
	assert.ok(chances.every((chance, i) => i === 0 || chance >= (chances[i - 1] ?? 0)));
	assert.ok((chances.at(-1) ?? 0) > 2 ** 32 - 1000);
});

test('amounts of bytes, in the units that others write', () => {
	const { minSize } = memleak.options();
	const parse = minSize.parseArg as (text: string, before: unknown) => unknown;
	for (const [text, bytes] of [
		['4096', 4096],
		['512K', 512 * 1024],
		['1M', 1 << 20],
		['2MiB', 2 << 20],
		['3g', 3 * 2 ** 30],
		['7B', 7],
	] as const)
		assert.equal(parse(text, undefined), bytes, text);
	for (const text of ['1T', '-1', '1.5M', '', '9007199254740993'])
		assert.throws(() => parse(text, undefined), { message: /give bytes/ }, text);
});

test('options that make no sense together are refused, and no others', () => {
	const refused = (raw: Raw, says: RegExp) =>
		assert.throws(() => settingsOf(raw), { message: says }, JSON.stringify(raw));
	refused({ minSize: 5, maxSize: 4 }, /--min-size 5 is more than --max-size 4/);
	assert.equal(settingsOf({ minSize: 5, maxSize: 5 }).largest_bytes, 5);
	assert.equal(settingsOf({ minSize: 5 }).largest_bytes, Number.POSITIVE_INFINITY);
	refused({ sampleBytes: 2 ** 26 + 1 }, /at most 67108864/);
	assert.equal(settingsOf({ sampleBytes: 2 ** 26 }).sample_bytes, 2 ** 26);
	refused({ churn: true, all: true }, /-a or --churn/);
	refused({ churn: true, older: 1 }, /--older or --churn/);
	refused({ churn: true, suspectAfter: 2 }, /--suspect-after or --churn/);
	refused({ all: true, suspectAfter: 2 }, /--suspect-after or -a/);
	for (const [raw, option] of [
		[{ all: true }, '-a'],
		[{ churn: true }, '--churn'],
		[{ older: 3 }, '--older'],
		[{ minSize: 3 }, '-z'],
		[{ maxSize: 3 }, '-Z'],
		[{ maxAllocs: 3 }, '--max-allocs'],
		[{ object: 'libc' }, '-O'],
		[{ suspectAfter: 3 }, '--suspect-after'],
	] as const)
		refused({ growth: true, ...raw }, new RegExp(`^give either ${option} or --growth`));
	refused({ growth: true, sampleBytes: 4 }, /leave out --sample-bytes and --prefix/);
	refused({ growth: true, prefix: 'je_' }, /leave out --sample-bytes and --prefix/);
	assert.equal(settingsOf({ older: 1.5 }).older_ns, 1_500_000_000);
	for (const [raw, option] of [
		[{ object: 'libc' }, '-O'],
		[{ prefix: 'je_' }, '--prefix'],
		[{ tids: true }, '-L'],
	] as const)
		assert.throws(() => requireHeap(settingsOf(raw), 'kernel'), {
			message: `${option} works only on the heaps of processes: add -p PID, or -- COMMAND`,
		});
	requireHeap(settingsOf({ object: 'libc', tids: true }), 'heap');
});
