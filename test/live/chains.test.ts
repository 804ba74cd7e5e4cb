/** What wakers did while others waited for them: offwaketime --hops, where that is known by construction. */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { chainText, checkedRuns, ofChain, wakersOf, within } from './chain-reports.js';
import { errorOf, foldedLines, near, stackReport, sumOf } from './stacks.js';
import { Tracing, tstrace, Workload } from './support.js';
import { shown } from './torture-ways.js';

const folder = realpathSync(mkdtempSync('build/chains-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const COUNT = 30;
const WORK_NS = 20e6;

async function traced(way: string, ...options: readonly string[]) {
	const workload = await Workload.start('chain', way, `${COUNT}`, folder);
	const args = ['offwaketime', '-v', '--no-edges', '-p', `${workload.pid}`, ...options];
	const tracing = await Tracing.start(args);
	// On a slow machine they are not there as tracing begins, and stacks would be cut.
	await tracing.says(/has read the unwind tables of/);
	const [worked_ns = 0, run_ns = 0, delay_ns = 0, late_ns = 0, asked_ns = 0] =
		await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	return { finished, worked_ns, run_ns, delay_ns, late_ns, asked_ns };
}

type Run = Awaited<ReturnType<typeof stacksOf>>;

async function stacksOf(way: string, hops: number, options: readonly string[]) {
	const { finished, ...truth } = await traced(way, '--hops', `${hops}`, '--json', ...options);
	const { stacks, lost } = stackReport(finished);
	for (const cause of ['waits_ring_full', 'chains_cut', 'stacks_full'])
		assert.equal(lost[cause], undefined, cause);
	const received = stacks.filter(({ frames }) => frames.includes('receive'));
	return { ...truth, lost, stacks, received };
}

const checked = (
	way: string,
	hops: number,
	options: readonly string[],
	check: (run: Run) => void,
) => checkedRuns(() => stacksOf(way, hops, options), check);

test('a waker that slept is said to have been blocked, where it was, and by what it was woken', () =>
	checked('naps', 4, [], ({ received, stacks, asked_ns }) => {
		// Not where it waited for the test to say that tracing has begun, and waits for its end.
		assert.deepEqual(
			stacks.filter((stack) => !received.includes(stack)),
			[],
		);
		const napped = ofChain(received, 'writer blocked < <irq: timer>');
		within(sumOf(napped), COUNT * WORK_NS, asked_ns, 'blocked for a writer that slept');
		for (const stack of napped) {
			const [writer] = wakersOf(stack);
			assert.equal(writer?.wait?.kind, 'sleep');
			assert.ok(writer?.frames?.includes('doze') && writer.frames.includes('run_writer'));
			// Where it was blocked, not where it woke the reader.
			assert.ok(!writer?.frames?.some((name) => name.includes('write_')), `${writer.frames}`);
		}
	}));

test('a waker that computed is said to have run, where it woke the other', () =>
	checked('computes', 4, ['--exact'], ({ received, run_ns, worked_ns, asked_ns, late_ns }) => {
		const ran = ofChain(received, 'writer ran');
		const queued = ofChain(received, 'writer waited_for_cpu');
		// What interrupts took meanwhile is not in what the kernel says it ran.
		within(sumOf(ran), run_ns - late_ns, asked_ns, 'blocked for a writer that ran');
		within(
			sumOf(ran) + sumOf(queued),
			worked_ns - late_ns,
			asked_ns,
			'blocked for a writer that computed',
		);
		for (const { wait } of ran)
			assert.ok(wait?.waker?.frames?.includes('compute'), `${wait?.waker?.frames}`);
		assert.equal(sumOf(ofChain(received, 'writer blocked < <irq: timer>')), 0);
	}));

test('what a waker ran, and what it waited for a CPU, is what the kernel counted for it', async () => {
	for (const options of [['--exact'], []])
		await checked('queues', 4, options, ({ received, run_ns, delay_ns, late_ns }) => {
			const did = (what: string) => ofChain(received, `writer ${what}`);
			const [queued, ran] = [did('waited_for_cpu'), did('ran')];
			assert.ok(delay_ns > 0.3 * run_ns, 'the hog takes its share of the CPU');
			const allowed_ns = late_ns + 0.03 * (run_ns + delay_ns);
			near(sumOf(queued), delay_ns, allowed_ns + 4 * errorOf(queued), 'waited for a CPU');
			near(sumOf(ran), run_ns, allowed_ns + 4 * errorOf(ran), 'ran');
		});
});

test('two processes away: the writer waited for the source, and that slept', async () => {
	await checked('relays', 4, [], ({ received, asked_ns, lost }) => {
		const chain = 'writer blocked < source blocked < <irq: timer>';
		const napped = ofChain(received, chain).filter(
			({ wait }) => wait?.waker?.wait?.kind === 'unix_socket',
		);
		const all = received.map((stack) => `${chainText(stack)}: ${stack.value}`);
		within(
			sumOf(napped),
			COUNT * WORK_NS,
			asked_ns,
			`blocked for a source that slept: ${all} ${JSON.stringify(lost)}`,
		);
		for (const stack of napped) {
			const [, source] = wakersOf(stack);
			assert.equal(source?.wait?.kind, 'sleep');
			assert.ok(source?.frames?.includes('doze'), `${source?.frames}`);
		}
	});
	await checked('relays', 2, [], ({ received }) => {
		const cut = ofChain(received, 'writer blocked < source');
		assert.ok(sumOf(cut) >= COUNT * WORK_NS, 'blocked for a source that is not followed');
	});
});

test('the parts of the waits add up to them', async () => {
	for (const options of [['--exact'], []])
		await checked('syncs', 4, options, ({ received, worked_ns, asked_ns, late_ns }) => {
			if (options.length > 0) near(sumOf(received, 'count'), COUNT, 1, 'waits');
			const bySource = received.filter((stack) =>
				/source (blocked|ran|waited)/.test(chainText(stack)),
			);
			const error_ns = 4 * errorOf(bySource);
			within(
				sumOf(bySource),
				worked_ns - late_ns - error_ns,
				asked_ns + error_ns,
				'blocked for the source',
			);
			assert.ok(sumOf(received) <= asked_ns + 4 * errorOf(received), 'no more than it took');
		});
});

test('who waits for a mutex waits for the one that has it, by way of those who had it in between', () =>
	checked('convoy', 6, ['-L'], ({ stacks, worked_ns, lost }) => {
		const locking = stacks.filter(
			({ key, frames }) => key.comm !== 'slow' && frames.some((name) => /mutex_lock/.test(name)),
		);
		const bySlow = locking.filter((stack) => {
			const wakers = wakersOf(stack);
			const slow = wakers.find(({ comm }) => comm === 'slow');
			return slow?.frames?.includes('doze') && wakers.at(-1)?.irq === 'timer';
		});
		const others = locking.filter((stack) => !bySlow.includes(stack));
		const rest = others.map((stack) => `${stack.key.comm} < ${chainText(stack)}: ${stack.value}`);
		const what = `four threads blocked for slow: ${rest.join(', ')} ${JSON.stringify(lost)}\n${shown(stacks)}`;
		within(sumOf(bySlow), 4 * COUNT * WORK_NS, 4 * worked_ns, what);
		assert.ok(sumOf(bySlow) <= sumOf(locking));
	}));

test('what is open as tracing ends is as long as --min and --max say', async () => {
	const workload = await Workload.start('chain', 'naps', '1');
	const args = ['offwaketime', '--hops', '2', '--json', '-p', `${workload.pid}`];
	const found = (...limits: string[]) => stackReport(tstrace([...args, ...limits, '0.3'])).stacks;
	assert.equal(found('--min', '100ms', '--max', '10s').length, 1);
	assert.deepEqual(found('--max', '100ms'), []);
	assert.deepEqual(found('--min', '10s'), []);
	await workload.end();
});

test('what ended while tracing is as long as --min and --max say, whatever wakers waited for', async () => {
	const run = (...limits: readonly string[]) => stacksOf('naps', 2, limits);
	const { received } = await run('--max', '10s');
	assert.ok(received.length > 0);
	assert.deepEqual((await run('--min', '10s')).stacks, []);
});

test('text says what each did, folded stacks have it in a row, and the last line who it was in the end', async () => {
	const { finished } = await traced('relays', '--hops', '4', '--format', 'text');
	assert.match(
		finished.stdout,
		/^ {4}woken by writer \(\d+\), which meanwhile was blocked: unix socket ↔ source/m,
	);
	assert.match(
		finished.stdout,
		/^ {4}woken by source \(\d+\), which meanwhile was blocked: sleep$/m,
	);
	assert.match(
		finished.stdout,
		/^ +\d.* ms +\d.* % {2}reader \(\d+\).*: receive → (anon_)?pipe_read\n +← source \(\d+\): doze → do_nanosleep \(was blocked\)$/m,
	);
	const { finished: folded } = await traced('relays', '--hops', '4', '--format', 'folded');
	const chains = foldedLines(folded.stdout).map(([frames]) => frames.join(';'));
	const wanted =
		/^reader;.*;receive;.*;--;.*;receive;.*;writer;--;.*;doze;.*;source;--;.*;<irq: timer>$/;
	assert.ok(
		chains.some((chain) => wanted.test(chain)),
		chains.join('\n'),
	);
});
