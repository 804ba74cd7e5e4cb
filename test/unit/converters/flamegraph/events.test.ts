/** Recordings of several events: a picture has one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inProcess } from '../../in-process.js';

/** So many samples of an event, in perf script's text, each in a function of its own. */
const samples = (event: string, count: number, period: number) =>
	Array.from(
		{ length: count },
		(_, i) => `app 12 1.00000${i}:  ${period} ${event}: \n\t1 ${event}_${i} (/a)\n\n`,
	).join('');

async function drawn(input: string, ...options: string[]) {
	const { stdout, stderr, status } = await inProcess(['flamegraph', ...options], input);
	assert.equal(status, 0, stderr);
	const functions = [...stdout.matchAll(/<title>(\w+_\d) \(/g)].map(([, name]) => name).sort();
	return { functions, said: stderr.replace(/\s+/g, ' ') };
}

test('the event with most samples is shown, whatever they count; the others are named', async () => {
	const parts = [samples('few', 1, 1_000_000), samples('most', 3, 1), samples('some', 2, 10)];
	for (const input of [parts.join(''), parts.toReversed().join('')]) {
		const { functions, said } = await drawn(input);
		assert.deepEqual(functions, ['most_0', 'most_1', 'most_2']);
		assert.equal(
			said,
			'note: shown: most; not shown: some (2 samples), few (1 samples); choose one with --event NAME ',
		);
	}
	const chosen = await drawn(parts.join(''), '--event', 'few');
	assert.deepEqual(chosen, { functions: ['few_0'], said: '' });
});

test('of which samples are not counted, the one with most stacks', async () => {
	const frames = ['f_0', 'f_1', 'g_0'].map((name) => ({ name }));
	const profile = (unit: string, ...stacks: number[]) => ({
		type: 'sampled',
		name: unit,
		unit,
		startValue: 0,
		endValue: 1,
		samples: stacks.map((frame) => [frame]),
		weights: stacks.map(() => 1000),
	});
	const profiles = [profile('bytes', 2), profile('seconds', 0, 1)];
	for (const each of [profiles, profiles.toReversed()]) {
		const { functions, said } = await drawn(JSON.stringify({ shared: { frames }, profiles: each }));
		assert.deepEqual(functions, ['f_0', 'f_1']);
		assert.equal(
			said,
			'note: shown: ns; not shown: bytes (1 stacks); choose one with --event NAME ',
		);
	}
});
