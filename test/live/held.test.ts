/** What a run holds while it goes on: threads, processes and intervals that are over leave nothing in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu } from '../../src/generated/off_cpu.js';
import { tracepointArguments } from '../../src/loader/kernel.js';
import { u32Key } from '../../src/loader/map.js';
import { BpfObject } from '../../src/loader/object.js';
import { descriptorsOf, entriesOf, tableMapsOf } from './held-maps.js';
import { Tracing, until, Workload } from './support.js';

const THREADS = 300;
const CHILDREN = 97;
/** Those that live at the end, and may have an entry each: the two workloads' first ones. */
const LIVE = 2;
/** What is to be printed, and grows until then; tables of files belong to files. */
const RESULTS =
	/^(sums|stacks|wakers|wait_objects|wanted_ends|sites|allocations|unwind_\w+|slots_taken|failures\w*)$/;
/** Arrays with a place for each thread. */
const PLACES = ['call_places'];
/** Statistics are on for samples only; others may start programs that are only in memory. */
const NOW_AND_THEN = /^(anon_inode:bpf-stats$|\/memfd:)/;

/** With an interval: enough of them pass for what one leaves behind to be seen. */
const CASES: ReadonlyArray<readonly [words: string, interval?: string | undefined, way?: string]> =
	[
		['runqlat -L --follow', '0.2', 'sched_info'],
		['runqlat -L --split --follow', '0.2', 'hash'],
		['schedlat --follow', '0.2'],
		['syscount --latency --follow', '0.2', 'raw'],
		['syscount --paths --follow', '0.2'],
		['timehist -w -M --follow'],
		['offcputime --exact --follow'],
		['offcputime --exact --follow', undefined, 'switch'],
		['offwaketime --exact --follow --unwind fp'],
		// Its usual ten seconds are not enough on a slow machine.
		['why --follow 600'],
		['profile -F 999 --follow'],
		['memleak', '0.2'],
	];
const INTERVALS = 6;
const MAPS = 'anon_inode:bpf-map';
/** How often to look: it takes a while itself. */
const LOOK_MS = 200;

for (const [words, interval, way] of CASES) {
	const byWay = way ? `, ${way}` : '';
	test(`${words}${byWay}: nothing is kept of threads that have ended, nor of intervals`, async () => {
		const crowd = await Workload.start('crowd', `${THREADS}`, '5', '1000');
		const forks = await Workload.start('calls', 'forks', `${CHILDREN}`);
		const whose = ['-p', `${crowd.pid},${forks.pid}`, '--json', ...(interval ? [interval] : [])];
		const tracing = await Tracing.start(
			[...words.split(' '), ...whose],
			way ? { TSTRACE_FORCE: way } : {},
		);
		const reports = () => tracing.stdout.split('\n').length - 1;
		const passes = async (count: number) => {
			const before = reports();
			if (interval) await until(() => reports() >= before + count);
		};
		// What a first interval needs, all others need too.
		await passes(2);
		const entries = entriesOf(tracing.pid, PLACES);
		const descriptors = descriptorsOf(tracing.pid);
		const tables = tableMapsOf(tracing.pid);
		await crowd.work();
		await forks.work();
		await passes(INTERVALS);
		const more = () => {
			// Stacks lead through files of others meanwhile, too. Their tables need as many maps as they have rows for.
			const { held, empty, enough, strange } = tableMapsOf(tracing.pid);
			const spareOf = (kind: string) => (kind === MAPS ? held - tables.held : 0);
			const now = entriesOf(tracing.pid, PLACES);
			const kept = [...now].filter(
				([name, count]) => !RESULTS.test(name) && count > (entries.get(name) ?? 0) + LIVE,
			);
			const open = [...descriptorsOf(tracing.pid)].filter(
				([kind, count]) =>
					!NOW_AND_THEN.test(kind) && count > (descriptors.get(kind) ?? 0) + spareOf(kind),
			);
			const wrong = empty > 0 || held > enough || strange > 0;
			const unused = wrong ? [['maps of tables', { held, empty, enough, strange }]] : [];
			return [...kept, ...open, ...unused];
		};
		// Unless an interval has just begun, or a thread is ending.
		await until(
			() => more().length === 0,
			() => JSON.stringify(more()),
			LOOK_MS,
		);
		const { status, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 0, stderr);
		await crowd.end();
		await forks.end();
	});
}

test('where threads off the CPU are kept in a hash, it holds those that wait now', async () => {
	const crowd = await Workload.start('crowd', `${THREADS}`, '3', '500000');
	const object = new BpfObject(`dist/bpf/${process.arch}/off_cpu.bpf.o`, off_cpu);
	try {
		object.setConstants({
			threads_in_hash: true,
			filter_by_tgid: true,
			switch_has_state: tracepointArguments('sched_switch') >= 4,
		});
		object.load(['offcpu_switch', 'filter_exit'], ['off_cpus']);
		object.map('filter_tgids').update(u32Key(crowd.pid), new Uint8Array([1]));
		object.attach('offcpu_switch');
		const waiting = () => entriesOf(process.pid).get('off_cpus_by_pid') ?? 0;
		crowd.begin();
		await until(() => waiting() > THREADS / 2);
		await crowd.done();
		// Its first thread, which waits to be told to end.
		await until(
			() => waiting() <= 1,
			() => `${waiting()} entries`,
			LOOK_MS,
		);
	} finally {
		object.close();
		await crowd.end();
	}
});

test('memleak keeps nothing of a thread that has allocated and ended', async () => {
	const workload = await Workload.start('leaks', 'threads', '100');
	const tracing = await Tracing.start(['memleak', '--json', '-p', `${workload.pid}`]);
	await workload.work();
	// Of the first thread, which lives; the other one has freed what that allocated.
	const calling = () => entriesOf(tracing.pid).get('heap_calls') ?? 0;
	await until(
		() => calling() === 1,
		() => `${calling()} entries`,
		LOOK_MS,
	);
	const { status, stderr } = await tracing.end('SIGINT');
	assert.equal(status, 0, stderr);
	await workload.end();
});
