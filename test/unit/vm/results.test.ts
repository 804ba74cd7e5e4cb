import assert from 'node:assert/strict';
import { test } from 'node:test';
import { featureNames, isDue, isSince } from '../../vm/features.js';
import {
	decode,
	encode,
	type Facts,
	type Hook,
	type Line,
	type TestResult,
} from '../../vm/lines.js';
import { MACHINES, TOOLS } from '../../vm/matrix.js';
import { failed, page, resultOf, table } from '../../vm/results.js';

const FEATURES_OF_5_10 = {
	get_current_task_btf: false,
	'calls at perf tracepoints': false,
	'a ring buffer': true,
	'task storage': false,
	kprobes: true,
	sched_exit_tp: false,
};

function facts(features: Readonly<Record<string, boolean>> = FEATURES_OF_5_10): Line {
	const release = '5.10.0-46-cloud-amd64';
	return { type: 'facts', release, arch: 'x64', realtime: false, features };
}

const HOOK: Line = {
	type: 'hook',
	tool: 'runqlat',
	because: 'by books',
	began: true,
	stderr: '',
	kernel_bytes: 1 << 20,
};

function result(name: string, changes: Partial<TestResult> = {}): TestResult {
	return { type: 'test', tool: 'runqlat', name, result: 'passed', why: '', ms: 1, ...changes };
}

function resultsOf(lines: readonly Line[], incomplete?: string) {
	return resultOf('5.10', lines, { extent: 'all,runqlat', seconds: 1, incomplete });
}

const skip = (why: string) => result('b', { result: 'skipped', why });

test('what passed and what the kernel lacks', () => {
	const found = resultsOf([facts(), HOOK, result('a'), skip('needs task storage')]);
	assert.equal(failed(found), false);
	assert.match(
		table([found]),
		/^5\.10\.0-46-cloud-amd64 x64 +runqlat +1 passed; 1 needs task storage +by books$/m,
	);
	assert.match(
		page([found]),
		/^\| `runqlat` \| 1 passed; 1 needs task storage \| 1.0 MB \| by books \|$/m,
	);
});

test('what passes at the second try is said to; what fails twice has failed', () => {
	const fails = result('a', { result: 'failed', why: 'late' });
	const found = resultsOf([facts(), HOOK, fails, result('b'), result('a', { again: true })]);
	assert.equal(failed(found), false);
	assert.match(table([found]), /2 passed, 1 of them at the second try/);
	const twice = resultsOf([facts(), HOOK, fails, result('b'), { ...fails, again: true }]);
	assert.equal(failed(twice), true);
	assert.match(table([twice]), /1 FAILED; 1 passed/);
});

for (const [what, lines, says] of [
	[
		'a failure',
		[facts(), HOOK, result('a', { result: 'failed', why: '1 is not 2' })],
		/a: 1 is not 2/,
	],
	[
		'a skip for what the kernel has',
		[facts(), HOOK, skip('needs kprobes')],
		/skipped because it needs kprobes, but this kernel has it/,
	],
	['a skip without a feature', [facts(), HOOK, skip('too slow')], /too slow/],
	[
		'a tool that does not begin',
		[facts(), { ...HOOK, began: false }, result('a')],
		/did not start/,
	],
	['a tool without tests', [facts(), HOOK], /none of its tests ran/],
	[
		'what the kernel warns of',
		[
			facts(),
			HOOK,
			result('a'),
			{ type: 'warnings', lines: ['[9.1] BUG: scheduling while atomic'] },
		],
		/5\.10: \[9\.1\] BUG: scheduling while atomic/,
	],
	['no word of the kernel', [HOOK, result('a')], /did not report its kernel/],
	[
		'a feature that should not be there',
		[facts({ ...FEATURES_OF_5_10, 'task storage': true }), HOOK, result('a')],
		/task storage came with 6\.4, but 5\.10\.0-46-cloud-amd64 has it/,
	],
	[
		'a feature that is not there',
		[{ ...(facts() as Facts), release: '6.12.95+deb12-cloud-amd64' }, HOOK, result('a')],
		/task storage came with 6\.4, but 6\.12\.95\+deb12-cloud-amd64 does not have it/,
	],
] as ReadonlyArray<readonly [string, readonly Line[], RegExp]>) {
	test(`${what} is a failure`, () => {
		const found = resultsOf(lines);
		assert.equal(failed(found), true);
		assert.match(table([found]), says);
	});
}

