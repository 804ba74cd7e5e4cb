import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSince } from '../../vm/features.js';
import { decode, encode, type Line, type TestResult } from '../../vm/lines.js';
import { MACHINES, TOOLS } from '../../vm/matrix.js';
import { failed, page, resultOf, table } from '../../vm/results.js';

const FEATURES_OF_5_10 = {
	get_current_task_btf: false,
	'calls at perf tracepoints': false,
	'task storage': false,
	kprobes: true,
	sched_exit_tp: false,
};

function facts(features: Readonly<Record<string, boolean>> = FEATURES_OF_5_10): Line {
	return { type: 'facts', release: '5.10.0-46-cloud-amd64', arch: 'x64', features };
}

const HOOK: Line = { type: 'hook', tool: 'runqlat', because: 'by books', began: true, stderr: '' };

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
	assert.match(page([found]), /^\| `runqlat` \| 1 passed; 1 needs task storage \| by books \|$/m);
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
	['no word of the kernel', [HOOK, result('a')], /did not report its kernel/],
	[
		'a feature that should not be there',
		[facts({ ...FEATURES_OF_5_10, 'task storage': true }), HOOK, result('a')],
		/task storage came with 5\.12, but 5\.10\.0-46-cloud-amd64 has it/,
	],
] as ReadonlyArray<readonly [string, readonly Line[], RegExp]>) {
	test(`${what} is a failure`, () => {
		const found = resultsOf(lines);
		assert.equal(failed(found), true);
		assert.match(table([found]), says);
	});
}

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
