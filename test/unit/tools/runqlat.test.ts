/** What runqlat prints of waits, one by one and as histograms: from the kernel's maps to the line. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { bucketOf } from '../../../src/aggregate/buckets.js';
import { chooseQueueTiming, delayedDequeue } from '../../../src/bpf/scheduling/run-queue.js';
import { askedOf } from '../../../src/cli/tool-command.js';
import { runqlat as layout } from '../../../src/generated/runqlat.js';
import { possibleCpus } from '../../../src/loader/map.js';
import { cgroupMount } from '../../../src/proc/cgroup.js';
import { runqlat } from '../../../src/tools/runqlat.js';
import { ringFile } from '../loader/ring-file.js';
import { structs, write } from './structs.js';

const { slow_wait, group_key, group_bucket, hist } = layout.structs;
const { run_queue_kind: KIND } = layout.enums;
type Raw = Readonly<Record<string, unknown>>;

const settingsOf = (raw: Raw) =>
	askedOf(runqlat, { raw, interval_s: 1, count: undefined, command: [] }).settings;

function readerOf(t: TestContext, raw: Raw, map: (name: string) => unknown) {
	const object = { layout, map, setVariable: () => undefined, waitForPrograms: () => undefined };
	const none = {} as never;
	const reader = runqlat.reader(
		...([object as never, settingsOf(raw), none, () => undefined, undefined] as const),
	);
	t.after(() => reader.close?.());
	return reader;
}

const WAIT = {
	...{ cpu: 3, kind: KIND.QUEUED_PREEMPTED, latency_ns: 10_000_000, throttled_ns: 0 },
	...{ tgid: 70, tid: 71, comm: 'worker' },
	...{ prev_tgid: 80, prev_tid: 81, prev_comm: 'hog' },
};

test('a slow wait: all that is known of it for programs, and who was in the way as text', async (t) => {
	const wait_ns = 5_000_000_000;
	const now_ms = Date.now() - Number(process.hrtime.bigint()) / 1e6;
	const long = { latency_ns: 4_000_000_000, throttled_ns: 4_900_000 };
	const bytes = structs(slow_wait, [{ ...WAIT, ...long, end_ns: wait_ns }]);
	const ring = ringFile([{ bytes: new Uint8Array(bytes.buffer) }]);
	t.after(() => ring.close());
	const raw = { slower: 1000 };
	const { kind, ...found } = await readerOf(t, raw, () => ring.map).read();
	assert.equal(kind, 'rows');
	const [row] = (found as { rows: readonly Record<string, unknown>[] }).rows;
	const { time, ...rest } = row ?? {};
	assert.deepEqual(rest, {
		...{ cpu: 3, pid: 70, tid: 71, comm: 'worker', kind: 'preempted' },
		...{ delay_ns: 4_000_000_000, throttled_ns: 4_900_000 },
		...{ prev_pid: 80, prev_tid: 81, prev_comm: 'hog' },
	});
	const off_ms = Date.parse(`${time}`) - (now_ms + wait_ns / 1e6);
	assert.ok(Math.abs(off_ms) < 1000, `${off_ms} ms off`);
});

const SHOWN = {
	time: new Date(2026, 0, 2, 3, 4, 5, 6).toISOString(),
	...{ cpu: 1, pid: 70, tid: 71, comm: 'worker', kind: 'preempted' },
	...{ delay_ns: 10e6, throttled_ns: 0, prev_pid: 80, prev_tid: 81, prev_comm: 'hog' },
};
const lineOf = (more: Partial<typeof SHOWN>) =>
	runqlat.text(settingsOf({ slower: 1000 })).row?.({ ...SHOWN, ...more });

test('a slow wait says who was in the way, unless it was for quota most of the time', () => {
	const begin = '03:04:05.006   1 worker           71          10,000 ';
	assert.equal(lineOf({}), `${begin}hog              81\n`);
	assert.equal(lineOf({ throttled_ns: 4.9e6 }), `${begin}hog              81\n`);
	assert.equal(lineOf({ throttled_ns: 5.1e6 }), `${begin}(throttled)\n`);
	assert.equal(lineOf({ throttled_ns: 10e6 }), `${begin}(throttled)\n`);
});

test('names of strangers do no harm to a terminal, and none is longer than its column', () => {
	const [comm, prev_comm] = ['\u001b[2J', '\u001b]0;\u0007abcdefgh'];
	const line = lineOf({ comm, prev_comm }) ?? '';
	assert.match(line, /^03:04:05\.006 {3}1 \\x1b\[2J {10}71 /);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys
	assert.doesNotMatch(line, /[\u0000-\u0009\u000b-\u001f]/);
	assert.equal(line.length, (lineOf({}) ?? '').length);
});

/** Of each kind, by its number: one wait of so many microseconds. */
const USEC: Readonly<Record<string, number>> = {
	[KIND.QUEUED_WAKEUP]: 10,
	[KIND.QUEUED_PREEMPTED]: 20,
	[KIND.QUEUED_SINCE_BEFORE]: 40,
	[KIND.QUEUED_UNKNOWN]: 80,
	[KIND.QUEUED_THROTTLED]: 160,
};

