/** What is said of stacks that are not whole, and of how often something was sampled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutNotices, cutShare } from '../../../src/aggregate/cut-notices.js';
import { sameEvent, samplingText, withoutModifiers } from '../../../src/aggregate/sampled-event.js';
import type { StackRow } from '../../../src/aggregate/stack-rows.js';

const row = (value: number, more: Partial<StackRow> = {}): StackRow => ({
	...{ key: {}, frames: [], parts: [], value, count: 1, variance: 0 },
	...more,
});

test('each way to lack functions has a line of its own, with how many and how much', () => {
	const lines = {
		'no frame pointers': /are cut: .* no frame pointers \(-fno-omit-frame-pointer\)\.$/,
		'no table':
			/are cut: .* for the first time.* Once it has, stacks are whole; with -p it reads files before/,
		'no way on':
			/are cut: tstrace did not find which function called the last one that is shown\.$/,
		'too deep': /are cut: they have more frames than --max-depth\.$/,
	} as const;
	for (const [cut, line] of Object.entries(lines)) {
		const rows = [row(30), row(10, { cut: cut as StackRow['cut'] })];
		const [notice = '', ...none] = cutNotices(rows);
		assert.deepEqual(none, []);
		assert.match(notice, /^1 of 2 stacks \(25% of what is shown\) /);
		assert.match(notice, line);
	}
	const lack = cutNotices([row(1, { callerMissing: true }), row(2, { callerMissing: false })]);
	assert.equal(lack.length, 1);
	assert.match(lack[0] ?? '', /^1 of 2 stacks \(33%.* lack the function that called the C library/);
	assert.match(lack[0] ?? '', /that library has no frame pointers\.$/);
});

test('what is whole has no line, and what is less than a hundredth has none', () => {
	assert.deepEqual(cutNotices([]), []);
	assert.deepEqual(cutNotices([row(1), row(2)]), []);
	assert.deepEqual(cutNotices([row(990), row(9, { cut: 'too deep' })]), []);
	assert.equal(cutNotices([row(990), row(10, { cut: 'too deep' })]).length, 1, 'exactly one');
	assert.deepEqual(cutNotices([row(0, { cut: 'too deep' })]), [], 'of nothing there is no share');
});

test('nearly all is not all', () => {
	const percentOf = (whole: number, cut: number) =>
		/\((\S+) of/.exec(cutNotices([row(whole), row(cut, { cut: 'too deep' })])[0] ?? '')?.[1];
	assert.equal(percentOf(1, 999), '>99%');
	assert.equal(percentOf(0, 5), '100%');
	assert.equal(percentOf(10, 990), '99%');
	assert.equal(percentOf(1, 2), '67%');
	assert.equal(cutShare([row(3), row(1, { cut: 'no table' })]), 0.25);
	assert.equal(cutShare([row(3), row(1, { callerMissing: true })]), 0);
	assert.equal(cutShare([]), 0);
});

test('how often it was sampled, in words', () => {
	assert.equal(samplingText({ period: 1000 }), 'every 1000 events');
	assert.equal(samplingText({ frequency_hz: 99 }), '99 times a second');
	assert.equal(samplingText({}), undefined);
});

test('events are the same whatever they are restricted to', () => {
	for (const name of ['cycles', 'cycles:u', 'cycles:ppp', 'cycles:ukhIGHpPSDWeb'])
		assert.ok(sameEvent(name, 'cycles:k'), name);
	for (const name of ['cycles:x', 'cycles:', 'cpu:cycles', 'instructions:u', 'cycles:u:x'])
		assert.ok(!sameEvent(name, 'cycles'), name);
	assert.equal(withoutModifiers('sched:sched_switch:k'), 'sched:sched_switch');
});
