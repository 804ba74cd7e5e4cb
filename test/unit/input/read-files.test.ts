/** Files: what they are by their content, packed or not, and several of them together. */
import assert from 'node:assert/strict';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readFolded } from '../../../src/input/folded.js';
import { formatOf } from '../../../src/input/format-of.js';
import { readJson } from '../../../src/input/json-files.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import { readProfiles } from '../../../src/input/read-files.js';
import { READING, toFolded } from '../profiles.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-files-'));
after(() => rmSync(folder, { recursive: true }));

/** Writes these as files, and reads them. */
async function read(
	files: Readonly<Record<string, string | Uint8Array>>,
	{ event = undefined as string | undefined, notices = [] as string[] } = {},
) {
	const paths = Object.entries(files).map(([name, content]) => {
		const path = join(folder, name);
		writeFileSync(path, content);
		return path;
	});
	const notify = (notice: string) => notices.push(notice.replaceAll(`${folder}/`, ''));
	return await readProfiles(paths, { ...READING, event }, notify);
}

async function refused(
	files: Readonly<Record<string, string | Uint8Array>>,
	options: { event?: string } = {},
): Promise<string> {
	const error: Error = await read(files, options).then(
		() => assert.fail('it is read'),
		(error) => error,
	);
	assert.equal(error.name, 'TstraceError');
	return error.message.replaceAll(`${folder}/`, '');
}

/** A result of tstrace --json. */
const result = (more: object, value = 3) =>
	JSON.stringify({ tool: 'profile', stacks: [{ frames: ['f'], value, key: {} }], ...more });

const sample = (event: string, frame: string) => `ab 12 3.5: 7 ${event}: \n\t1 ${frame} (/x)\n\n`;

test('what a file is: what most of its lines are', () => {
	const isReadAs = (text: string) => formatOf(Buffer.from(text));
	const perf = 'ab 12 3.500000: 7 cycles: \n';
	assert.equal(isReadAs(`a;b 5\nc;d 3\n${perf}`), readFolded);
	assert.equal(isReadAs(`a;b 5\n${perf}`), readFolded);
	assert.equal(isReadAs(`a;b 5\n${perf}\t1 f (/x)\n`), readPerfScript);
	assert.equal(isReadAs('# ========\n# captured on: today\na;b 5\n'), readPerfScript);
	assert.equal(isReadAs('{main};f 3\n'), readFolded);
	for (const json of ['{"a":1}', '{}', '{\n', ' \n{ "a"']) assert.equal(isReadAs(json), readJson);
});

test('what is no recording says what to give instead', () => {
	for (const [content, said] of [
		['PERFILE2\0\0', /recording of perf; give what perf script -i FILE prints/],
		['a;b\0 3\n', /^it is not text/],
		['\n<?xml version="1.0"?>', /already a picture or a page/],
		['<!DOCTYPE html>', /already a picture or a page/],
		['<svg width="1">', /already a picture or a page/],
	] as const) {
		assert.throws(() => formatOf(Buffer.from(content)), { name: 'TstraceError', message: said });
	}
	assert.equal(formatOf(Buffer.from('<svgish>;f 3\n')), readFolded);
});

test('files that count the same are one profile, each stack with the sum', async () => {
	const [all, ...others] = await read({
		one: 'a;b 3\na;c 4\n',
		two: 'x 2\na;c 5\n',
		three: 'x 1\n',
	});
	assert.deepEqual(others, []);
	assert.equal(toFolded(all ?? assert.fail()), 'a;b 3\na;c 9\nx 3\n');
});

test('events of several files are added up each; samples are too, where all files say them', async () => {
	const [cycles, faults, ...others] = await read({
		one: sample('cycles', 'f') + sample('faults', 'g') + sample('cycles', 'h'),
		two: sample('faults', 'g') + sample('cycles', 'f'),
	});
	assert.deepEqual(others, []);
	assert.equal(toFolded(cycles ?? assert.fail()), 'ab;f 14\nab;h 7\n');
	assert.equal(toFolded(faults ?? assert.fail()), 'ab;g 14\n');
	assert.deepEqual([cycles?.samples, faults?.samples], [3, 2]);
	const [both] = await read({
		one: sample('faults', 'g'),
		two: result({ event: 'faults', unit: 'faults' }),
	});
	assert.equal(both?.samples, undefined);
});

test('of several files is known what all say alike, and when the first began', async () => {
	const alike = { unit: 'samples', host: 'web1', frequency_hz: 99 };
	const [all] = await read({
		one: result({ ...alike, kernel: '6.1', duration_s: 5, start: '2026-01-31T12:00:09.000Z' }),
		two: result({ ...alike, kernel: '6.2', duration_s: 5, start: '2026-01-31T12:00:01.000Z' }),
	});
	assert.deepEqual(all?.origin, { tool: 'profile', ...alike, start: '2026-01-31T12:00:01.000Z' });
	const [unknown] = await read({
		one: result({ start: '2026-01-31T12:00:09.000Z' }),
		two: result({}),
	});
	assert.deepEqual(unknown?.origin, { tool: 'profile' });
});

