/** Which objects a kind of wait can be for, and their sums. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	fittingObjects,
	mergeObjects,
	type ObjectShare,
	type WaitObject,
} from '../../../src/aggregate/wait-object.js';

const share = (object: WaitObject, value: number, count = 3, variance = 5): ObjectShare => ({
	object,
	value,
	count,
	variance,
});
const file: WaitObject = { type: 'file', path: '/a' };
const mapped: WaitObject = { type: 'file', path: '/b', mapped: true };
const unknown: WaitObject = { type: 'unknown', why: 'one of several' };
const child: WaitObject = { type: 'child', pid: 7, comm: 'make' };

test('what a call is about is no object of a wait for something else', () => {
	const all = [share(file, 10), share(mapped, 20), share(unknown, 30), share(child, 40)];
	const of = (kind: string) => fittingObjects(kind, all).map(({ object }) => object);
	assert.deepEqual(of('disk read'), [unknown, file]);
	assert.deepEqual(of('page fault'), [unknown, mapped]);
	assert.deepEqual(of('child'), [child, unknown]);
	assert.deepEqual(of('memory reclaim'), []);
	assert.deepEqual(of('other: anything'), []);
});

test('the same object is added up: values, counts and variances; the largest comes first', () => {
	const sums = mergeObjects([
		share(file, 10, 1, 2),
		share(child, 25),
		share({ ...file }, 20, 4, 8),
		share(unknown, 40),
	]);
	assert.deepEqual(sums, [share(unknown, 40), share(file, 30, 5, 10), share(child, 25)]);
});

test('of one object there is one share, with all of them', () => {
	const shares = [share(file, 10, 1, 2), share(file, 20, 4, 8), share(file, 5, 2, 1)];
	assert.deepEqual(mergeObjects(shares), [share(file, 35, 7, 11)]);
	assert.deepEqual(mergeObjects([]), []);
});

const OBJECTS: Readonly<Record<string, WaitObject>> = {
	...{ file, mapped, unknown, child },
	device: { type: 'device', path: '/dev/tty1' },
	pipe: { type: 'pipe', end: 'read', path: '', inode: 7, other_end: [] },
	unix: { type: 'unix socket', path: '', inode: 7, peer_inode: 8, other_end: [] },
	socket: { type: 'socket', protocol: 'tcp', local: 'a:1', remote: 'b:2', other_end: [] },
	event: { type: 'event', name: '[eventfd]' },
	futex: { type: 'futex', pid: 7, address: '0x7f00', in: '' },
};

/** What a thread can have waited for, by the kind of its wait: a listening socket may be of either kind. */
const FITTING: Readonly<Record<string, string>> = {
	'disk read': 'file unknown device',
	'disk write': 'file unknown device',
	disk: 'file unknown device',
	'page fault': 'mapped unknown',
	'swap-in': '',
	'file lock': 'file unknown device',
	'file server': 'file unknown device',
	terminal: 'unknown device',
	pipe: 'unknown pipe',
	'unix socket': 'unknown unix',
	'socket accept': 'unknown unix socket',
	'socket connect': 'unknown unix socket',
	'socket receive': 'unknown socket',
	'socket send': 'unknown socket',
	poll: 'file unknown device pipe unix socket event',
	event: 'unknown event',
	futex: 'futex',
	lock: 'futex',
	condition: 'futex',
	child: 'unknown child',
	sleep: '',
};

test('each kind of wait is for its own kinds of objects', () => {
	for (const [kind, names] of Object.entries(FITTING)) {
		const found = fittingObjects(
			kind,
			Object.values(OBJECTS).map((object) => share(object, 1)),
		);
		const wanted = new Set(names.split(' '));
		assert.deepEqual(
			found.map(({ object }) => object),
			Object.entries(OBJECTS).flatMap(([name, object]) => (wanted.has(name) ? object : [])),
			kind,
		);
	}
});
