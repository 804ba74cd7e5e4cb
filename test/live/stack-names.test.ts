/** Names in stacks: of all sorts of programs, wherever they are and whether they still are. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { otherLosses, unseenIn } from './reports.js';
import {
	foldedLines,
	type StackReport,
	stackReport,
	sumOf,
	traceWork,
	withFrame,
} from './stacks.js';
import { Tracing, tstrace, Workload } from './support.js';

const BRIEF = resolve('build/workloads/brief');
const LATER = resolve('build/workloads/later');
const NAMES = resolve('build/workloads/names');

/** Not where containers have their own. */
const folder = mkdtempSync(join(tmpdir(), 'tstrace-names-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Every wait of a command and its children. */
function traceCommand(...command: readonly string[]): StackReport {
	return stackReport(tstrace(['offcputime', '--exact', '--follow', '--json', '--', ...command]));
}

/** What a workload does for a moment, by a tool that ends with its duration. */
async function traceFor(
	seconds: string,
	workload: Workload,
	...args: readonly string[]
): Promise<{ stdout: string; report: () => StackReport }> {
	const finished = await (await Tracing.start([...args, seconds])).end();
	await workload.end();
	return { stdout: finished.stdout, report: () => stackReport(finished) };
}

const DEMANGLED = ['in_c', 'shop::waitFor(int)', 'shop::queue::wait', 'shop::queue::serve'];

for (const tool of ['offcputime', 'profile']) {
	// Often enough that no function's turn passes between two samples.
	const rate = tool === 'profile' ? ['-F', '997'] : [];

	test(`${tool}: C, C++ and Rust`, async () => {
		const workload = await Workload.start('names');
		const args = [tool, ...rate, '-p', `${workload.pid}`, '--json'];
		const report = (await traceFor('1', workload, ...args)).report();
		for (const name of DEMANGLED) {
			assert.ok(withFrame(report.stacks, name).length > 0, name);
		}
	});

	test(`${tool}: control characters and semicolons do not come through`, async () => {
		for (const format of ['text', 'folded', 'json']) {
			const workload = await Workload.start('names', 'a;b\u001b[31m\n\u009b');
			const args = [tool, ...rate, '-p', `${workload.pid}`, '--format', format];
			const { stdout } = await traceFor('1', workload, ...args);
			assert.doesNotMatch(stdout, /[^\P{Cc}\n]/u, format);
			assert.match(stdout, /odd.*31m/);
			if (format === 'json') continue;
			if (format === 'text') assert.match(stdout, /a;b.*31m/);
			else for (const [[comm]] of foldedLines(stdout)) assert.match(comm ?? '', /^a:b.*31m/);
		}
	});
}

test('a program without symbols: offsets, and what to do about it', async () => {
	const workload = await Workload.start('waits-stripped', '20', '2000');
	const args = ['offcputime', '-t', `${workload.tid}`, '--exact', '--json'];
	const { finished } = await traceWork(workload, args);
	const { stacks, notices } = stackReport(finished);
	assert.ok(withFrame(stacks, /^waits-stripped\+0x[0-9a-f]+$/).length > 0);
	assert.match(notices.join('\n'), /waits-stripped/);
	assert.match(finished.stderr, /waits-stripped/);
});

test('a program that has ended, and one that it had become', () => {
	const { stacks, lost } = traceCommand(BRIEF, '20000', LATER, '30000');
	const before = withFrame(stacks, 'wait_briefly');
	const after = withFrame(stacks, 'wait_later');
	// Each waits five times.
	const seen = 5 - unseenIn(lost);
	assert.ok(sumOf(before) >= seen * 20e6 && sumOf(after) >= seen * 30e6);
	assert.deepEqual([before[0]?.key.comm, after[0]?.key.comm], ['brief', 'later']);
	assert.equal(before[0]?.key.pid, after[0]?.key.pid);
});

test('a program that is deleted while it runs', async () => {
	const path = join(folder, 'deleted');
	copyFileSync(NAMES, path);
	const workload = await Workload.startBy(path);
	rmSync(path);
	const args = ['offcputime', '-p', `${workload.pid}`, '--exact', '--json'];
	const { stacks } = (await traceFor('0.5', workload, ...args)).report();
	assert.ok(withFrame(stacks, 'shop::waitFor(int)').length > 0);
});

test('a program that only its own mount and PID namespaces have', async () => {
	const mounted = join(folder, 'mounted');
	mkdirSync(mounted);
	const name = `inside${process.pid}`;
	const script = 'mount -t tmpfs none "$1" && cp "$0" "$1/$2" && "$1/$2"; exit';
	const command = ['--mount', '--pid', '--fork', 'sh', '-c', script, NAMES, mounted, name];
	const workload = await Workload.startBy('unshare', ...command);
	assert.ok(workload.pid < 10, 'a number of that namespace');
	const args = ['offcputime', '--comm', name, '--exact', '--json'];
	const { stacks } = (await traceFor('0.5', workload, ...args)).report();
	assert.ok(withFrame(stacks, 'shop::waitFor(int)').length > 0);
	assert.ok(stacks.every(({ key }) => Number(key.pid) > 0 && key.pid !== workload.pid));
});

test('kernel threads have kernel frames only', () => {
	const report = stackReport(tstrace(['offcputime', '-k', '--json', '1']));
	assert.ok(report.stacks.length > 0);
	for (const { kinds, frames } of report.stacks) assert.match(kinds, /^k+$/, frames.join());
	assert.ok(withFrame(report.stacks, 'kthread').length > 0);
	for (const { frames } of report.stacks) assert.match(frames[0] ?? '', /^ret_from_fork/);
	assert.deepEqual(report.notices, []);
});

test('a storm of short processes: each has its name', () => {
	const PROCESSES = 300;
	const script = `for i in $(seq ${PROCESSES}); do "$0" 1000; done`;
	const { stacks, lost } = traceCommand('sh', '-c', script, BRIEF);
	assert.deepEqual(otherLosses(lost), {});
	const waits = withFrame(stacks, 'do_nanosleep').filter(({ key }) => key.comm === 'brief');
	for (const { frames } of waits) assert.ok(frames.includes('wait_briefly'), frames.join(';'));
	// On a busy machine the time may be over before it can sleep.
	const named = new Set(waits.map(({ key }) => key.pid)).size;
	assert.ok(named >= 0.98 * PROCESSES - unseenIn(lost), `${named} of ${PROCESSES}`);
});

const SCRIPT = `
	function burnInScript() { for (let i = 0, x = 0; i < 3e6; i++) x += Math.sqrt(i); }
	function main() { burnInScript(); setImmediate(main); }
	process.stdin.on('data', () => {}).on('end', () => process.exit());
	console.log('ready', process.pid, process.pid);
	main();
`;

/** On a CPU that is busy already, so that it is also seen to wait: where it runs, it is preempted. */
function startNode(...args: readonly string[]): Promise<Workload> {
	return Workload.startBy('taskset', '-c', '0', process.execPath, ...args, '-e', SCRIPT);
}

for (const tool of ['offcputime', 'profile']) {
	test(`${tool}: Node.js: its functions when it says what they are, and when it does not`, async () => {
		const hog = await Workload.start('hog', '0');
		const named = await startNode('--perf-basic-prof');
		after(() => rmSync(`/tmp/perf-${named.pid}.map`, { force: true }));
		const its = ['--json', '-p', `${named.pid}`];
		const report = (await traceFor('2', named, tool, ...its)).report();
		const { frames = [], kinds } = withFrame(report.stacks, /burnInScript/)[0] ?? {};
		const at = frames.findIndex((frame) => frame.includes('burnInScript'));
		assert.equal(kinds?.[at], 's', frames.join());

		const silent = await startNode();
		const silents = ['--json', '-p', `${silent.pid}`];
		const without = (await traceFor('1', silent, tool, ...silents)).report();
		await hog.end();
		const isKnown = process.versions.v8.startsWith('11.3.');
		const found = withFrame(without.stacks, 'burnInScript ([eval]:2)');
		assert.equal(found.length > 0, isKnown, without.notices.join('\n'));
		assert.equal(/--perf-basic-prof/.test(without.notices.join('\n')), !isKnown);
	});
}

test('a process that starts, waits and ends between two looks at who is there', async () => {
	const name = `briefly${process.pid}`;
	const path = join(folder, name);
	copyFileSync(BRIEF, path);
	const tracing = await Tracing.start(['offcputime', '--exact', '--comm', name, '--json']);
	const args = ['-c', '"$0" 5000; "$0" 5000; echo ready 0 0', path];
	await (await Workload.startBy('sh', ...args)).end();
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	const waits = withFrame(stacks, 'wait_briefly');
	assert.equal(new Set(waits.map(({ key }) => key.pid)).size, 2);
	// Longer than a word of the kernel's.
	for (const { key } of waits) assert.equal(key.comm, name);
});

test('with any number of mappings, all code is found', async () => {
	// Each node of the kernel's tree is full at some time, and each level of it begins.
	const workload = await Workload.start('mappings', '2000');
	const args = ['offcputime', '--exact', '--json', '-p', `${workload.pid}`];
	const { finished, done } = await traceWork(workload, args);
	const [slept = 0] = done;
	const { stacks, lost } = stackReport(finished);
	assert.deepEqual(otherLosses(lost), {});
	const naps = stacks.filter(({ frames }) => frames.includes('do_nanosleep'));
	const whole = withFrame(withFrame(naps, 'nap_among'), 'main').filter(({ cut }) => !cut);
	assert.ok(sumOf(naps, 'count') >= slept - unseenIn(lost));
	assert.equal(sumOf(whole, 'count'), sumOf(naps, 'count'), JSON.stringify(naps));
});
