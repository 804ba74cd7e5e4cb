/** Totals of threads: what is not known is not 0, and numbers are used again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ThreadName } from '../../../src/kit/thread-names.js';
import { ThreadTotals } from '../../../src/kit/thread-totals.js';

const nobody = new Uint8Array();
const named = (tid: number, text: string): ThreadName => ({
	tgid: tid,
	tid,
	comm: [0, 0, 0, 0],
	text,
	plain: nobody,
	padded: nobody,
});

function columns(totals: ThreadTotals, name: string): string[] | undefined {
	const lines = totals.render().split('\n');
	return lines
		.find((line) => line.startsWith(`${name} `))
		?.split(/ +/)
		.slice(1);
}

test('a run time that is not known is in no minimum, mean or deviation', () => {
	const totals = new ThreadTotals();
	const name = named(7, 'a[7]');
	totals.of(name).add(0, 0, 0, undefined);
	assert.deepEqual(columns(totals, 'a[7]')?.slice(0, 6), ['1', ...Array(4).fill('0.000'), '0.00']);
	totals.of(name).add(0, 0, 0, 2e6);
	totals.of(name).add(1, 1e6, 1e5, 4e6);
	assert.deepEqual(columns(totals, 'a[7]'), [
		...['3', '6.000', '2.000', '3.000', '4.000', '23.57'],
		...['1.000', '0.100', '1'],
	]);
});

test('a number that is used again is another row', () => {
	const totals = new ThreadTotals();
	totals.of(named(7, 'a[7]')).add(0, 0, 0, 1e6);
	totals.ends(7);
	totals.of(named(7, 'b[7]')).add(0, 0, 0, 2e6);
	assert.equal(columns(totals, 'a[7]')?.[1], '1.000');
	assert.equal(columns(totals, 'b[7]')?.[1], '2.000');
	assert.match(totals.render(), /^2 threads, 2 switches, 3\.000 ms run$/m);
});
