import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { FrameKind } from '../../../src/aggregate/stack.js';
import { profileTotal, type StackProfile } from '../../../src/aggregate/stack-profile.js';
import { readFolded } from '../../../src/input/folded.js';
import { formatOf } from '../../../src/input/format-of.js';
import type { ReadOptions } from '../../../src/input/format-reader.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import { folded, foldedText, read } from './perf-text.js';

const FIXTURES = 'test/fixtures/perf-script';
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

test('recordings and results are told apart by their beginning', () => {
	for (const file of readdirSync(FIXTURES)) {
		const content = readFileSync(`${FIXTURES}/${file}`);
		if (file.endsWith('.txt.gz')) {
			assert.equal(formatOf(gunzipSync(content).subarray(0, 1 << 16)), readPerfScript, file);
		} else if (file.endsWith('.folded')) {
			assert.equal(formatOf(content.subarray(0, 1 << 16)), readFolded, file);
		}
	}
	for (const text of ['', '\n', 'face 10\n  add 5\n', 'a b 12 c: 5\n', '# comment\na;b 3\n']) {
		assert.equal(formatOf(Buffer.from(text)), readFolded, text);
	}
});

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

test('on purpose: so are those that have no number either', async () => {
	const text = 'a b [001] 3.5:    7   cycles: \n\nab [000] 3.6: 8 cycles: \n\t1 f (/x)\n\n';
	const { profiles, notices } = await read(Buffer.from(text));
	assert.match(notices.join(), /^1 of 2 samples have no call chain/);
	assert.equal(folded(profiles[0]), 'a_b 7\nab;f 8\n');
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
	[
		'a function in the line, and a chain, which has it',
		'ab 12 3.5: c:  1 f (/x)\n\t1 f (/x)\n\t2 g (/x)\n\n',
		'ab;g;f 1\n',
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
	const blanks = 'Web Content 2 b 7/12 3.5: c: \n\t1 f (/x)\n';
	assert.equal(await foldedText(blanks, { identify: 'pid' }), 'Web_Content_2_b-7;f 1\n');
	const { notices } = await read(text, { identify: 'pid' });
	assert.match(notices.join(), /^1 of 3 samples have no process number.*-F \+pid/);
});

const NAMES: ReadonlyArray<readonly [frame: string, expected: string]> = [
	['1 net/http.(*Client).Do+0x1 (/x)', 'net/http.(*Client).Do'],
	['1 std::sort(int*, int*)+0x1 (/x)', 'std::sort'],
	['1 v8::(anonymous namespace)::Invoke(int)+0x1 (/x)', 'v8::(anonymous namespace)::Invoke'],
	['1 (anonymous namespace)::run(int)+0x1 (/x)', '(anonymous namespace)::run'],
	['1 RegExp:[&<>"\'] (/tmp/perf-1.map)', 'RegExp:[&<>]_[j]'],
	['1 Lorg/A;::run(I)V+0x1 (/tmp/perf-1.map)', 'Lorg/A:::run_[j]'],
	['1 LA;::a->LB;::b->LC;::c+0x1 (/tmp/perf-1.map)', 'LA:::a_[j];LB:::b_[i];LC:::c_[i]'],
	['1 name_[j]+0x1 (/tmp/perf-1.map)', 'name_[j]'],
	['1 [unknown] ([unknown])', '[unknown]'],
	['1 [unknown] (/usr/lib/x.so.1)', '[x.so.1]'],
	['1 tcp_sendmsg+0x1 (/lib/modules/6.1/build/vmlinux)', 'tcp_sendmsg_[k]'],
	['1 nf_hook+0x1 ([nf_conntrack])', 'nf_hook_[k]'],
	['1 operator->+0x1 (/x)', 'operator'],
	['1 Pool::run(int).cold+0x1 (/x)', 'Pool::run'],
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

test('frames that are nothing but an address are frames: perf script -F ip', async () => {
	const text = 'app     7 12.000001:          5 cpu-clock:ppp: \n\t    401136\n\tffff800010a\n\n';
	const { profiles, notices } = await read(Buffer.from(text));
	assert.equal(folded(profiles[0], []), 'app;[unknown];[unknown] 5\n');
	assert.deepEqual(notices, []);
});
