/** What memleak prints of allocations, interval by interval: from the kernel's maps to the line. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { StackFindings } from '../../../../src/aggregate/stack-rows.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { memleak as layout } from '../../../../src/generated/memleak.js';
import { memleak } from '../../../../src/tools/memleak/memleak.js';
import { Outstanding } from '../../../../src/tools/memleak/outstanding.js';
import {
	keepLargest,
	type LeakSite,
	MAX_SINGLE,
	singleNotices,
} from '../../../../src/tools/memleak/single-allocations.js';
import { Kernel } from '../kernel.js';
import { structs } from '../structs.js';

type Raw = Readonly<Record<string, unknown>>;
const { site, stack_key, allocation, allocation_key } = layout.structs;
const { COUNT_ONE, NO_STACK } = layout.enums.stack_constant;
const KIND = layout.enums.allocation_kind;
const SECOND = 1_000_000_000;
const NOW = 500 * SECOND;
const STYLE = { colour: false, width: 100 };

interface Site {
	readonly comm: string;
	readonly kind?: number;
	readonly allocated: number;
	readonly count: number;
	readonly freed?: number;
	readonly freedCount?: number;
}
interface Allocation {
	/** Which of the sites, from 1 on. */
	readonly site: number;
	readonly size: number;
	/** As it counts, where it was sampled; as how many. */
	readonly weight?: number;
	readonly weightCount?: number;
	readonly age_s: number;
	readonly tid?: number;
}

function fill(kernel: Kernel, sites: readonly Site[], allocations: readonly Allocation[]): void {
	const keys = BigUint64Array.from(sites, (_, i) => BigInt(i + 1));
	const values = sites.map(({ comm, kind = KIND.ALLOCATION_SLAB, ...each }) => {
		const none = { kernel: BigInt(NO_STACK), user: BigInt(NO_STACK) };
		const owner = new Uint8Array(structs(stack_key, [{ ...none, tgid: 7, comm }]).buffer);
		return {
			...{ owner, kind, first_ns: 3, allocated_bytes: each.allocated },
			allocated_count: each.count * COUNT_ONE,
			freed_bytes: each.freed ?? 0,
			freed_count: (each.freedCount ?? 0) * COUNT_ONE,
		};
	});
	kernel.maps.set('sites', [new DataView(keys.buffer), structs(site, values), sites.length]);
	kernel.maps.set('allocations', [
		structs(
			allocation_key,
			allocations.map((_, i) => ({ address: 0x1000 * (i + 1) })),
		),
		structs(
			allocation,
			allocations.map(({ site: of, size, weight = size, weightCount = 1, age_s, tid = 9 }) => ({
				...{ size, site: of, born_ns: NOW - age_s * SECOND, tid },
				weight: new Uint8Array(
					BigUint64Array.of(BigInt(weight), BigInt(weightCount * COUNT_ONE)).buffer,
				),
			})),
		),
		allocations.length,
	]);
}

const NONE = { pids: [], tids: [], comms: [], cgroups: [], cpus: [] };
const settingsOf = (raw: Raw) =>
	askedOf(memleak, { raw, interval_s: 1, count: undefined, command: [] }).settings;

function tracing(t: TestContext, raw: Raw = {}) {
	const kernel = new Kernel(t, layout);
	const settings = settingsOf(raw);
	const subjects = { filter: NONE, command: undefined, words: [] } as never;
	const reader = memleak.reader(
		...([kernel.object, settings, subjects, () => undefined, undefined] as const),
	);
	t.after(() => reader.close?.());
	// Mocked twice, it would stay so: what is restored last is what was there before the second time.
	t.mock.restoreAll();
	t.mock.method(process.hrtime, 'bigint', () => BigInt(NOW));
	const view = memleak.text(settings);
	const read = async () => {
		const findings = await reader.read();
		const json = view.shown?.(findings, true) as StackFindings;
		const text = await view.report(view.shown?.(findings, false) as StackFindings, STYLE);
		return { findings, json, text };
	};
	return { kernel, reader, read };
}