/** The kernel's histograms of `kinds`, in the first window. */
function histograms(kinds: readonly number[]) {
	const stride = hist.size;
	const all = new Map<number, DataView>();
	for (const kind of kinds) {
		const view = new DataView(new ArrayBuffer(stride * possibleCpus()));
		const ns = (USEC[kind] ?? 0) * 1000;
		write(hist, view, 0, { sum: ns, min_complement: 2n ** 64n - 1n - BigInt(ns), max: ns });
		view.setBigUint64(hist.fields.buckets.offset + 8 * bucketOf(ns), 1n, true);
		all.set(kind, view);
	}
	return () => ({
		perCpuStride: stride,
		lookupPerCpu: (key: Uint8Array) =>
			all.get(new DataView(key.buffer, key.byteOffset).getUint32(0, true)),
		clearPerCpu: (key: Uint8Array) =>
			all.delete(new DataView(key.buffer, key.byteOffset).getUint32(0, true)),
	});
}

test('--split has a histogram for each kind of wait that there was; without it there is one', async (t) => {
	const kinds = Object.keys(USEC).map(Number);
	const found = await readerOf(t, { split: true }, histograms(kinds)).read();
	const groups = (found as { groups: readonly { key: unknown; histogram: { max_ns: number } }[] })
		.groups;
	assert.deepEqual(
		groups.map(({ key, histogram }) => [key, histogram.max_ns / 1000]),
		[
			[{ kind: 'wakeup' }, 10],
			[{ kind: 'preempted' }, 20],
			[{ kind: 'since_before' }, 40],
			[{ kind: 'unknown' }, 80],
			[{ kind: 'throttled' }, 160],
		],
	);
	const one = await readerOf(t, {}, histograms([KIND.QUEUED_WAKEUP])).read();
	assert.deepEqual(
		(one as { groups: readonly { key: unknown }[] }).groups.map(({ key }) => key),
		[{}],
	);
});

const GROUP = { kind: KIND.QUEUED_SINCE_BEFORE, tgid: 70, tid: 71, id: 4_026_531_836, comm: 'app' };

/** Groups of two waits of 3 us each. */
function groups(...all: readonly Partial<typeof GROUP>[]) {
	const given = all.length > 0 ? all : [{}];
	const key = { ...GROUP, bucket: bucketOf(3000) };
	const value = { count: 2, sum: 6000, min: 3000, max: 3000 };
	const keys = structs(
		group_key,
		given.map((more) => ({ ...key, ...more })),
	);
	const values = structs(
		group_bucket,
		given.map(() => value),
	);
	return (name: string) => ({
		drain: (each: (keys: DataView, values: DataView, count: number) => void) =>
			name === 'groups_0' && each(keys, values, given.length),
	});
}

test('groups are named by what they are grouped by, and by their kind', async (t) => {
	const keyOf = async (raw: Raw, more?: Partial<typeof GROUP>) => {
		const found = await readerOf(t, raw, groups(more ?? {})).read();
		const [group] = (found as { groups: readonly { key: unknown }[] }).groups;
		return group?.key;
	};
	assert.deepEqual(await keyOf({ pids: true }), { pid: 70, comm: 'app' });
	assert.deepEqual(await keyOf({ tids: true }), { pid: 70, tid: 71, comm: 'app' });
	const outside = { tgid: 0, tid: 0, id: 8123 };
	assert.deepEqual(await keyOf({ pids: true }, outside), { pid: 0, host_pid: 8123, comm: 'app' });
	assert.deepEqual(await keyOf({ tids: true }, outside), {
		...{ pid: 0, tid: 0, host_tid: 8123, comm: 'app' },
	});
	assert.deepEqual(await keyOf({ pidnss: true }), { pidns: 4_026_531_836 });
	assert.deepEqual(await keyOf({ by: 'cpu' }, { id: 5 }), { cpu: 5 });
	assert.deepEqual(await keyOf({ by: 'comm' }), { comm: 'app' });
	const gone = { cgroup: '(gone, id 987654321012)', cgroup_id: 987_654_321_012 };
	assert.deepEqual(await keyOf({ by: 'cgroup' }, { id: 987_654_321_012 }), gone);
	const mount = cgroupMount();
	if (mount !== undefined) {
		const all = groups({ id: 987_654_321_012 }, { id: statSync(mount).ino });
		const found = await readerOf(t, { by: 'cgroup' }, all).read();
		assert.deepEqual(
			(found as { groups: readonly { key: Raw }[] }).groups.map(({ key }) => key.cgroup),
			['(gone, id 987654321012)', '/'],
		);
	}
	assert.deepEqual(await keyOf({ by: 'cpu', split: true }, { id: 5 }), {
		...{ cpu: 5, kind: 'since_before' },
	});
});

