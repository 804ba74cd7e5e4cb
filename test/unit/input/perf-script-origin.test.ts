/** What perf script text says of its recording, of its events, and of whose stacks are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFolded } from '../../../src/input/folded.js';
import { formatOf } from '../../../src/input/format-of.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import { folded, foldedText, read } from './perf-text.js';

const SAMPLE = 'ab 12 3.5: 7 cycles: \n\t1 f (/x)\n\n';

test('what perf script --header says: machine, kernel, command', async () => {
	const header = `# ========
# captured on    : Sat Jan 31 12:00:00 2026
# hostname : web1
# os release : 6.1.0-9
# perf version : 6.1.55
# arch : x86_64
# cmdline : /usr/bin/perf record -g sleep 1 
# ========
#
`;
	const [profile] = (await read(header + SAMPLE)).profiles;
	assert.deepEqual(profile?.origin, {
		tool: 'perf',
		host: 'web1',
		kernel: '6.1.0-9',
		command: ['/usr/bin/perf', 'record', '-g', 'sleep', '1'],
		event: 'cycles',
		unit: 'cycles',
	});
	assert.equal(profile?.marked, false);
});

test('what samples count in: periods of the event; without a period, samples', async () => {
	const unitOf = async (fields: string) =>
		(await read(`ab 12 3.5: ${fields} \n\t1 f (/x)\n\n`)).profiles[0]?.origin.unit;
	assert.equal(await unitOf('7 cycles:'), 'cycles');
	assert.equal(await unitOf('cycles:'), 'samples');
	assert.equal(await unitOf('7'), undefined);
	const [mixed] = (await read(`${SAMPLE}ab 12 3.5: cycles: \n\t1 f (/x)\n`)).profiles;
	assert.equal(mixed?.origin.unit, 'cycles');
});

test('events are as many as there may be', async () => {
	const of = (count: number) =>
		Array.from({ length: count }, (_, i) => `ab 12 3.5: e${i}: \n\n`).join('');
	assert.equal((await read(of(4096))).profiles.length, 4096);
	await assert.rejects(read(of(4097)), /more than 4096 names of events/);
});

test('a frame is named for whose it is: a JVM has names of classes, others have what looks the same', async () => {
	const frame = '\t1 Lorg/A;::run+0x1 (/tmp/perf-1.map)\n\n';
	const text = `ab 12 3.5: c: \n${frame}javac 13 3.5: c: \n${frame}ab 12 3.5: c: \n${frame}`;
	assert.equal(await foldedText(text), 'ab;Lorg/A:::run 2\njavac;org/A:::run 1\n');
});

const NAMES: ReadonlyArray<readonly [frame: string, expected: string]> = [
	['1 a;b+0x1c;c+0x1 (/x)', 'a:b+0x1c:c'],
	['1 a().b.(c+0x1 (/x)', 'a'],
	['1 f+0x1 ([JITted])', 'f_[k]'],
	['1 f+0x1 ([JIT] tid 7)', 'f_[j]'],
];

for (const [frame, expected] of NAMES) {
	test(`a name: ${frame}`, async () => {
		const { profiles } = await read(`ab 12 3.5: 7 c: \n\t${frame}\n`);
		assert.equal(folded(profiles[0], ['kernel', 'jit']), `ab;${expected} 7\n`);
	});
}

test('what is no function is left out; what has its mark already gets no other', async () => {
	assert.equal(
		await foldedText('ab 12 3.5: 7 c: \n\t1 f (/x)\n\t2 (nginx) (/x)\n\t3 g (/x)\n'),
		'ab;g;f 7\n',
	);
	assert.equal(
		await foldedText('ab 12 3.5: 7 c: \n\t1 a->b_[i]->c (/tmp/perf-1.map)\n'),
		'ab;a;b_[i];c_[i] 7\n',
	);
});

const LINES: ReadonlyArray<readonly [what: string, text: string, expected: string]> = [
	['a CPU of four digits', 'ab 12 [1024] 3.5: 7 c: \n\t1 f (/x)\n', 'ab;f 7\n'],
	['a CPU of one digit', 'ab 12 [4] 3.5: 7 c: \n\t1 f (/x)\n', 'ab;f 7\n'],
	['an address alone, and no chain', 'ab 12 3.5: 7 c:  1f\n', 'ab;[unknown] 7\n'],
	['a record in an event’s own text', 'ab 12 3.5: s:x: PERF_RECORD_X\n\t1 f (/x)\n', 'ab;f 1\n'],
	['a name that begins like a comment', '  #ab 12 3.5: 7 c: \n\t1 f (/x)\n', '#ab;f 7\n'],
];

for (const [what, text, expected] of LINES) {
	test(`a sample: ${what}`, async () => {
		assert.equal(folded((await read(text)).profiles[0]), expected);
	});
}

test('what is left out is named by the line that it begins with', async () => {
	const { notices } = await read(`hello world\n\n${SAMPLE}`);
	assert.deepEqual(notices, [
		'left out 1 of 3 lines: they are neither a sample nor a frame (the first: line 1)',
	]);
	const behind = await read(`${SAMPLE}one more\n\n  two more\n\n${SAMPLE}`);
	assert.match(behind.notices.join(), /^left out 2 of 6 lines.* line 4\)$/);
	assert.equal(folded(behind.profiles[0]), 'ab;f 14\n');
});

test('samples without a number are counted, those too that have no chain', async () => {
	const text = `ab [000] 3.5: 7 c:  1 g (/x)\n\n${SAMPLE}`;
	const { notices } = await read(text, { identify: 'pid' });
	assert.match(notices.join('\n'), /^2 of 2 samples have no process number/m);
});

test('text of perf is told from folded stacks by what most lines are', () => {
	const isReadAs = (text: string) => formatOf(Buffer.from(text));
	// Comments are no samples, whatever is in them.
	const comment = '# ab 12 3.5: 7 cycles: \n';
	assert.equal(isReadAs(`${comment}${comment}a;b 3\n`), readFolded);
	assert.equal(isReadAs('# ====\na;b 3\n'), readFolded);
	assert.equal(isReadAs('ab\n        1 f (/x)  \n'), readPerfScript);
	assert.equal(isReadAs('ab 12 7 cycles: \n'), readPerfScript);
	for (const page of ['<html>', '<HTML lang="en">', '<svg>'])
		assert.throws(() => formatOf(Buffer.from(page)), /already a picture or a page/, page);
});
