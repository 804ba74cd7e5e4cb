/** memleak --sample-bytes: what samples tell of all that was allocated. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LeakReport, leafOf, leakedBy, leakReport } from './leaks.js';
import { Tracing, Workload } from './support.js';

const start = (...args: string[]) => Workload.start('leaks', ...args);

/** What the functions of `leaks sizes` leak, and what samples of one allocation in SAMPLE_BYTES tell of it. */
const SAMPLE_BYTES = 4096;
const SIZED = Array.from({ length: 100 }, (_, i) => {
	const [tens, ones] = [Math.floor(i / 10), i % 10];
	const [blocks, size] = [200 + 10 * tens, 16 << ones];
	const p = 1 - Math.exp(-size / SAMPLE_BYTES);
	// Of a sum of size / p for each block that is sampled: a binomial distribution.
	const variance = (size ** 2 * blocks * (1 - p)) / p;
	return { name: `leak_sizes_${tens}${ones}`, size, p, blocks, variance };
});

const rowOf = ({ stacks }: LeakReport, name: string) =>
	stacks.find((stack) => leafOf(stack) === name);

/**
 * No more of the hundred sums are further from the truth than three standard errors than chance has it:
 * six are so in fewer than one run of a hundred thousand.
 */
function assertNear(report: LeakReport): void {
	const strayed = SIZED.filter(({ name, size, p, blocks, variance }) => {
		const row = rowOf(report, name);
		// Of twenty samples that are due not one lacks all of them in a hundred million.
		if (!row) return blocks * p >= 20;
		return Math.abs(row.value - blocks * size) > 3 * Math.sqrt(variance);
	});
	assert.ok(strayed.length <= 5, strayed.map(({ name }) => name).join());
}

test('sampled: sums of 100 functions are within three standard errors, and 4 kB is enough', async () => {
	const { report } = await leakedBy(await start('sizes'), '--sample-bytes', `${SAMPLE_BYTES}`);
	assertNear(report);
	// And so are the errors that are stated, of each size: their squares are sums over samples, too.
	for (const size of new Set(SIZED.map((each) => each.size))) {
		const functions = SIZED.filter((each) => each.size === size);
		let [stated, due, spread] = [0, 0, 0];
		for (const { name, p, blocks, variance } of functions) {
			stated += (rowOf(report, name)?.error ?? 0) ** 2;
			due += variance;
			spread += ((size ** 2 * (1 - p)) / p ** 2) ** 2 * blocks * p * (1 - p);
		}
		const off = Math.abs(stated - due);
		assert.ok(off <= 5 * Math.sqrt(spread), `${size} bytes: ${stated}, not ${due}`);
	}
	assert.deepEqual(report.lost, {});
});

test('sampled: what is freed counts as much as what was allocated', async () => {
	const [BLOCKS, BYTES, ROUNDS] = [1000, 1000, 7];
	const workload = await Workload.start('rounds');
	const args = ['memleak', '--json', '--sample-bytes', `${SAMPLE_BYTES}`, '-p', `${workload.pid}`];
	const tracing = await Tracing.start(args);
	workload.begin();
	// Each frees what the one before it has allocated.
	for (let round = 0; round < ROUNDS; round++) {
		workload.tell(`${BLOCKS} 0`);
		await workload.done();
	}
	const report = leakReport(await tracing.end('SIGINT'));
	await workload.end();
	const row = rowOf(report, 'allocate_here');
	assert.ok(row, JSON.stringify(report.stacks));
	const p = 1 - Math.exp(-BYTES / SAMPLE_BYTES);
	const near = (count: number, blocks: number, what: string) => {
		// Of a count of 1 / p for each block that is sampled: a binomial distribution.
		const error = Math.sqrt((blocks * (1 - p)) / p);
		assert.ok(Math.abs(count - blocks) <= 5 * error, `${what}: ${count}, not ${blocks} ± ${error}`);
	};
	near(row.count, BLOCKS, 'outstanding');
	near(row.freed_count, (ROUNDS - 1) * BLOCKS, 'freed');
	near(row.freed_bytes / BYTES, (ROUNDS - 1) * BLOCKS, 'freed, by their bytes');
	// All have the same size, and so the same weight: in 256ths, for the count.
	const off = row.freed_bytes / row.freed_count / BYTES - 1;
	assert.ok(Math.abs(off) < 0.005, `${row.freed_bytes} B in ${row.freed_count}`);
});

test('sampled: of what is unmapped in part, the rest stays', async () => {
	const { report } = await leakedBy(await start('halves'), '--sample-bytes', '512K');
	const row = report.stacks.find((stack) => leafOf(stack) === 'leak_halves');
	const truth = 2000 * 32 * 4096;
	assert.ok(row && Math.abs(row.value - truth) <= 4 * (row.error ?? 0), JSON.stringify(row));
});

test('sampled and --churn: all that was allocated, with its error', async () => {
	const { report } = await leakedBy(
		await start('sizes'),
		'--churn',
		'--sample-bytes',
		`${SAMPLE_BYTES}`,
	);
	assertNear(report);
	// What is stated here is a bound: as if all were small.
	for (const { name } of SIZED) {
		const { value, error = 0 } = rowOf(report, name) ?? { value: 0 };
		const stated = Math.sqrt(value * SAMPLE_BYTES);
		assert.ok(Math.abs(error - stated) <= 0.01 * stated + 1, `${name}: ${error}, not ${stated}`);
	}
});
