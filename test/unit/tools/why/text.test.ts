/** The answer as text: it fits, whatever threads and functions are called, and however much it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { answerText, pathText } from '../../../../src/tools/why/text.js';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import { HOSTILE } from '../../support.js';
import { anyEvidence } from './any-evidence.js';
import {
	answerTo,
	blocked,
	file,
	forCpu,
	futex,
	MS,
	nobody,
	pipe,
	SECOND,
	STACK_OF,
	sample,
	stack,
	thread,
	waker,
	weighed,
} from './support.js';

function textOf(rest: Partial<Evidence>, { top = 3, width = 80, colour = false } = {}): string {
	const answer = answerTo(rest);
	return answerText(answer, verdictOf(answer), { style: { colour, width }, top });
}

/** A command is one line, however long, so that it can be copied. */
function assertFits(text: string, width = 80): void {
	for (const line of text.split('\n')) {
		if (line.startsWith('Try: ')) continue;
		assert.ok([...line].length <= width, `${[...line].length}: ${line}`);
		assert.doesNotMatch(line, /NaN|undefined|Infinity|\[object|null/);
		assert.doesNotMatch(line, /[\p{Cc}\u200b-\u200f\u202a-\u202e]/u);
	}
}

const SERVICE: Partial<Evidence> = {
	threads: [
		thread(10 * SECOND, 2 * SECOND, { tid: 70 }),
		thread(10 * SECOND, 0, { tid: 71 }),
		thread(10 * SECOND, 0, { tid: 72, comm: 'helper' }),
	],
	samples: [sample('main calc', 40, { tid: 70 })],
	blocked: [
		blocked('main start serve take (pthread_mutex_lock) | futex_wait', 6 * SECOND, {
			count: 12,
			key: { tid: 71 },
			objects: [[futex('table'), 6 * SECOND]],
			durations: [weighed([400 * MS, 6], [600 * MS, 6])],
			waker: waker('was blocked', 'main hold (nanosleep) | do_nanosleep', {
				waker: nobody('[waker not seen]'),
			}),
		}),
		blocked(STACK_OF['disk read'], 1 * SECOND, {
			count: 4,
			key: { tid: 72, comm: 'helper' },
			objects: [[file('/srv/data'), SECOND]],
		}),
		blocked(STACK_OF['socket accept'], 20.94 * SECOND, { count: 99, key: { tid: 70 } }),
	],
	forCpu: [forCpu('preempted', 50 * MS, { tid: 70, count: 5 })],
};

test('verdict, account, reasons and threads, each once', () => {
	assert.equal(
		textOf(SERVICE, { top: 2 }),
		`
10.0 s, 3 threads: 30.0 s of wall-clock time, 9.05 s working, 20.9 s idle

worker (71), a thread of worker (70), waits 66 % of its working time for the
lock table, in take. Meanwhile server (90) slept in hold. Longest: 600 ms.
Try: tstrace why -p 90

  share      time  where                              count    p50    p99    max
 20.0 %    6.00 s  waiting: lock table                   12  401ms  600ms  600ms
  6.7 %    2.00 s  running: in its own code
  3.3 %    1.00 s  waiting: disk read /srv/data           4  250ms  250ms  250ms
 69.8 %    20.9 s  idle: socket accept                   99  212ms  212ms  212ms
  0.2 %   60.0 ms  elsewhere

1. 66 % of working time: worker (71), a thread of worker (70), waits for the
   lock table
   main → start → serve → take
   ← server (90) slept in hold

2. 22 % of working time: worker (70) runs on a CPU
   main → calc

Threads that waited longest, with work to do:
   6.00 s  worker (71)
   1.00 s  helper (72)
`,
	);
});

test('a place is told once, and what waits for traced threads is told apart', () => {
	const places = textOf({
		threads: [thread(10 * SECOND), thread(10 * SECOND, 0, { pid: 90, tid: 91 })],
		blocked: [
			blocked(STACK_OF.pipe, 4 * SECOND, {
				waker: waker('ran', '', { key: { pid: 8, tid: 9 } }),
				objects: [[pipe('read'), 4 * SECOND]],
			}),
			blocked(STACK_OF.condition, 3 * SECOND, { waker: waker('ran') }),
			blocked(STACK_OF.condition, 2 * SECOND),
			// 0.04 % of 20 s: no line for so little.
			blocked(STACK_OF.sleep, 8 * MS),
		],
	});
	const lines = places.match(/ s {2}\S.*/g)?.map((line) => line.slice(4).replace(/ {2}.*/, ''));
	assert.deepEqual(lines, [
		'not seen',
		'waiting: pipe read',
		'for own threads: condition',
		'idle: condition',
	]);
	assert.doesNotMatch(places, /elsewhere/);
});

test('of two threads the reasons say enough; three are listed', () => {
	const listed = (count: number) =>
		textOf({
			threads: Array.from({ length: count }, (_, at) => thread(10 * SECOND, 0, { tid: 71 + at })),
			blocked: [71, 72].map((tid) => blocked(STACK_OF.lock, 9 * SECOND, { key: { tid } })),
		}).includes('Threads that waited longest');
	assert.deepEqual([listed(2), listed(3)], [false, true]);
});

test('a reason is shown if it is a twentieth of the work, and as many as were asked for', () => {
	const heads = (top: number) => textOf(SERVICE, { top }).match(/^\d\. \d+ %/gm);
	assert.deepEqual(heads(9), ['1. 66 %', '2. 22 %', '3. 11 %']);
	assert.deepEqual(heads(1), ['1. 66 %']);
	assert.equal(heads(0), null);
});

test('the account shows ten lines at most, and the rest as one', () => {
	const text = textOf({
		threads: [thread(100 * SECOND)],
		blocked: Array.from({ length: 14 }, (_, at) =>
			blocked(STACK_OF['disk read'], (20 - at) * 100 * MS, {
				objects: [[file(`/f${at}`), (20 - at) * 100 * MS]],
			}),
		),
	});
	const lines = text.split('\n').filter((line) => /^ *\d+\.\d %/.test(line));
	assert.equal(lines.length, 11);
	assert.match(lines[0] as string, /81\.1 % +81\.1 s {2}not seen$/);
	assert.match(lines[9] as string, / disk read \/f8 /);
	// 11, 10, 9, 8 and 7 tenths of a second.
	assert.equal(lines[10], '  4.5 %    4.50 s  elsewhere');
});

test('with several threads each says how long; more than five are counted', () => {
	const many = textOf({
		threads: Array.from({ length: 8 }, (_, at) => thread(10 * SECOND, 0, { tid: 71 + at })),
		blocked: Array.from({ length: 8 }, (_, at) =>
			blocked(STACK_OF.lock, (10 - at) * SECOND, { key: { tid: 71 + at } }),
		),
	});
	assert.match(many, /threads: worker \(71\) 10\.0 s, .* worker \(75\)\s+6\.00 s, 3 more\n/s);
	assert.equal(many.match(/^ +[\d.]+ s {2}worker \(7\d\)$/gm)?.length, 5);
});

test('nothing, a window of nothing, and threads that were idle alone have no number that is none', () => {
	for (const rest of [
		{},
		{ window_ns: 0 },
		{ window_ns: 0, threads: [thread(0)] },
		{ threads: [thread(10 * SECOND)] },
		{
			threads: [thread(10 * SECOND)],
			blocked: [blocked(STACK_OF.poll, 10 * SECOND, { open: true, count: 0 })],
		},
		{ blocked: [blocked(STACK_OF.lock, 5)], samples: [sample('main', 5)] },
	])
		assertFits(textOf(rest));
	const idle = textOf({
		threads: [thread(10 * SECOND)],
		blocked: [blocked(STACK_OF.poll, 10 * SECOND, { open: true })],
	});
	assert.doesNotMatch(idle, /working time|^1\. /m);
	assert.match(idle, /^100\.0 % {4}10\.0 s {2}idle: poll {29}1 {2}10\.0s {2}10\.0s {2}10\.0s$/m);
});

const LONG = [
	'x'.repeat(300),
	`ns::${'a'.repeat(90)}::${'b'.repeat(90)}`,
	`f<${'int,'.repeat(40)}int>`,
	'ünï'.repeat(60),
	'💥'.repeat(100),
];

/** All that has a name has this one. */
function everywhere(name: string): Partial<Evidence> {
	const comm = name.slice(0, 15);
	const frame = { name, kind: 'user' as const };
	const where = [frame, ...stack('| ksys_read vfs_read io_schedule')];
	const lock = [frame, ...stack(STACK_OF.lock).slice(2)];
	const by = waker('was blocked', '', {
		key: { context: 'thread', pid: 4_194_303, tid: 4_194_303, comm },
		frames: lock,
		objects: [
			{
				object: futex(name, { owner: { tid: 4_194_302, comm } }),
				...{ value: 1, count: 1, variance: 0 },
			},
		],
	});
	const pids = [4_194_300, 4_194_301, 4_194_302];
	const of = (pid: number, ns: number) => {
		const { row, ...rest } = blocked('', ns, { key: { pid, tid: pid, comm }, waker: by });
		const objects = [{ object: file(`/${name}`), value: ns, count: 1, variance: 0 }];
		return { row: { ...row, frames: where, objects }, ...rest };
	};
	const { frames: _, ...sampled } = sample('', 30, { pid: pids[0] as number, comm });
	return {
		target: `--comm '${name}'`,
		threads: pids.map((pid) => thread(10 * SECOND, 2 * SECOND, { pid, tid: pid, comm })),
		samples: [{ ...sampled, frames: [frame, frame] }],
		blocked: pids.map((pid, at) => of(pid, (8 - at) * SECOND)),
		forCpu: pids.map((pid) => forCpu('run queue', SECOND, { pid, tid: pid, comm })),
	};
}

test('long and hostile names: each line within 80 columns, and no control character', () => {
	for (const name of [...LONG, ...HOSTILE, '\u001b'.repeat(15), '\u202e'.repeat(15)]) {
		assertFits(textOf(everywhere(name), { top: 9 }));
		const narrow = textOf(everywhere(name), { top: 9, width: 50 });
		for (const line of narrow.split('\n').filter((each) => /^( {3}[^\s\d]|\d\. )/.test(each)))
			assert.ok([...line].length <= 50, line);
		const painted = textOf(everywhere(name), { top: 9, colour: true });
		assertFits(stripVTControlCharacters(painted));
	}
});

test('the command to type is printable, and whole', () => {
	const rest = everywhere(`a\u001b[31m${'y'.repeat(200)}`);
	const answer = answerTo({ ...rest, blocked: [] });
	const text = answerText(answer, verdictOf(answer), {
		style: { colour: false, width: 80 },
		top: 1,
	});
	assert.match(text, /^Try: tstrace profile --comm 'a\\x1b\[31my{200}' 5$/m);
});

test('wide numbers keep columns apart, and lines within 80 columns', () => {
	const huge = 2 ** 53;
	for (const [ns, count] of [
		[huge, 1],
		[huge, 1e12],
		[99_999 * SECOND, 123_456_789],
		[1e15, 1e9],
	] as const) {
		const text = textOf({
			window_ns: ns,
			threads: Array.from({ length: 3 }, (_, at) => thread(ns, ns / 4, { tid: 71 + at })),
			samples: [sample('main f', 9_999_999)],
			blocked: [
				blocked(STACK_OF['disk read'], ns, {
					count,
					objects: [[file(`/srv/${'long/'.repeat(9)}`), ns]],
					durations: [weighed([ns, count])],
				}),
			],
		});
		assertFits(text);
		const number = count.toLocaleString('en-US');
		const line = text.split('\n').find((each) => each.includes(` ${number} `)) ?? '';
		const columns = /^ *\S+ % +\S+ s {2}wait\S*( .*|…\S*) +([\d,]+)( \S+s){3}$/.exec(line);
		assert.equal(columns?.[2], number, text);
	}
});

test('whatever was seen, the text fits', () => {
	fc.assert(
		fc.property(anyEvidence, (given) => assertFits(textOf(given))),
		{ numRuns: 300 },
	);
});

test("a path is of the program's functions, five at most; of the kernel's there is one at need", () => {
	assert.equal(pathText(stack('_start main (read) | ksys_read')), 'main');
	assert.equal(pathText(stack('a b c d e')), 'a → b → c → d → e');
	assert.equal(pathText(stack('a b c d e f')), '… → b → c → d → e → f');
	assert.equal(pathText(stack('a [unknown] app+0x12 b')), 'a → b');
	assert.equal(pathText(stack('(read) | ksys_read vfs_read')), 'vfs_read');
	assert.equal(pathText([{ name: 'a\u0007(int)', kind: 'user' }]), 'a\\x07');
	assert.equal(pathText([]), '');
});
