import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallTotals, TOTALS_ORDERS } from '../../../../src/tools/trace/totals.js';

test('the table begins with the most time, calls or errors, or by name', () => {
	const totals = new CallTotals();
	totals.add('read', false, 100);
	totals.add('read', false, 100);
	totals.add('close', false, 5000);
	totals.add('openat', true, 20);
	totals.add('access', true, 10);
	totals.add('access', true, 10);
	const orders = TOTALS_ORDERS.map((order) => [
		order,
		totals
			.rows(order)
			.map(({ syscall }) => syscall)
			.join(' '),
	]);
	assert.deepEqual(Object.fromEntries(orders), {
		time: 'close read access openat',
		calls: 'access read close openat',
		errors: 'access openat read close',
		name: 'access close openat read',
	});
});
