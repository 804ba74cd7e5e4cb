import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runToEnd, TSTRACE } from '../../../live/support.js';
import { inProcess, type Said } from '../../in-process.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
	const path = join(folder, name);
	writeFileSync(path, content);
	return path;
}

const OLD = file('old.folded', 'main;f 30\nmain;gone 10\n');
const NEW = file('new.folded', 'main;f 60\nmain;come 20\n');

function result(about: object, ...stacks: [frames: string[], value: number][]): string {
	const rows = stacks.map(([frames, value]) => ({ frames, value, key: { comm: 'app' } }));
	return `${JSON.stringify({ tool: 'profile', unit: 'samples', ...about, stacks: rows })}\n`;
}

const diff = (...args: readonly string[]): Promise<Said> => inProcess(['diff', ...args]);

async function refused(args: readonly string[], status: number, why: RegExp): Promise<void> {
	const said = await diff(...args);
	assert.equal(said.status, status, said.stderr);
	assert.equal(said.stdout, '');
	assert.match(said.stderr, why);
	assert.match(said.stderr, /^tstrace diff: [^\n]+\n$/);
}

test('a report is text in a pipe too, unless a format is asked for', async () => {
	const { status, stdout, stderr } = await diff(OLD, NEW);
	assert.deepEqual([status, stderr], [0, '']);
	assert.match(stdout, /^before .*\nafter .*\nbefore × 2, to the same total\n\nSelf: largest/);
	assert.equal(
		(await diff(OLD, NEW, '--folded')).stdout,
		(await diff(OLD, NEW, '--format', 'folded')).stdout,
	);
	assert.match((await diff(OLD, NEW, '--folded')).stdout, /^main;f 60 60$/m);
	assert.equal(JSON.parse((await diff(OLD, NEW, '--json')).stdout).tool, 'diff');
	await refused(
		[OLD, NEW, '--json', '--format', 'svg'],
		2,
		/give only one format, not json and svg/,
	);
});

test('a picture, in which what is gone is to be seen', async () => {
	const { status, stdout, stderr } = await diff(OLD, NEW, '--format', 'svg');
	assert.deepEqual([status, stderr], [0, '']);
	assert.match(stdout, /^<\?xml /);
	assert.match(
		stdout,
		/<title>gone \(before 20, 25\.0 %; after 0, 0\.0 %; -20, -25\.0 points, gone\)/,
	);
	assert.match(stdout, /Differential Flame Graph: old\.folded → new\.folded/);
	assert.match(stdout, /before × 2, to the same total/);
	// The caller of all three, or, turned round, of each.
	const reversed = await diff(OLD, NEW, '--format', 'svg', '--reverse');
	const mains = (text: string) => text.match(/<title>main /g)?.length;
	assert.deepEqual([mains(stdout), mains(reversed.stdout)], [1, 3]);
});

test('a terminal gets a table, and -o FILE a picture as well', () => {
	const picture = join(folder, 'out.svg');
	const onTerminal = (...args: string[]) =>
		runToEnd('script', ['-qec', [TSTRACE, 'diff', ...args].join(' '), '/dev/null'], {
			TERM: 'dumb',
		}).stdout.replaceAll('\r', '');
	const table = onTerminal(OLD, NEW);
	assert.match(table, /^before {2}.*old\.folded: 40 in 2 stacks\nafter {3}.*\nbefore × 2, to the/);
	assert.match(table, /^ +20 +0 +-20 +-25\.0 {2}gone gone$/m);
	assert.equal(onTerminal(OLD, NEW, '-o', picture), table);
	assert.match(readFileSync(picture, 'utf8'), /^<\?xml /);
	assert.match(onTerminal(OLD, NEW, '--format', 'svg'), /svg is not for a terminal/);
});

