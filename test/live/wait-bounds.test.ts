/** --min and --max: no wait is shorter or longer than was asked for, whichever of a thread it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorOf, near, stackReport, sumOf } from './stacks.js';
import { Tracing, Workload } from './support.js';

const THREADS = 500;

/** Waits of threads that come and go: each waits for a CPU before it has ever had one, and then sleeps. */
async function traced(...options: readonly string[]) {
	const churn = await Workload.start('churn', `${THREADS}`);
	const args = ['offcputime', '--exact', '--no-edges', '--json', '-p', `${churn.pid}`, ...options];
	const tracing = await Tracing.start(args);
	await churn.work();
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	await churn.end();
	return stacks;
}

/** Where a thread begins in the kernel; it has no other frames as it waits for the first time. */
const isFirst = ({ frames }: { readonly frames: readonly string[] }) =>
	frames.length > 0 && frames.every((name) => /^(ret_from_fork\w*|schedule_tail)$/.test(name));

test('first waits are among those that count', async () => {
	const stacks = await traced();
	assert.ok(
		sumOf(stacks.filter(isFirst), 'count') > THREADS / 2,
		JSON.stringify(stacks.slice(0, 9)),
	);
});

test('--min: each is as long at least', async () => {
	for (const { value, count, frames } of await traced('--min', '50ms'))
		assert.ok(value >= 50e6 * count, `${count} waits of ${value} ns in all: ${frames.join(' ')}`);
});

test('--max: each is as long at most', async () => {
	const stacks = await traced('--max', '20us');
	for (const { value, count, frames } of stacks)
		assert.ok(value <= 20e3 * count, `${count} waits of ${value} ns in all: ${frames.join(' ')}`);
});

test('first waits are sampled as all others are: how much that errs is said, and is no more', async () => {
	const churn = await Workload.start('churn', `${THREADS}`);
	const args = ['offcputime', '--no-edges', '--json', '-p', `${churn.pid}`];
	const [every, sampled] = [await Tracing.start([...args, '--exact']), await Tracing.start(args)];
	await churn.work();
	const firstOf = async (tracing: Tracing) =>
		stackReport(await tracing.end('SIGINT')).stacks.filter(isFirst);
	const [all, some] = [await firstOf(every), await firstOf(sampled)];
	await churn.end();
	assert.ok(errorOf(some) > 0, JSON.stringify(some));
	near(sumOf(some), sumOf(all), 4 * errorOf(some) + 0.1 * sumOf(all), 'waits for a first CPU');
});
