/** When a mutant counts as caught. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeAll, type TestRun, whyNoJudge } from '../../mutants/judge.js';
import type { TestResult } from '../../vm/lines.js';

const result = (name: string, what: TestResult['result'], why = ''): TestResult => ({
	type: 'test',
	tool: '',
	name,
	result: what,
	why,
	ms: 1,
});

const run = (...results: TestResult[]): TestRun => ({
	results,
	hung: false,
	status: results.some((each) => each.result === 'failed') ? 1 : 0,
	ms: 1000,
	left: [],
});

const PASSED = run(result('a', 'passed'), result('b', 'skipped'));
const FAILED = run(result('a', 'passed'), result('b', 'failed', 'Error: 3 is not 4\nat x'));

test('a test that fails has caught it; one that passes has not', () => {
	assert.deepEqual(judgeAll([FAILED]), { is: 'caught', why: '“b”' });
	assert.deepEqual(judgeAll([PASSED]), { is: 'survived', why: '' });
});

test('a test that passes once of several times has not caught it', () => {
	assert.equal(judgeAll([FAILED, FAILED]).is, 'caught');
	assert.equal(judgeAll([FAILED, PASSED]).is, 'survived');
	assert.equal(judgeAll([PASSED, FAILED]).is, 'survived');
	assert.equal(judgeAll([]).is, 'unfit');
});

test('a hang, a crash, and what is left behind are caught, and the words say which', () => {
	const hung = judgeAll([{ ...PASSED, hung: true, status: null, ms: 90_000 }]);
	assert.deepEqual(hung, { is: 'caught', why: 'it had not ended after 90 s' });
	const crashed = judgeAll([{ ...run(), status: null }]);
	assert.deepEqual(crashed, { is: 'caught', why: 'the test runner ended with a signal' });
	const left = judgeAll([{ ...PASSED, left: ['processes: hog', 'in the kernel: program 7'] }]);
	assert.deepEqual(left, {
		is: 'caught',
		why: 'it left behind processes: hog; in the kernel: program 7',
	});
});

test('a program that the verifier refuses says nothing about a test', () => {
	const refused = run(
		result('a', 'failed', "tstrace ended: the kernel's verifier refused BPF program x (EINVAL): …"),
	);
	assert.deepEqual(judgeAll([refused]), { is: 'unfit', why: "the kernel's verifier refuses it" });
});

test('a test judges only if it passes without a mutant, and if it runs at all', () => {
	assert.equal(whyNoJudge(PASSED), undefined);
	assert.equal(whyNoJudge(FAILED), 'its test fails without it, too: “b”: Error: 3 is not 4');
	assert.equal(whyNoJudge(run()), 'no test of that name ran');
	assert.equal(whyNoJudge(run(result('a', 'skipped'))), 'no test of that name ran');
	assert.match(whyNoJudge({ ...PASSED, left: ['mounts: 1'] }) ?? '', /mounts: 1/);
});