/** Of offcputime on a kernel that has all that is its due. */
function offcputimeOn(release: string, because: string, realtime = false) {
	const features = featureNames.map((name) => [name, isDue(name, { release, realtime })]);
	const tool = 'offcputime';
	return resultOf(
		'x',
		[
			{ type: 'facts', release, arch: 'x64', realtime, features: Object.fromEntries(features) },
			{ type: 'hook', tool, because, began: true, stderr: '', kernel_bytes: 1 << 20 },
			result('a', { tool }),
		],
		{ extent: 'all,offcputime', seconds: 1, incomplete: undefined },
	);
}

test('offcputime keeps threads in task storage since 6.4, or the run fails', () => {
	const [hash, storage] = ['by a; keeps threads in a hash', 'by a; keeps threads in task storage'];
	assert.equal(failed(offcputimeOn('6.1.0-56-cloud-amd64', hash)), false);
	assert.equal(failed(offcputimeOn('6.12.95+deb12', storage)), false);
	assert.equal(failed(offcputimeOn('7.2.13+deb14', storage)), false);
	const fallen = offcputimeOn('6.12.95+deb12', hash);
	assert.equal(failed(fallen), true);
	assert.match(
		table([fallen]),
		/6\.12\.95\+deb12 has task storage, and it does not say "keeps threads in task storage"/,
	);
	assert.equal(failed(offcputimeOn('6.12.95+deb12-rt-amd64', storage, true)), false);
	const early = offcputimeOn('6.1.0-56', storage);
	assert.match(table([early]), /6\.1\.0-56 lacks task storage, and it says "keeps threads in/);
});

test('a tool that holds more than 64 MB of the kernel’s memory fails', () => {
	const holding = (MB: number) =>
		resultsOf([facts(), { ...HOOK, kernel_bytes: MB * 2 ** 20 } as Line, result('a')]);
	assert.equal(failed(holding(63.9)), false);
	assert.match(page([holding(63.9)]), /\| 1 passed \| 63\.9 MB \| by books \|/);
	assert.match(table([holding(64.1)]), /runqlat: it holds 64\.1 MB of the kernel's memory/);
});

test('a tool that needs what the kernel lacks has to refuse, and say what to use', () => {
	const lacks = { ...FEATURES_OF_5_10, 'a ring buffer': false };
	const on = (hook: Partial<Hook>) =>
		resultOf(
			'5.10-rt',
			[
				{ type: 'facts', release: '5.10.0-46-rt', arch: 'x64', realtime: true, features: lacks },
				{
					type: 'hook',
					tool: 'timehist',
					because: '',
					began: false,
					stderr: '',
					kernel_bytes: 0,
					...hook,
				},
			],
			{ extent: 'one,timehist', seconds: 1, incomplete: undefined },
		);
	const refused = on({ stderr: 'tstrace timehist: it could freeze the machine; use schedlat' });
	assert.equal(failed(refused), false);
	assert.match(page([refused]), /\| refuses to run without a ring buffer \|/);
	for (const wrong of [{ began: true }, { stderr: 'tstrace timehist: no such program' }])
		assert.match(table([on(wrong)]), /timehist: it does not refuse to run, without a ring buffer/);
});

test('a machine that does not get to its end is a failure', () => {
	const found = resultsOf([facts(), HOOK, result('a')], 'not done after 900 s');
	assert.equal(failed(found), true);
	assert.match(table([found]), /5\.10: not done after 900 s/);
});

test('lines are found on a console among others, and only whole ones', () => {
	const line = result('a "b"\n@@tstrace');
	assert.deepEqual(decode(`\r[ 0.1] noise ${encode(line).trimEnd()}`), line);
	assert.equal(encode(line).indexOf('\n'), encode(line).length - 1);
	assert.equal(decode('booting'), undefined);
	assert.equal(decode(encode(line).slice(0, 30)), undefined);
});

test('versions are compared as numbers', () => {
	assert.equal(isSince('5.10.0-46', '5.9'), true);
	assert.equal(isSince('5.10.0-46', '5.11'), false);
	assert.equal(isSince('6.1.0', '5.12'), true);
	assert.equal(isSince('7.2.13+deb14', '6.14'), true);
});

test('no machine or tool is there twice', () => {
	assert.equal(new Set(MACHINES.map(({ name }) => name)).size, MACHINES.length);
	assert.equal(new Set(TOOLS.map(({ tool }) => tool)).size, TOOLS.length);
});
