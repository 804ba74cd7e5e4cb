/** The kind and the object of a wait in the first line of an entry, or below it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackRow } from '../../../src/aggregate/stack-rows.js';
import { blockedForText, kindAndObject } from '../../../src/waits/label.js';

const row: StackRow = {
	key: {},
	frames: ['__x64_sys_futex', 'do_futex', 'futex_wait'].map((name) => ({ name, kind: 'kernel' })),
	parts: [5, 0],
	value: 5,
	count: 1,
	variance: 0,
	objects: [
		{
			object: {
				type: 'futex',
				pid: 7,
				address: '0x4050',
				in: 'left_mutex',
				owner: { tid: 19, comm: 'left' },
			},
			value: 5,
			count: 1,
			variance: 0,
		},
	],
};

test('who has a mutex stands beside its name, in the first line or below it', () => {
	const whole = 'left_mutex, held by left (19)';
	for (let room = 5; room < 80; room++) {
		const { text, below } = kindAndObject(row, ['blocked', 'runnable'], room);
		assert.equal(below ?? text.slice(-whole.length), whole, `${room}: ${text}`);
	}
});

test('as many characters as there is room for are in the first line', () => {
	const parts = ['blocked', 'runnable'];
	const { text } = kindAndObject(row, parts, 80);
	assert.deepEqual(kindAndObject(row, parts, text.length), { text });
});

test('what mostly waited for a CPU is not for the object of the little that it was blocked for', () => {
	const parts = ['blocked', 'run queue', 'preempted'];
	const textOf = (...values: readonly number[]) => {
		const { text, below = '' } = kindAndObject({ ...row, parts: values }, parts, 80);
		return text + below;
	};
	assert.match(textOf(3, 2, 0), /left_mutex/);
	assert.doesNotMatch(textOf(2, 3, 0), /left_mutex/);
	assert.doesNotMatch(textOf(2, 0, 3), /left_mutex/);
});

test('of a waker that was blocked: its kind and its object have a line of 72 characters', () => {
	const share = (path: string) => ({ object: { type: 'file', path } as const, value: 1, count: 1 });
	for (let length = 40; length < 90; length++) {
		const path = `/${'d'.repeat(length)}/file`;
		const frames = [{ name: 'fsync', kind: 'kernel' as const }];
		const text = blockedForText({ key: {}, frames, objects: [{ ...share(path), variance: 0 }] });
		const [kind = ''] = text.split(' /');
		const whole = `${kind} ${path}`;
		if (whole.length <= 72) assert.equal(text, whole);
		else assert.ok(text !== whole && text.length <= 72, `${text.length}: ${text}`);
	}
});

test('of a waker whose stack is shown in part the whole stack tells what it was blocked by', () => {
	const kernel = (...names: readonly string[]) =>
		names.map((name) => ({ name, kind: 'kernel' as const }));
	const walked = kernel('vfs_read', 'pipe_read', 'schedule');
	assert.equal(blockedForText({ key: {}, frames: kernel('schedule'), walked }), 'pipe');
});