test('-o FILE says the format by its ending, --format more loudly', async () => {
	for (const [name, begins] of [
		['a.json', /^\{"tool":"diff"/],
		['a.txt', /^before /],
		['a.folded', /^main;f 60 60\n/],
		['a.svg', /^<\?xml/],
		['a', /^before /],
	] as const) {
		const path = join(folder, name);
		assert.deepEqual(await diff(OLD, NEW, '-o', path), { status: 0, stdout: '', stderr: '' });
		assert.match(readFileSync(path, 'utf8'), begins);
	}
	const path = join(folder, 'b.json');
	await diff(OLD, NEW, '-o', path, '--format', 'folded');
	assert.match(readFileSync(path, 'utf8'), /^main;/);
	await refused([OLD, NEW, '-o', join(folder, 'x.html')], 2, /-o FILE\.svg/);
	await refused([OLD, NEW, '-o', join(folder, 'x.png')], 2, /cannot write \.png/);
});

test('normalize: totals, durations, or not at all', async () => {
	const before = file('before.json', result({ duration_s: 2 }, [['f'], 10]));
	const later = file('later.json', result({ duration_s: 6 }, [['f'], 20], [['g'], 20]));
	const said = async (...args: string[]) =>
		JSON.parse((await diff(before, later, '--format', 'json', ...args)).stdout);
	const byDuration = await said('--normalize', 'duration');
	const unchanged = await said('--normalize', 'none');
	assert.deepEqual([(await said()).factor, byDuration.factor, unchanged.factor], [4, 3, 1]);
	const [f] = byDuration.functions.filter(({ name }: { name: string }) => name === 'f');
	assert.deepEqual(f.self, { before: 30, after: 20, change: -10 });
	assert.deepEqual((await said()).notices, ['durations differ: 2 s before, 6 s after']);
	await refused([OLD, NEW, '--normalize', 'duration'], 2, /old\.folded does not say how long/);
	const twice = file('twice.json', readFileSync(before, 'utf8').repeat(2));
	await refused([twice, later, '--normalize', 'duration'], 2, /twice\.json does not say how long/);
	const folded = (await diff(OLD, NEW, '--format', 'folded', '--normalize', 'none')).stdout;
	assert.equal(folded, 'main;f 30 60\nmain;gone 10 0\nmain;come 0 20\n');
});

test('what cannot be compared is refused, with a word why', async () => {
	const samples = file('samples.json', result({ event: 'cycles' }, [['f'], 1]));
	const times = file('times.json', result({ tool: 'offcputime', unit: 'ns' }, [['f'], 1]));
	const faults = file('faults.json', result({ event: 'page-faults' }, [['f'], 1]));
	await refused([times, samples], 1, /cannot compare ns with samples: /);
	await refused([samples, faults], 1, /cannot compare cycles with page-faults: /);
	await refused([times, OLD, '--normalize', 'none'], 1, /has no unit.*--normalize total/);
	assert.match((await diff(times, OLD)).stderr, /^note: after has no unit, before is in ns/);
	const nothing = file('nothing.json', result({}));
	await refused([nothing, samples], 1, /nothing was counted in .*nothing\.json/);
	await refused([samples, nothing], 1, /nothing was counted in .*nothing\.json/);
});

test('of several events the one that both have is compared', async () => {
	const both =
		result({ event: 'cycles' }, [['f'], 1]) + result({ event: 'faults' }, [['f'], 1], [['g'], 1]);
	const [before, later] = [
		file('events.json', both),
		file('cycles.json', result({ event: 'cycles' }, [['f'], 4])),
	];
	const said = await diff(before, later, '--format', 'folded');
	assert.match(said.stderr, /^note: compared: cycles; not compared: faults; choose one with/);
	assert.equal(said.stdout, 'app;f 4 4\n');
	assert.match(
		(await diff(before, before)).stderr,
		/^note: compared: faults; not compared: cycles;/,
	);
	assert.equal((await diff(before, before, '--event', 'cycles')).stderr, '');
	await refused(
		[before, later, '--event', 'faults'],
		1,
		/there is no event faults; there are: cycles/,
	);
	const other = file('other.json', result({ event: 'misses' }, [['f'], 1]));
	await refused(
		[before, other],
		1,
		/no event is in both: before has cycles, faults, after has misses; record the same event \(-e\)/,
	);
});

test('a part is compared by the factor of the whole', async () => {
	const { stdout } = await diff(OLD, NEW, '--grep', '^gone$', '--format', 'folded');
	assert.equal(stdout, 'main;gone 20 0\n');
	await refused([OLD, NEW, '--grep', 'nowhere'], 1, /nothing to compare/);
});

test('the picture is named as asked for', async () => {
	const { stdout } = await diff(
		OLD,
		NEW,
		'--format',
		'svg',
		'--title',
		'A <b>',
		'--subtitle',
		'C',
		'--width',
		'500',
		'--inverted',
	);
	assert.match(stdout, /<title>A &lt;b&gt;<\/title>/);
	assert.match(stdout, /class="subtitle"[^>]*>C</);
	assert.match(stdout, /width="500" [^>]*data-root="top"/);
});

test('the same file twice does not differ; standard input is one of the two', async () => {
	assert.match((await diff(OLD, OLD, '--format', 'text')).stdout, /\nno difference\n$/);
	const piped = runToEnd('sh', ['-c', `${TSTRACE} diff - ${NEW} --format folded < ${OLD}`]);
	assert.equal(piped.stdout, (await diff(OLD, NEW, '--format', 'folded')).stdout);
});

test('bad input: said in one line, and no file is touched', async () => {
	await refused(['-', '-'], 2, /only one of BEFORE and AFTER can be standard input/);
	await refused([OLD], 2, /missing required argument 'after'/);
	await refused([OLD, NEW, OLD], 2, /too many arguments/);
	await refused([OLD, join(folder, 'none')], 1, /cannot read .*none: there is no such file/);
	await refused([OLD, file('empty', '')], 1, /empty: .*is empty/);
	await refused(
		[OLD, file('words', 'no stacks here\n')],
		1,
		/words: no line of it ends with a count/,
	);
	await refused([OLD, NEW, '--normalize', 'x'], 2, /--normalize/);
	const kept = file('kept.svg', 'kept');
	await refused([OLD, join(folder, 'none'), '-o', kept], 1, /cannot read/);
	assert.equal(readFileSync(kept, 'utf8'), 'kept');
	assert.ok(!existsSync(join(folder, 'none')));
});
