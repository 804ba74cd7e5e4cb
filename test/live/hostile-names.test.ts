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

/** A tool on a process that works all the while; what it printed, and wrote into a file. */
async function trace(pid: number, args: readonly string[], path?: string): Promise<string> {
	const more = path === undefined ? [] : ['-o', path];
	const finished = await (await Tracing.start([...args, '-p', `${pid}`, ...more])).end();
	assert.equal(finished.status, 0, finished.stderr);
	assert.doesNotMatch(finished.stderr, RAW);
	return finished.stdout;
}

async function working(name: string, use: (pid: number) => Promise<void>): Promise<void> {
	const words = ['-n', '5', 'taskset', '-c', '0', resolve('build/workloads/names'), name];
	const workload = await Workload.startBy('nice', ...words);
	try {
		await use(workload.pid);
	} finally {
		await workload.end();
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
	['offcputime', '0.2'],
	['profile', '-F', '999', '0.5'],
	['memleak', '--churn', '0.2', '1'],
];

for (const name of NAMES) {
	test(`tables and lines: ${printable(name)}`, async () => {
		// With a third of its weight, on its CPU: there are long waits however quiet the machine is.
		const hog = await Workload.start('hog', '0');
		await working(name, async (pid) => {
			for (const args of TABLES) {
				const what = args.join(' ');
				const text = await trace(pid, args);
				assert.doesNotMatch(text, RAW, what);
				const isShown =
					text.includes(printable(name)) || text.includes(printable(name).slice(0, 8));
				assert.ok(isShown, `${what}: ${text}`);
				const json = await trace(pid, [...args, '--json']);
				assert.doesNotMatch(json, RAW, what);
				const lines = json.trimEnd().split('\n');
				const strings = lines.flatMap((line) => stringsIn(JSON.parse(line)));
				assert.ok(strings.includes(name), `${what}: ${json}`);
			}
		});
		await hog.end();
	});

	test(`an HdrHistogram log: ${printable(name)}`, async () => {
		const path = join(folder, 'log.hlog');
		await working(name, async (pid) => {
			await trace(pid, ['runqlat', '--by', 'comm', '0.3', '1', '--hdr', path]);
		});
		const log = readFileSync(path, 'utf8');
		assert.doesNotMatch(log, RAW);
		const fields = log.split('\n').filter((line) => line !== '' && !/^[#"]/.test(line));
		assert.ok(fields.length > 0);
		for (const line of fields) assert.match(line, /^(Tag=[^,\s]+,)?[\d.]+,[\d.]+,[\d.]+,[\w+/=]+$/);
	});

	for (const args of STACKS) {
		test(`${args[0]}, every format: ${printable(name)}`, async () => {
			await working(name, (pid) => checkStacks(args, name, pid));
		});
	}
}

async function checkStacks(args: readonly string[], name: string, pid: number): Promise<void> {
	const inFile = async (ending: string): Promise<{ path: string; bytes: Buffer }> => {
		const path = join(folder, `stacks.${ending}`);
		await trace(pid, args, path);
		return { path, bytes: readFileSync(path) };
	};
	for (const ending of ['txt', 'json', 'folded', 'svg', 'html', 'speedscope.json']) {
		const { bytes } = await inFile(ending);
		assert.doesNotMatch(bytes.toString(), RAW, ending);
		if (/svg|html/.test(ending)) assert.ok(!bytes.includes(']0;</script>'), ending);
	}
	const json = JSON.parse((await inFile('json')).bytes.toString());
	const stacks: { key: { comm: string } }[] = json.stacks;
	assert.deepEqual([...new Set(stacks.map(({ key }) => key.comm))], [name]);
	// Where names may be anything, they are the same when they are read back.
	for (const ending of ['json', 'pprof', 'speedscope.json']) {
		const { path, bytes } = await inFile(ending);
		assert.equal(await rootOf(path), name, ending);
		if (ending === 'pprof') assert.ok(gunzipSync(bytes).includes(name));
	}
	// Where they may not, they are what a terminal is shown; a mark at its end would be a kind.
	const folded = await rootOf((await inFile('folded')).path);
	assert.equal(folded, printable(name).replaceAll(';', ':'));
}

/** The frame that all stacks of a file begin with: the thread's name. */
async function rootOf(path: string): Promise<string> {
	const roots = new Set<string>();
	for (const { frames, stacks } of await readProfiles([path], READING, () => undefined)) {
		for (let i = 0; i < stacks.size; i++) roots.add(frames.name(stacks.frameAt(i, 0)));
	}
	assert.equal(roots.size, 1, JSON.stringify([...roots]));
	return [...roots][0] as string;
}
