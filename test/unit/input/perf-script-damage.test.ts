/** perf script text that is damaged, strange, or made up: a result, or an error for the user. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { profileTotal } from '../../../src/aggregate/stack-profile.js';
import { MAX_STACK_FRAMES } from '../../../src/aggregate/stack-table.js';
import { TstraceError } from '../../../src/errors.js';
import { anyText } from '../any-text.js';
import { folded, read } from './perf-text.js';

test('a name with a newline in it does not begin another sample', async () => {
	const { profiles, notices } = await read(
		'ab 12 3.5: 7 c: \n\t1 odd\n+0x48 12 (/x)\n\t2 main+0x8 (/x)\n\n',
	);
	assert.equal(folded(profiles[0]), 'ab;main;odd 7\n');
	assert.match(notices.join(), /^left out 1 of 4 lines.*line 3\)$/);
});

test('what fits nothing is left out, and it is said', async () => {
	const { profiles, notices } = await read(
		'\t1 cut (/x)\nab 12 3.5: c: \n\t1 f (/x)\n\twhat is this\n\nhello world\n\n',
	);
	assert.equal(folded(profiles[0]), 'ab;f 1\n');
	assert.deepEqual(notices, [
		'left out 3 of 5 lines: they are neither a sample nor a frame (the first: line 1)',
	]);
});

const REFUSED: ReadonlyArray<readonly [what: string, text: string, said: RegExp]> = [
	['only a header', '# ========\n# hostname : h\n# ========\n#\n', /there is no sample/],
	['addresses alone', '\t1 f\n\t2 g\n\n', /no line of it begins a sample/],
	['prose', 'Once upon a time\nthere was a tracer\n', /no line of it begins a sample/],
	[
		'too deep',
		`ab 12 3.5: c: \n${'\t1 f (/x)\n'.repeat(MAX_STACK_FRAMES)}`,
		/line 65537 has more than 65536 frames/,
	],
];

for (const [what, text, said] of REFUSED) {
	test(`refused: ${what}`, async () => {
		await assert.rejects(read(text), (error: Error) => {
			assert.ok(error instanceof TstraceError);
			assert.match(error.message, said);
			return true;
		});
	});
}

test('a line of a megabyte of anything takes no time', async () => {
	for (const unit of [
		'a',
		'(',
		' ',
		'[',
		'+0x1',
		' (',
		'->',
		'1 ',
		': ',
		').',
		'.(',
		'"',
		';',
		'L/',
	]) {
		const long = unit.repeat((1 << 20) / unit.length);
		await read(`ab 12 3.5: c: \n\t1 ${long}\n\t1 ${long} (${long})\n${long}\n  ${long}\n\n`);
		await read(`ab 12 3.5: c: ${long}\nab 12 3.5: ${long}\nab ${long}`);
	}
});

const fragment = fc.oneof(
	fc.constantFrom(
		...['ab', '12', '7/12', '[000]', '3.5:', 'cycles:', '\t', '\n', '\n\n', ' ', '  ', '# ', '->'],
		...[
			'1f ',
			'main+0x1',
			'(/x)',
			'([unknown])',
			'[unknown]',
			'PERF_RECORD_COMM',
			'\u0000',
			'\r\n',
		],
	),
	anyText({ maxLength: 8 }),
);

test('any text: a result or a TstraceError', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fragment, { maxLength: 60 }),
			fc.boolean(),
			fc.integer({ min: 1, max: 100 }),
			async (fragments, addresses, bytes) => {
				const text = fragments.join('');
				try {
					const { profiles } = await read(text, { addresses, identify: 'tid' }, bytes);
					for (const profile of profiles) {
						assert.ok(profileTotal(profile) >= 0);
						for (const line of folded(profile).trimEnd().split('\n')) assert.match(line, / \d+$/);
					}
				} catch (error) {
					assert.ok(error instanceof TstraceError, String(error));
				}
			},
		),
		{ numRuns: 2000 },
	);
});

const sample = fc.record({
	comm: fc.stringMatching(/^[a-z][a-zA-Z0-9_:#/. -]{0,12}[a-zA-Z]$/),
	pid: fc.integer({ min: 1, max: 4194304 }),
	period: fc.integer({ min: 1, max: 2 ** 31 }),
	event: fc.constantFrom('cycles', 'cpu-clock:ppp', 'sched:sched_switch'),
	frames: fc.array(fc.stringMatching(/^[a-z_][a-zA-Z0-9_:~<>]{0,20}$/), { maxLength: 12 }),
});

test('whatever was recorded: sums and numbers of samples by event are those of the text', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(sample, { minLength: 1, maxLength: 30 }),
			fc.integer({ min: 1, max: 500 }),
			async (samples, bytes) => {
				const text = samples
					.map(({ comm, pid, period, event, frames }) => {
						const lines = frames.map((name, i) => `\t${`${i}`.padStart(16)} ${name}+0x${i} (/x)\n`);
						return `${comm} ${pid}/${pid} [000] 12.345678: ${`${period}`.padStart(10)} ${event}: \n${lines.join('')}\n`;
					})
					.join('');
				const { profiles } = await read(text, {}, bytes);
				for (const profile of profiles) {
					const own = samples.filter(({ event }) => event === profile.origin.event);
					assert.equal(profile.samples, own.length);
					const sum = own.reduce((total, { period }) => total + period, 0);
					assert.equal(profileTotal(profile), sum);
				}
				const counted = profiles.reduce((sum, { samples = 0 }) => sum + samples, 0);
				assert.equal(counted, samples.length);
			},
		),
	);
});