test('what is outstanding: of which kind, how much, how old, by how much more than before', async (t) => {
	const { kernel, read } = tracing(t);
	fill(
		kernel,
		[
			{ comm: 'leaks', allocated: 9_000, count: 20, freed: 3_000, freedCount: 12 },
			{ comm: 'pages', kind: KIND.ALLOCATION_PAGES, allocated: 8_192, count: 2 },
			{ comm: 'cpus', kind: KIND.ALLOCATION_PERCPU, allocated: 64, count: 1 },
			{ comm: 'gone', allocated: 10, count: 1, freed: 10, freedCount: 1 },
			// Its first allocation is still to be counted.
			{ comm: 'none', allocated: 0, count: 0 },
		],
		[
			{ site: 1, size: 1_000, age_s: 2 },
			{ site: 1, size: 2_000, age_s: 30 },
			{ site: 1, size: 3_000, age_s: 40 },
			{ site: 2, size: 4_096, age_s: 5 },
			{ site: 2, size: 4_096, age_s: 120 },
			{ site: 3, size: 64, age_s: 1 },
			// Of a site that is not known.
			{ site: 99, size: 77, age_s: 1 },
		],
	);
	const { json, text } = await read();
	assert.deepEqual(
		json.stacks.map(({ key, value, count }) => [key.memory, key.comm, value, count]),
		[
			['pages', 'pages', 8_192, 2],
			['slab', 'leaks', 6_000, 3],
			['per-CPU', 'cpus', 64, 1],
		],
	);
	assert.deepEqual(json.parts, ['outstanding']);
	const { age_p50_s, age_p90_s, ...details } = json.stacks[1]?.details ?? {};
	assert.deepEqual(details, {
		...{ age_max_s: 40, freed_bytes: 3_000, freed_count: 12 },
		...{ growth_bytes: 6_000, suspect: false },
	});
	assert.ok(Math.abs(Number(age_p50_s) - 30) < 1 && Math.abs(Number(age_p90_s) - 40) < 1);
	assert.match(text, /\+6,000 B, age p50 \d+ s, oldest 40 s, freed 3,000 B/);
	assert.match(text, /\+8,192 B, age p50 [\d.]+ s, oldest 120 s$/m);
	assert.match(text, /outstanding in 3 stacks/);
});

test('suspect is what grew in each of the last intervals; what shrinks says by how much', async (t) => {
	const { kernel, read } = tracing(t, { suspectAfter: 3 });
	const of = async (grows: number, shrinks: number) => {
		fill(
			kernel,
			[
				{ comm: 'grows', allocated: grows, count: 1 },
				{ comm: 'shrinks', allocated: 10_000, count: 1 },
			],
			[
				{ site: 1, size: grows, age_s: 1 },
				{ site: 2, size: shrinks, age_s: 1 },
			],
		);
		const { json, text } = await read();
		const details = (comm: string) => json.stacks.find(({ key }) => key.comm === comm)?.details;
		const [first, second] = [details('grows'), details('shrinks')];
		return { text, said: [first?.growth_bytes, first?.suspect, second?.growth_bytes] };
	};
	assert.deepEqual((await of(1000, 9000)).said, [1000, false, 9000]);
	assert.deepEqual((await of(1500, 8000)).said, [500, false, -1000]);
	const third = await of(1700, 7300);
	assert.deepEqual(third.said, [200, true, -700]);
	assert.match(third.text, /SUSPECT, keeps growing, \+200 B, age/);
	assert.match(third.text, /^ +-700 B, age/m);
	assert.equal(third.text.match(/SUSPECT/g)?.length, 1);
});

test('--older: only what is that old or older', async (t) => {
	const { kernel, read } = tracing(t, { older: 30 });
	fill(
		kernel,
		[{ comm: 'one', allocated: 600, count: 3 }],
		[
			{ site: 1, size: 100, age_s: 29.999 },
			{ site: 1, size: 200, age_s: 30 },
			{ site: 1, size: 300, age_s: 31 },
		],
	);
	const { json } = await read();
	assert.deepEqual(
		json.stacks.map(({ value, count }) => [value, count]),
		[[500, 2]],
	);
});

test('-a: each allocation by itself, the largest first, with its address, its thread and its age', async (t) => {
	const { kernel, read } = tracing(t, { all: true });
	fill(
		kernel,
		[{ comm: 'one', allocated: 600, count: 3, freed: 50, freedCount: 1 }],
		[
			{ site: 1, size: 100, age_s: 4, tid: 0 },
			{ site: 1, size: 300, age_s: 250, weight: 900, weightCount: 3 },
		],
	);
	const { json, text } = await read();
	assert.deepEqual(
		json.stacks.map(({ key, value, count, variance, details }) => {
			return [key.address, key.tid, value, count, variance, details];
		}),
		[
			[
				...['0x2000', 9, 900, 3, 900 * 600],
				{ size_bytes: 300, age_p50_s: 250, age_p90_s: 250, age_max_s: 250 },
			],
			[
				...['0x1000', undefined, 100, 1, 0],
				{ size_bytes: 100, age_p50_s: 4, age_p90_s: 4, age_max_s: 4 },
			],
		],
	);
	assert.match(text, /stands for ~3 allocations {2}age 250 s$/m);
	assert.match(text, /^ +age 4\.0 s$/m);
	assert.match(text, /outstanding in 2 allocations/);
});

