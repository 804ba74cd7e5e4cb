import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { profileTotal, type StackProfile } from '../../../src/aggregate/stack-profile.js';
import { MAX_STACK_FRAMES } from '../../../src/aggregate/stack-table.js';
import { formatOf } from '../../../src/input/detect.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import type { ReadOptions } from '../../../src/input/reader.js';
import { TstraceError } from '../../../src/loader/errors.js';
import { renderFolded } from '../../../src/render/folded.js';
import type { FrameKind } from '../../../src/symbolize/stack.js';

const FIXTURES = 'test/fixtures/perf-script';
const PLAIN: ReadOptions = {
	identify: 'none',
	addresses: false,
	inline: false,
	arrowMarks: true,
	event: undefined,
};

async function* chunksOf(content: string | Buffer, bytes = 1 << 16) {
	const all = Buffer.from(content);
	for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

interface Result {
	readonly profiles: StackProfile[];
	readonly notices: string[];
}

async function read(
	content: string | Buffer,
	options: Partial<ReadOptions> = {},
	bytes?: number,
): Promise<Result> {
	const notices: string[] = [];
	const profiles = await readPerfScript(
		chunksOf(content, bytes),
		{ ...PLAIN, ...options },
		(notice) => notices.push(notice),
	);
	return { profiles, notices };
}

function folded(profile: StackProfile | undefined, marks: readonly FrameKind[] = []): string {
	assert.ok(profile);
	return [...renderFolded(profile, { divisor: 1, marks: new Set(marks), sorted: true })].join('');
}

/** The one profile there is, as folded text. */
async function foldedText(content: string, options: Partial<ReadOptions> = {}): Promise<string> {
	const { profiles } = await read(content, options);
	assert.equal(profiles.length, 1);
	return folded(profiles[0]);
}

const recording = (name: string) => gunzipSync(readFileSync(`${FIXTURES}/${name}.txt.gz`));

/** What stackcollapse-perf.pl's options are here. */
const OPTIONS: Readonly<Record<string, Partial<ReadOptions> & { marks?: FrameKind[] }>> = {
	'': {},
	pid: { identify: 'pid' },
	tid: { identify: 'tid' },
	addrs: { addresses: true },
	kernel: { marks: ['kernel'] },
	jit: { marks: ['jit'] },
	'kernel-jit': { marks: ['kernel', 'jit'] },
	all: { marks: ['kernel', 'jit'] },
	'event-filter-page-faults': {},
};

// --inline depends on the machine's files: test/unit/input/addr2line.test.ts.
const RESULTS = readdirSync(FIXTURES).filter((file) => file.endsWith('.folded'));

test('there are recordings', () => assert.ok(RESULTS.length >= 25));

for (const file of RESULTS) {
	const [name = '', option = ''] = file.replace(/\.folded$/, '').split('.');
	// It drops samples without a call chain; see below.
	if (name === 'nostack') continue;
	test(`as stackcollapse-perf.pl: ${name} ${option}`, async () => {
		const { marks = [], ...options } = OPTIONS[option] ?? assert.fail(option);
		const { profiles } = await read(recording(name), options);
		// It keeps the first event only; the first of ours is the same.
		assert.equal(folded(profiles[0], marks), readFileSync(`${FIXTURES}/${file}`, 'utf8'));
	});
}

test('on purpose: every event is kept, since a recording of several asked for all of them', async () => {
	const { profiles } = await read(recording('multi'));
	assert.deepEqual(
		profiles.map(({ origin, samples }) => [origin.event, origin.unit, samples]),
		[
			['page-faults', 'page-faults', 18],
			['cpu-clock', 'ns', 236],
		],
	);
	const periods = [
		...recording('multi')
			.toString()
			.matchAll(/ (\d+) +cpu-clock: $/gm),
	];
	const sum = periods.reduce((sum, [, period]) => sum + Number(period), 0);
	assert.equal(profileTotal(profiles[1] as StackProfile), sum);
});

test('on purpose: samples without a call chain are kept, since they say what ran', async () => {
	assert.equal(readFileSync(`${FIXTURES}/nostack.folded`, 'utf8'), '');
	const { profiles, notices } = await read(recording('nostack'));
	assert.match(notices.join(), /^25 of 25 samples have no call chain.*perf record -g$/);
	assert.equal(profiles.length, 1);
	assert.match(folded(profiles[0]), /^inl;__memcmp_avx2_movbe 121212120\n/);
	assert.equal(profileTotal(profiles[0] as StackProfile), 25 * 10101010);
});

test('on purpose: threads whose names end with a number, or are one letter, have that name', async () => {
	const text =
		'Thread 1 12 [000] 3.5: 7 cycles: \n\t1 f (/x)\n\na 12 3.5: 8 cycles: \n\t1 f (/x)\n\n';
	assert.equal(await foldedText(text), 'Thread_1;f 7\na;f 8\n');
});

test('on purpose: the last sample counts though no empty line follows', async () => {
	assert.equal(await foldedText('ab 12 3.5: 7 cycles: \n\t1 f (/x)'), 'ab;f 7\n');
});

const FIELDS: ReadonlyArray<readonly [what: string, text: string, expected: string]> = [
	['all of them', 'a b 7/12 [001] K 3.5: 7 cycles:u: \n\t1 f+0x3 (/x)\n\n', 'a_b;f 7\n'],
	['no time', 'ab 12 7 cycles: \n\t1 f (/x)\n\n', 'ab;f 7\n'],
	['no time, no number', 'ab cycles: \n\t1 f (/x)\n\n', 'ab;f 1\n'],
	['no number', 'ab [001] 3.5: 7 cycles: \n\t1 f (/x)\n\n', 'ab;f 7\n'],
	['no event', 'ab 12 3.5: 7 \n\t1 f (/x)\n\n', 'ab;f 7\n'],
	['no period', 'ab 12 3.5: cycles: \n\t1 f (/x)\n\n', 'ab;f 1\n'],
	['a period of 0', 'ab 12 3.5: 0 cycles: \n\t1 f (/x)\n\n', 'ab;f 1\n'],
	['no name', '12 3.5: cycles: \n\t1 f (/x)\n\n', '12;f 1\n'],
	['a name alone', 'ab \n\t1 f (/x)\n\nab c \n\t1 f (/x)\n\n', 'ab;f 1\nab_c;f 1\n'],
	['no module', 'ab 12 3.5: cycles: \n\t1 f+0x3\n\t2 [unknown]\n\n', 'ab;[unknown];f 1\n'],
	['no symbol', 'ab 12 3.5: cycles: \n\t1 (/lib/x.so)\n\n', 'ab;[x.so] 1\n'],
	['lines of source', 'ab 12 3.5: c: \n\t1 f (/x)\n  x.c:12\n\t2 g (/x)\n  x.c:7\n', 'ab;g;f 1\n'],
	['blanks for tabs', 'ab 12 3.5: cycles: \n        1 f (/x)\n        2 g (/x)\n', 'ab;g;f 1\n'],
	[
		'CRLF',
		'ab 12 3.5: cycles: \r\n\t1 f (/x)\r\n\r\nab 12 3.5: cycles: \r\n\t1 f (/x)\r\n',
		'ab;f 2\n',
	],
	['a tracepoint', 'ab 12 3.5: sched:x: a=1 b: 2\n\t1 f (/x)\n\n', 'ab;f 1\n'],
	[
		'side-band',
		'ab 12 3.5: PERF_RECORD_COMM exec: ab:1/1\nab 12 3.5: c: \n\t1 f (/x)\n\n',
		'ab;f 1\n',
	],
	['no thread of its own', ':-1 -1 [000] 3.5: 7 cycles: \n\t1 f (/x)\n\n', ':-1;f 7\n'],
];

for (const [what, text, expected] of FIELDS) {
	test(`fields: ${what}`, async () => {
		assert.equal(formatOf(Buffer.from(text)), readPerfScript);
		const { profiles, notices } = await read(text);
		assert.equal(folded(profiles[0]), expected);
		assert.deepEqual(notices, []);
	});
}

test('numbers of processes and threads, as they are printed', async () => {
	const text =
		'ab 7/12 3.5: c: \n\t1 f (/x)\n\nab 7 3.5: c: \n\t1 f (/x)\n\nab 0/0 3.5: c: \n\t1 f (/x)\n';
	assert.equal(await foldedText(text, { identify: 'pid' }), 'ab-7;f 1\nab-?;f 2\n');
	assert.equal(
		await foldedText(text, { identify: 'tid' }),
		'ab-7/12;f 1\nab-?/0;f 1\nab-?/7;f 1\n',
	);
	const { notices } = await read(text, { identify: 'pid' });
	assert.match(notices.join(), /^1 of 3 samples do not say the number of their process.*-F \+pid/);
});

const NAMES: ReadonlyArray<readonly [frame: string, expected: string]> = [
	['1 net/http.(*Client).Do+0x1 (/x)', 'net/http.(*Client).Do'],
	['1 std::sort(int*, int*)+0x1 (/x)', 'std::sort'],
	['1 v8::(anonymous namespace)::Invoke(int)+0x1 (/x)', 'v8::(anonymous namespace)::Invoke'],
	['1 RegExp:[&<>"\'] (/tmp/perf-1.map)', 'RegExp:[&<>]_[j]'],
	['1 Lorg/A;::run(I)V+0x1 (/tmp/perf-1.map)', 'Lorg/A:::run_[j]'],
	['1 LA;::a->LB;::b->LC;::c+0x1 (/tmp/perf-1.map)', 'LA:::a_[j];LB:::b_[i];LC:::c_[i]'],
	['1 name_[j]+0x1 (/tmp/perf-1.map)', 'name_[j]'],
	['1 [unknown] ([unknown])', '[unknown]'],
	['1 [unknown] (/usr/lib/x.so.1)', '[x.so.1]'],
	['1 tcp_sendmsg+0x1 (/lib/modules/6.1/build/vmlinux)', 'tcp_sendmsg_[k]'],
	['1 nf_hook+0x1 ([nf_conntrack])', 'nf_hook_[k]'],
	['1 operator->+0x1 (/x)', 'operator'],
	['1 f+0x1 (inlined)', 'f'],
];

for (const [frame, expected] of NAMES) {
	test(`a frame: ${frame}`, async () => {
		const { profiles } = await read(`ab 12 3.5: 7 cycles: \n\t${frame}\n\n`);
		assert.equal(folded(profiles[0], ['kernel', 'jit']), `ab;${expected} 7\n`);
	});
}

test('names of Java classes lose their L', async () => {
	const text = 'java 12 3.5: c: \n\t1 Lorg/A;::run(I)V+0x1 (/tmp/perf-1.map)\n\t1 Lock (/x)\n\n';
	assert.equal(await foldedText(text), 'java;Lock;org/A:::run 1\n');
});

test('kinds are known though no marks are asked for', async () => {
	const { profiles } = await read(
		'ab 12 3.5: c: \n\t1 k ([kernel.kallsyms])\n\t1 i (inlined)\n\t1 j (/tmp/perf-1.map)\n\t1 v ([JIT] tid 12)\n\t1 u (/x)\n',
	);
	const { frames } = profiles[0] as StackProfile;
	const kinds = Array.from({ length: frames.size }, (_, frame) => frames.frame(frame));
	assert.deepEqual(kinds.map(({ name, kind }) => `${name} ${kind}`).sort(), [
		'ab user',
		'i inlined',
		'j jit',
		'k kernel',
		'u user',
		'v jit',
	]);
});

test('on purpose: tracepoints are events, too, though their own text ends their line', async () => {
	const text = 'ab 12 3.5: s:x: a=1\n\t1 f (/x)\n\nab 12 3.5: s:y: b=2\n\t1 g (/x)\n\n';
	const { profiles } = await read(text);
	assert.deepEqual(
		profiles.map((profile) => [profile.origin.event, folded(profile)]),
		[
			['s:x', 'ab;f 1\n'],
			['s:y', 'ab;g 1\n'],
		],
	);
});

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
		'left out 3 of 5 lines, which are neither a sample nor a frame (the first: line 1)',
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
	fc.string({ unit: 'binary', maxLength: 8 }),
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
