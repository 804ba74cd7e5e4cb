/** A machine that is short of something: 64 tracers at once, memory, descriptors, room in maps and rings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FullPipe, once, Target, TOOLS, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { MemoryCgroup } from './memory-cgroup.js';
import { reportsOf } from './reports.js';
import { Tracing, until, Workload } from './support.js';
import { switches } from './times.js';

test('64 at once, each of its own process: all are right', async () => {
	const before = kernelObjects();
	const all = await Promise.all(
		Array.from({ length: 64 }, async (_, i) => {
			const opens = 100 + i;
			const workload = await Workload.start('calls', 'missing', `${opens}`);
			return { opens, workload };
		}),
	);
	const tracers = all.map(({ workload }) =>
		Tracing.begin(['syscount', '--json', '-p', `${workload.pid}`]),
	);
	// Each begins when all are attached, so that all are at once.
	for (const tracer of tracers) await tracer.says(/^Tracing /m);
	for (const { workload } of all) await workload.work();
	for (const tracer of tracers) tracer.signal('SIGINT');
	for (const [i, { opens, workload }] of all.entries()) {
		const finished = await tracers[i]?.end();
		assert.ok(finished);
		const { status, stdout, stderr } = finished;
		assert.equal(status, 0, stderr);
		const rows = reportsOf(stdout)[0]?.rows.filter(({ syscall }) => syscall === 'openat');
		assert.deepEqual(
			rows?.map(({ calls, errors }) => [calls, errors]),
			[[opens, opens]],
		);
		await workload.end();
		assert.equal(workload.status, 0);
	}
	await untilNothingLeft(before);
});

/** In MB; at the least node cannot start, at the most everything is as ever. */
const LEAST = 8;
const MOST = 512;

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool} in a cgroup with ever more memory: killed, refused, or right`, async () => {
		const before = kernelObjects();
		const cgroup = MemoryCgroup.make('test');
		try {
			for (let size = LEAST; size <= MOST; size *= 2) {
				cgroup.limitTo(size << 20);
				const target = await Target.start();
				const args = [tool, ...options, '--json', '-p', `${target.pid}`, '0.2'];
				const words = [...args, ...once(tool)];
				const { status, stdout, stderr } = await Tracing.begin(words, {}, cgroup.enter).end();
				const happened = `${size} MB: ${status} ${stderr}`;
				if (status === 0) assert.equal(reportsOf(stdout)[0]?.tool, tool, happened);
				else if (status === 1) assert.match(stderr, /^tstrace \w+: .*no memory/m, happened);
				else assert.equal(status, null, happened);
				if (size === LEAST) assert.equal(status, null, happened);
				if (size === MOST) assert.equal(status, 0, happened);
				await untilNothingLeft(before);
				await target.isWhole();
			}
		} finally {
			await until(() => cgroup.isEmpty());
			cgroup.remove();
		}
	});

	test(`${tool} with ever more descriptors: refused with a line that says so, or right`, async () => {
		const before = kernelObjects();
		const target = await Target.start();
		const statuses: (number | null)[] = [];
		// How many it takes depends on the machine: some for each CPU, or for each probe.
		for (let limit = 24; limit <= 1024 && statuses.at(-1) !== 0; limit = Math.ceil(limit * 1.08)) {
			const few = ['sh', '-c', `ulimit -n ${limit}; exec "$0" "$@"`];
			const args = [tool, ...options, '--json', '-p', `${target.pid}`, '0.1', ...once(tool)];
			const { status, stdout, stderr } = await Tracing.begin(args, {}, few).end();
			statuses.push(status);
			const happened = `${limit}: ${status} ${stderr}`;
			if (status === 0) assert.equal(reportsOf(stdout)[0]?.tool, tool, happened);
			else assert.match(stderr, /^tstrace \w+: .*(EMFILE|too many open files)/m, happened);
		}
		assert.equal(statuses[0], 1);
		assert.equal(statuses.at(-1), 0);
		await untilNothingLeft(before);
		await target.isWhole();
	});
}

/** The least room there can be, and a workload that needs more; each loss has words. */
const FULL = [
	['runqlat', ['-L', '--max-buckets', '1'], /lost: [\d,]+ events: no room for more groups/],
	['offcputime', ['--exact', '--max-stacks', '1'], /lost: [\d,]+ events: no room for their stack/],
	['profile', ['-F', '999', '--max-stacks', '1'], /lost: [\d,]+ events: no room for their stack/],
	[
		'syscount',
		['--latency', '-P', '--max-buckets', '1'],
		/lost: [\d,]+ events: no room for more groups/,
	],
	['schedlat', ['--max-threads', '1'], /lost: [\d,]+ events: no room for more threads/],
] as const;

for (const [tool, options, says] of FULL) {
	test(`${tool}: maps that are full; what is not kept is counted`, async () => {
		const before = kernelObjects();
		const storm = await Workload.start('storm');
		storm.begin();
		const args = [tool, ...options, '-p', `${storm.pid}`];
		const { status, stderr } = await Tracing.begin([...args, '0.5', ...once(tool)]).end();
		assert.equal(status, 0, stderr);
		assert.match(stderr, says);
		await storm.end();
		await untilNothingLeft(before);
	});
}

test('timehist: nobody takes its lines, and the ring is full; then all are taken', async () => {
	const before = kernelObjects();
	const pipe = new FullPipe();
	const storm = await Workload.start('storm');
	storm.begin();
	const args = ['timehist', '--json', '--ring-kb', '4', '-p', `${storm.pid}`];
	const tracing = await Tracing.start(args, {}, pipe.by);
	// More than the ring has room for, at less than a line's bytes each.
	const already = switches(storm.pid);
	await until(() => switches(storm.pid) > already + 4096 / 64);
	tracing.signal('SIGINT');
	const { status, stdout, stderr } = await pipe.takeAll(tracing);
	assert.equal(status, 0, stderr);
	const reports = reportsOf(stdout);
	assert.ok(reports.length >= 1);
	assert.ok(reports.some(({ lost }) => (lost.events_ring_full ?? 0) > 0));
	await storm.end();
	await untilNothingLeft(before);
});