test('--churn: all that was allocated, and what of that was freed or is outstanding', async (t) => {
	const { kernel, read } = tracing(t, { churn: true, sampleBytes: 512 });
	fill(
		kernel,
		[{ comm: 'one', allocated: 6_000, count: 30, freed: 5_000, freedCount: 25 }],
		[{ site: 1, size: 1_000, age_s: 4 }],
	);
	const { json, text } = await read();
	const [row] = json.stacks;
	assert.deepEqual([row?.value, row?.count, row?.variance], [6_000, 30, 6_000 * 512]);
	assert.deepEqual(row?.details, {
		...{ freed_bytes: 5_000, freed_count: 25, outstanding_bytes: 1_000 },
	});
	assert.deepEqual(json.parts, ['allocated']);
	assert.deepEqual(json.about, { sample_bytes: 512, unseen_frees: 0 });
	assert.match(text, /freed 5,000 B$/m);
	assert.match(text, /allocated in 1 stack/);
});

test('nothing is left of a site: it is in no result', async (t) => {
	const { kernel, read } = tracing(t);
	fill(kernel, [{ comm: 'one', allocated: 64, count: 1 }], [{ site: 1, size: 64, age_s: 1 }]);
	assert.equal((await read()).json.stacks.length, 1);
	fill(kernel, [{ comm: 'one', allocated: 64, count: 1, freed: 64 }], []);
	const { json, text } = await read();
	assert.deepEqual([json.stacks, text], [[], '']);
});

test('where it costs too much samples become rarer, each time by eight, up to 64 MiB', async (t) => {
	for (const [raw, first] of [
		[{}, 65_536],
		[{ sampleBytes: 1_024 }, 8_192],
	] as const) {
		const { kernel, reader, read } = tracing(t, raw);
		const told: unknown[] = [];
		for (let times = 0; times < 10; times++) {
			const text = reader.slowDown?.();
			if (text !== undefined) told.push(kernel.told.sample_bytes);
		}
		const steps = Math.floor(Math.log(2 ** 26 / first) / Math.log(8)) + 1;
		assert.deepEqual(
			told,
			Array.from({ length: steps }, (_, i) => first * 8 ** i),
		);
		assert.equal((await read()).json.about.sample_bytes, told.at(-1));
	}
});

test('frees of what was not seen: how many, in words for one and for several', async (t) => {
	const { kernel, read } = tracing(t);
	kernel.variables.unseen_frees = 1;
	assert.match((await read()).findings.notices[0] ?? '', /^1 call freed memory that was allocated/);
	kernel.variables.unseen_frees = 2_000;
	const { findings } = await read();
	assert.match(findings.notices[0] ?? '', /^2,000 calls freed/);
	assert.equal(findings.about.unseen_frees, 2_000);
});

test('--growth: what was added in each interval, by how it came; bytes of different kinds do not add up', async (t) => {
	const { kernel, read } = tracing(t, { growth: true, exclude: /none/ });
	const of = (faults: number, brk: number, count: number): Site[] => [
		{ comm: 'faults', kind: KIND.GROWTH_FAULTS, allocated: faults, count: 3 * count },
		{ comm: 'brk', kind: KIND.GROWTH_BRK, allocated: brk, count },
		{ comm: 'still', kind: KIND.GROWTH_MMAP, allocated: 4_096, count: 1 },
		{ comm: 'none', kind: KIND.GROWTH_MMAP, allocated: 100 * count, count },
	];
	fill(kernel, of(12_288, 5_000, 1), []);
	await read();
	fill(kernel, of(20_480, 5_700, 3), []);
	const { findings, text } = await read();
	assert.deepEqual(
		findings.stacks
			.map(({ key, value, count }) => [key.memory, key.comm, value, count])
			.sort(([, a], [, b]) => (`${a}` < `${b}` ? -1 : 1)),
		[
			['brk', 'brk', 700, 2],
			['page faults', 'faults', 8_192, 6],
			['mmap', 'none', 200, 2],
		],
	);
	assert.match(text, /8,192 B by page faults in 1 stack, 6 times/);
	assert.match(text, /700 B by brk in 1 stack, 2 times/);
	// What is left out is said of its own kind only.
	assert.equal(text.match(/left out/g), null);
});

test('of too many single allocations the largest stay, the others are added up, and how many is said', () => {
	const one = (size_bytes: number) => {
		return { size_bytes, weight_bytes: size_bytes, weight_count: 1, age_ns: 1 };
	};
	const single = [
		...Array.from({ length: 7 }, () => one(500)),
		...Array.from({ length: MAX_SINGLE + 5 }, () => one(16)),
		one(8),
	];
	const site = { outstanding: new Outstanding(), single } as unknown as LeakSite;
	keepLargest([site]);
	assert.equal(site.single.length, MAX_SINGLE);
	assert.equal(site.single.filter(({ size_bytes }) => size_bytes === 500).length, 7);
	// 12 of those of 16 bytes, and the one of 8.
	assert.deepEqual([site.outstanding.count, site.outstanding.bytes], [13, 12 * 16 + 8]);
	assert.match(singleNotices([site])[0] ?? '', /the 100,000 largest .* the other 13 are added up/);
	keepLargest([site]);
	assert.equal(site.single.length, MAX_SINGLE);
});
