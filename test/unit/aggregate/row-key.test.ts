/** What rows are apart by, in the order in which it is said. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apartOf, withoutApart } from '../../../src/aggregate/row-key.js';

const OWNER = { pid: 812, tid: 813, comm: 'shop' };

test('the outermost first, without whose it is; the kind of a place is said with it, once', () => {
	assert.deepEqual(apartOf(OWNER), []);
	const wait = { waker: 'cron', object: '/srv/a', kind: 'lock', part: 'blocked' };
	assert.deepEqual(apartOf({ ...OWNER, ...wait }), ['blocked', 'lock', '/srv/a', 'cron']);
	assert.deepEqual(apartOf({ ...OWNER, ...wait, memory: 'heap', place: 2 }), [
		'2: lock',
		'heap',
		'blocked',
		'/srv/a',
		'cron',
	]);
	assert.deepEqual(withoutApart({ ...OWNER, ...wait, memory: 'heap', place: 2 }), OWNER);
});
