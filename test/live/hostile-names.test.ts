/** A thread whose name attacks terminals, pages and formats, in everything that tools write. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { readProfiles } from '../../src/input/read-files.js';
import { printable } from '../../src/render/terminal.js';
import { READING } from '../unit/profiles.js';
import { Tracing, Workload } from './support.js';

/** Of 15 bytes at most, which a thread's name has. */
const NAMES = [
	`\u001b[31m"<'&>;\n\t`,
	'\u009b2J\u202e\u2028\r\\',
	'\u001b]0;</script>',
	'_[k] 5;-->',
];

/** None may come through, but tabs and line ends. */
const RAW = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

const folder = mkdtempSync(join(tmpdir(), 'tstrace-hostile-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A tool on processes that work all the while; what it printed, and wrote into a file. */
async function trace(pids: string, args: readonly string[], path?: string): Promise<string> {
	const more = path === undefined ? [] : ['-o', path];
	const finished = await (await Tracing.start([...args, '-p', pids, ...more])).end();
	assert.equal(finished.status, 0, finished.stderr);
	assert.doesNotMatch(finished.stderr, RAW);
	return finished.stdout;
}

/** Processes that have these names, one each, on one CPU, so that they wait for each other; `use` gets what -p is to say. */
async function working(
	names: readonly string[],
	use: (pids: string) => Promise<void>,
): Promise<void> {
	const words = ['-c', '0', resolve('build/workloads/names')];
	const all = await Promise.all(names.map((name) => Workload.startBy('taskset', ...words, name)));
	try {
		await use(all.map(({ pid }) => pid).join());
	} finally {
		for (const workload of all) await workload.end();
	}
}

/** All strings of a value, wherever they are. */
function stringsIn(value: unknown): string[] {
	if (typeof value === 'string') return [value];
	return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const TABLES: readonly (readonly string[])[] = [
	['runqlat', '--by', 'comm', '0.3', '1'],
	['runqlat', '-L', '0.3', '1'],
	['runqlat', '--slower', '1', '0.3'],
	['syscount', '-P', '0.3', '1'],
	['schedlat', '0.3', '1'],
	['schedlat', '--by', 'comm', '0.3', '1'],
	['timehist', '0.3'],
	['timehist', '-w', '-n', '-M', '0.3'],
];

const STACKS: readonly (readonly string[])[] = [
	['offcputime', '0.4'],
	['profile', '-F', '999', '0.6'],
	['memleak', '--churn', '0.6', '1'],
];

const isShown = (text: string, name: string): boolean =>
	text.includes(printable(name)) || text.includes(printable(name).slice(0, 8));

for (const args of TABLES) {
	test(`tables and lines: ${args.join(' ')}`, async () => {
		await working(NAMES, async (pids) => {
			const text = await trace(pids, args);
			assert.doesNotMatch(text, RAW);
			for (const name of NAMES) assert.ok(isShown(text, name), `${printable(name)}: ${text}`);
			const json = await trace(pids, [...args, '--json']);
			assert.doesNotMatch(json, RAW);
			const lines = json.trimEnd().split('\n');
			const strings = lines.flatMap((line) => stringsIn(JSON.parse(line)));
			for (const name of NAMES) assert.ok(strings.includes(name), `${printable(name)}: ${json}`);
		});
	});
}

test('an HdrHistogram log', async () => {
	const path = join(folder, 'log.hlog');
	await working(NAMES, async (pids) => {
		await trace(pids, ['runqlat', '--by', 'comm', '0.3', '1', '--hdr', path]);
	});
	const log = readFileSync(path, 'utf8');
	assert.doesNotMatch(log, RAW);
	const fields = log.split('\n').filter((line) => line !== '' && !/^[#"]/.test(line));
	assert.equal(fields.length, NAMES.length, log);
	for (const line of fields) assert.match(line, /^(Tag=[^,\s]+,)?[\d.]+,[\d.]+,[\d.]+,[\w+/=]+$/);
});

for (const args of STACKS) {
	test(`${args[0]}, every format`, () => working(NAMES, (pids) => checkStacks(args, pids)));
}

async function checkStacks(args: readonly string[], pids: string): Promise<void> {
	const files = new Map<string, { path: string; bytes: Buffer }>();
	for (const ending of ['txt', 'json', 'folded', 'svg', 'html', 'pprof', 'speedscope.json']) {
		const path = join(folder, `stacks.${ending}`);
		await trace(pids, args, path);
		files.set(ending, { path, bytes: readFileSync(path) });
	}
	const inFile = (ending: string) => files.get(ending) ?? assert.fail(ending);
	for (const [ending, { bytes }] of files) {
		if (ending !== 'pprof') assert.doesNotMatch(bytes.toString(), RAW, ending);
		if (/svg|html/.test(ending)) assert.ok(!bytes.includes(']0;</script>'), ending);
	}
	const json = JSON.parse(inFile('json').bytes.toString());
	const stacks: { key: { comm: string } }[] = json.stacks;
	assert.deepEqual([...new Set(stacks.map(({ key }) => key.comm))].sort(), [...NAMES].sort());
	// Where names may be anything, they are the same when they are read back.
	for (const ending of ['json', 'pprof', 'speedscope.json']) {
		assert.deepEqual(await rootsOf(inFile(ending).path), [...NAMES].sort(), ending);
	}
	const unpacked = gunzipSync(inFile('pprof').bytes);
	for (const name of NAMES) assert.ok(unpacked.includes(name), printable(name));
	// Where they may not, they are what a terminal is shown; a mark at its end would be a kind.
	const shown = NAMES.map((name) => printable(name).replaceAll(';', ':')).sort();
	assert.deepEqual(await rootsOf(inFile('folded').path), shown);
}

/** The frames that stacks of a file begin with: the names of threads. */
async function rootsOf(path: string): Promise<string[]> {
	const roots = new Set<string>();
	for (const { frames, stacks } of await readProfiles([path], READING, () => undefined)) {
		for (let i = 0; i < stacks.size; i++) roots.add(frames.name(stacks.frameAt(i, 0)));
	}
	return [...roots].sort();
}