test('what counts something else, in another unit, or as often, is not added up', async () => {
	assert.equal(
		await refused({ one: result({ unit: 'samples' }), two: result({ unit: 'ns' }) }),
		'one (profile in samples) and two (profile in ns) cannot be added up; give recordings of one kind',
	);
	const often = { unit: 'samples', frequency_hz: 99 };
	assert.match(
		await refused({ one: result(often), two: result({ ...often, frequency_hz: 49 }) }),
		/^one \(profile in samples taken 99 times a second\) and two \(profile in samples taken 49 times /,
	);
	assert.match(
		await refused({ one: sample('cycles', 'f'), two: 'a 3\n' }),
		/^one \(cycles\) and two \(unknown kind\)/,
	);
});

test('one event of several: by its name, or by that without modifiers', async () => {
	const files = { one: sample('cycles:u', 'f') + sample('cycles:k', 'g') + sample('faults', 'h') };
	const events = async (event: string) =>
		(await read(files, { event })).map(({ origin }) => origin.event);
	assert.deepEqual(await events('cycles:k'), ['cycles:k']);
	assert.deepEqual(await events('cycles'), ['cycles:u', 'cycles:k']);
	assert.deepEqual(await events('faults:u'), ['faults']);
	assert.equal(
		await refused(files, { event: 'misses' }),
		'one: there is no event misses; there are: cycles:u, cycles:k, faults',
	);
	assert.equal(
		await refused({ one: 'a 1\n' }, { event: 'x' }),
		'one: there is no event x; the input names no events',
	);
});

test('packed or not, with a byte order mark or not', async () => {
	const text = 'a;b 3\n';
	const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]);
	for (const content of [marked, gzipSync(text), gzipSync(marked)]) {
		const [profile] = await read({ one: content });
		assert.equal(toFolded(profile ?? assert.fail()), text);
	}
	const packed = gzipSync('a;b 3\n'.repeat(100));
	assert.equal(
		await refused({ one: packed.subarray(0, -12) }),
		'cannot read one: its gzip data was cut off; record it again',
	);
	packed[packed.length - 6] = (packed.at(-6) as number) ^ 0xff;
	assert.equal(
		await refused({ one: packed }),
		'cannot read one: its gzip data is damaged; record it again',
	);
});

test('errors and notices name the file', async () => {
	const notices: string[] = [];
	await read({ good: 'a 1\n', partly: 'a 1\n# x\n' }, { notices });
	assert.deepEqual(notices, [
		'partly: left out 1 of 2 lines: they have no count (the first: line 2)',
	]);
	assert.match(await refused({ good: 'a 1\n', bad: 'a -1\n' }), /^bad: .*line 1 is negative/);
	for (const [path, why] of [
		[folder, 'it is a folder; name a file in it'],
		[join(folder, 'missing'), 'there is no such file; check its spelling'],
	] as const) {
		await assert.rejects(readProfiles([path], READING, assert.fail), {
			name: 'TstraceError',
			message: `cannot read ${path}: ${why}`,
		});
	}
});

test('counts of which the sum cannot be right are refused', async () => {
	const whole = 10 ** 20;
	assert.match(
		await refused({ one: result({}, 6 * whole), two: result({}, 4 * whole) }),
		/^one, two: its counts add up to 10\^21 or more/,
	);
	assert.equal((await read({ one: result({}, 9 * whole) })).length, 1);
});

test('a file that has one event more, or one less, is added up where it has the same', async () => {
	const profiles = await read({
		one: sample('cycles', 'f') + sample('faults', 'g'),
		two: sample('misses', 'h') + sample('cycles', 'f'),
	});
	assert.deepEqual(
		profiles.map((profile) => [profile.origin.event, toFolded(profile)]),
		[
			['cycles', 'ab;f 14\n'],
			['faults', 'ab;g 7\n'],
			['misses', 'ab;h 7\n'],
		],
	);
	assert.match(
		await refused({ one: 'a 1\n', two: 'a 2\n', three: sample('cycles', 'f') }),
		/^one \(unknown kind\) and three \(cycles\)/,
	);
});

test('marks of kinds stay if one of the files has them', async () => {
	const event = { event: 'cycles', unit: 'cycles' };
	const speedscope = JSON.stringify({
		$schema: 'https://www.speedscope.app/file-format-schema.json',
		shared: { frames: [{ name: 'k', file: '[kernel.kallsyms]' }] },
		profiles: [{ type: 'sampled', name: '', unit: 'none', samples: [[0]], weights: [2] }],
		tstrace: event,
	});
	for (const files of [
		{ one: result(event), two: speedscope },
		{ one: speedscope, two: result(event) },
	]) {
		const [all] = await read(files);
		assert.match(toFolded(all ?? assert.fail()), /^k_\[k\] 2$/m);
	}
});

test('when the first of several began is said only if each says when', async () => {
	const [all] = await read({
		one: result({ start: '2026-01-31T12:00:09.000Z' }),
		two: result({ start: '2026-01-31T12:00:05.000Z' }),
		three: result({}),
	});
	assert.equal(all?.origin.start, undefined);
});

test('each event is added up to a number that can be right', async () => {
	const bad = JSON.stringify({
		tool: 'profile',
		event: 'faults',
		stacks: [{ frames: ['f'], value: 1e22, key: {} }],
	});
	const good = result({ event: 'cycles' });
	assert.match(await refused({ one: `${good}\n${bad}\n` }), /^one: its counts add up/);
});

test('a file that is refused is closed again', async (t) => {
	const { createReadStream } = fs;
	const opened: fs.ReadStream[] = [];
	const opens = t.mock.method(fs, 'createReadStream', (...args: [string, object]) => {
		const stream = createReadStream(...args);
		opened.push(stream);
		return stream;
	});
	syncBuiltinESMExports();
	try {
		// It goes on behind the part that is looked at.
		const long = Buffer.concat([Buffer.from('PERFILE2'), Buffer.alloc(3 << 20)]);
		assert.match(await refused({ one: long }), /^one: this is a recording of perf/);
		assert.deepEqual(
			opened.map(({ destroyed }) => destroyed),
			[true],
		);
	} finally {
		opens.mock.restore();
		syncBuiltinESMExports();
	}
});