test('a histogram is in the unit that was asked for, and as many are shown', async (t) => {
	const text = async (raw: Raw) => {
		const found = await readerOf(t, raw, groups()).read();
		const findings = found as { groups: readonly { key: object; histogram: unknown }[] };
		const [first] = findings.groups;
		const many = Array.from({ length: 30 }, (_, i) => ({ ...first, key: { cpu: i } }));
		return runqlat
			.text(settingsOf(raw))
			.report({ ...found, groups: many } as never, { colour: false, width: 80 });
	};
	const usual = await text({ by: 'cpu' });
	assert.match(usual, /^ +usecs +: count/m);
	assert.match(usual, /^10 more with 20 waits, 60\.0 us in all; --top 0 shows them$/m);
	const other = await text({ by: 'cpu', milliseconds: true, top: 4 });
	assert.match(other, /^ +msecs +: count/m);
	assert.match(other, /^26 more with 52 waits, /m);
});

test('what programs are told: by what to group, what is slow, and how much room there is', () => {
	const planned = (raw: Raw) => {
		let constants: Raw = {};
		const room: Record<string, number> = {};
		const object = {
			setConstants: (more: Raw) => {
				constants = { ...constants, ...more };
			},
			map: (name: string) => ({
				setMaxEntries: (entries: number) => {
					room[name] = entries;
				},
			}),
		};
		const { attach, runOnce } = runqlat.plan(
			...([object as never, settingsOf(raw), {} as never, () => undefined] as const),
		);
		return { ...constants, ...room, attach, runOnce };
	};
	const { group_by: BY } = layout.enums;
	for (const [raw, by] of [
		[{}, BY.GROUP_BY_NOTHING],
		[{ pids: true }, BY.GROUP_BY_PROCESS],
		[{ tids: true }, BY.GROUP_BY_THREAD],
		[{ pidnss: true }, BY.GROUP_BY_PIDNS],
		[{ by: 'cgroup' }, BY.GROUP_BY_CGROUP],
		[{ by: 'cpu' }, BY.GROUP_BY_CPU],
		[{ by: 'comm' }, BY.GROUP_BY_COMM],
	] as const) {
		const { group_by, groups_0, groups_1 } = planned({ ...raw, maxBuckets: 777 }) as Raw;
		const room = by === BY.GROUP_BY_NOTHING ? 1 : 777;
		assert.deepEqual([group_by, groups_0, groups_1], [by, room, room], JSON.stringify(raw));
	}
	const { slower_than_ns, slow_waits } = planned({ slower: 250 }) as Raw;
	assert.equal(slower_than_ns, 250_000);
	assert.ok(Number(slow_waits) >= 4 << 20);
	assert.deepEqual((planned({ split: true }) as Raw).split_kinds, true);
	const { split_kinds, attach, runOnce } = planned({}) as Raw;
	assert.equal(split_kinds, false);
	// What the kernel keeps itself has begun before, and a thread may be moved while it waits.
	const isKept = chooseQueueTiming().name === 'sched_info';
	assert.deepEqual(runOnce, isKept ? ['seed_slices'] : []);
	assert.equal((attach as string[]).includes('migrate_sched_info'), isKept && delayedDequeue());
});

test('--slower has no histograms: what belongs to these is refused by its name', () => {
	for (const option of ['pids', 'tids', 'pidnss', 'milliseconds', 'split'] as const)
		assert.throws(() => settingsOf({ slower: 1000, [option]: true }), {
			message: `--slower shows single waits; leave out --${option}`,
		});
	assert.throws(() => settingsOf({ slower: 1000, by: 'cpu' }), { message: /leave out --by$/ });
	for (const [option, value] of [
		['hdr', '/tmp/x'],
		['timestamps', true],
		['top', 5],
	] as const)
		assert.throws(() => settingsOf({ slower: 1000, [option]: value }), {
			message: `--slower shows single waits; leave out --${option}`,
		});
});
