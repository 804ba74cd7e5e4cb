/** What wakers did while others waited for them: offwaketime --hops, where that is known by construction. */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { foldedLines, type JsonStack, type JsonWaker, near, stackReport, sumOf } from './stacks.js';
import { Tracing, Workload } from './support.js';

const folder = realpathSync(mkdtempSync('build/chains-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const COUNT = 30;
/** The first wait of each is before its waker is followed. */
const FOLLOWED = COUNT - 1;
const WORK_NS = 20e6;

async function traced(way: string, ...options: readonly string[]) {
	const workload = await Workload.start('chain', way, `${COUNT}`, folder);
	const args = ['offwaketime', '--no-edges', '-p', `${workload.pid}`, ...options];
	const tracing = await Tracing.start(args);
	const [worked_ns = 0] = await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	return { finished, worked_ns };
}

async function stacksOf(way: string, hops: number, ...options: readonly string[]) {
	const { finished, worked_ns } = await traced(way, '--hops', `${hops}`, '--json', ...options);
	const { stacks, lost } = stackReport(finished);
	assert.deepEqual(
		Object.keys(lost).filter((cause) => cause !== 'waits_unseen'),
		[],
	);
	return { worked_ns, stacks, received: stacks.filter(({ frames }) => frames.includes('receive')) };
}

/** Who was waited for, one behind the other, and what they did. */
function wakersOf({ waker }: JsonStack): JsonWaker[] {
	const wakers: JsonWaker[] = [];
	for (let each = waker; each; each = each.waker) wakers.push(each);
	return wakers;
}

/** "writer was_blocked in doze": whom the last one waited for, too. */
const chainText = (stack: JsonStack) =>
	wakersOf(stack)
		.map(({ comm, did }) => (did ? `${comm} ${did}` : comm))
		.join(' < ');

const ofChain = (stacks: readonly JsonStack[], text: string) =>
	stacks.filter((stack) => chainText(stack) === text);

/** Not the first wait, and what the machine's other work takes from those of the workload. */
const share = (value: number, of: number, least: number, what: string) =>
	assert.ok(value >= least * of && value <= 1.001 * of, `${what}: ${value} of ${of}`);

test('a waker that slept is said to have been blocked, where it was, and by what it was woken', async () => {
	const { received } = await stacksOf('naps', 4);
	const napped = ofChain(received, 'writer was_blocked < <irq: timer>');
	share(sumOf(napped), sumOf(received), 0.8, 'blocked for a writer that slept');
	assert.ok(sumOf(napped) > 0.9 * FOLLOWED * WORK_NS);
	for (const stack of napped) {
		const [writer] = wakersOf(stack);
		assert.equal(writer?.wait_kind, 'sleep');
		assert.ok(writer?.frames?.includes('doze') && writer.frames.includes('run_writer'));
		// Where it was blocked, not where it woke the reader.
		assert.ok(!writer.frames.some((name) => name.includes('write_')), `${writer.frames}`);
	}
});

test('a waker that computed is said to have run, or to have waited for a CPU', async () => {
	const { received } = await stacksOf('computes', 4);
	const ran = ofChain(received, 'writer ran');
	const queued = ofChain(received, 'writer waited_for_a_CPU');
	share(sumOf(ran) + sumOf(queued), sumOf(received), 0.8, 'blocked for a writer that computed');
	for (const { waker } of ran) assert.ok(waker?.frames?.includes('compute'), `${waker?.frames}`);
	assert.equal(sumOf(ofChain(received, 'writer was_blocked < <irq: timer>')), 0);
});

test('two processes away: the writer waited for the source, and that slept', async () => {
	const { received, worked_ns } = await stacksOf('relays', 4);
	const chain = 'writer was_blocked < source was_blocked < <irq: timer>';
	const napped = ofChain(received, chain);
	share(sumOf(napped), sumOf(received), 0.8, 'blocked for a source that slept');
	assert.ok(sumOf(napped) < worked_ns);
	for (const stack of napped) {
		const [writer, source] = wakersOf(stack);
		assert.equal(writer?.wait_kind, 'unix socket');
		assert.equal(source?.wait_kind, 'sleep');
		assert.ok(source?.frames?.includes('doze'), `${source?.frames}`);
	}
	const { received: shorter } = await stacksOf('relays', 2);
	const cut = ofChain(shorter, 'writer was_blocked < source');
	share(sumOf(cut), sumOf(shorter), 0.8, 'blocked for a source that is not followed');
});

test('the parts of the waits add up to them', async () => {
	for (const options of [['--exact'], []]) {
		const { received, worked_ns } = await stacksOf('syncs', 4, ...options);
		// The reader receives all the time while the source syncs, and no more than a little beside.
		assert.ok(sumOf(received) > 0.9 * worked_ns, `${sumOf(received)} of ${worked_ns}`);
		near(sumOf(received, 'count'), COUNT, COUNT / 10, 'waits');
		const bySource = received.filter((stack) => /source (was|ran|waited)/.test(chainText(stack)));
		share(sumOf(bySource), sumOf(received), 0.8, 'blocked for the source');
	}
});

test('who waits for a mutex waits for the one that has it, by way of those who had it in between', async () => {
	const { stacks } = await stacksOf('convoy', 6, '-L');
	const locking = stacks.filter(
		({ key, frames }) => key.comm !== 'slow' && frames.some((name) => /mutex_lock/.test(name)),
	);
	const bySlow = locking.filter((stack) => {
		const wakers = wakersOf(stack);
		const slow = wakers.find(({ comm }) => comm === 'slow');
		return slow?.frames?.includes('doze') && wakers.at(-1)?.irq === 'timer';
	});
	share(sumOf(bySlow), sumOf(locking), 0.9, 'blocked for slow');
	assert.ok(sumOf(bySlow) > 3.5 * 0.9 * COUNT * WORK_NS, 'four threads at a time');
});

test('text says what each did, folded stacks have it in a row, and the last line who it was in the end', async () => {
	const { finished } = await traced('relays', '--hops', '4', '--format', 'text');
	assert.match(
		finished.stdout,
		/^ {4}woken by writer \(\d+\), which meanwhile was blocked: unix socket$/m,
	);
	assert.match(
		finished.stdout,
		/^ {4}woken by source \(\d+\), which meanwhile was blocked: sleep$/m,
	);
	assert.match(
		finished.stdout,
		/^ +\d.* ms +\d.* % {2}reader \(\d+\).*: receive → anon_pipe_read\n +← source \(\d+\): doze → do_nanosleep \(was blocked\)$/m,
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
