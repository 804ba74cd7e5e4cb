/**
 * Options in combination: each two options of a tool that it does not refuse together (test/unit/pairs) are in
 * a run, which has a result, and shows what it was asked for.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { tools } from '../../src/generated/tools.js';
import { cgroupMount } from '../../src/proc/cgroup.js';
import type { AnyTool } from '../../src/tool.js';
import { argumentsOf, type Level, refusal, rowsOf } from '../pairs/levels.js';
import { type Finished, tstrace, Workload } from './support.js';

const all: readonly AnyTool[] = await Promise.all(Object.values(tools).map((load) => load()));
const folder = mkdtempSync(join(tmpdir(), 'pairs-'));
const mount = cgroupMount() ?? '';
const cgroup = `tstrace-pairs-${process.pid}`;
/** As Docker has them: an ID of 64 digits. */
const containerId = process.pid.toString(16).padStart(8, 'c').padEnd(64, '0');
const container = `docker-${containerId}.scope`;
/** With an allocator of its own, for memleak's -O and --prefix. */
const LIBRARY = resolve('build/workloads/libheaps.so');
const TO_JSON: Level = { option: 'json', words: ['--json'], names: [] };
/** Where nobody names a format, a pipe gets folded stacks, for which some options are refused. */
const TO_TEXT: Level = { option: 'format', words: ['--format', 'text'], names: [] };
const TO_FILE: Level = { option: 'output', words: ['-o', 'FILE'], names: [] };
const OF_SUBJECT: Level = { option: 'pid', words: ['-p', 'PID'], names: [] };
/** Options of which each names some of the machine's threads: few are traced then. */
const FEW = ['pid', 'tid', 'comm', 'cgroup', 'container', 'COMMAND'];
let subject: Workload;

/** What is traced: it naps and works, over and over. */
async function startSubject(): Promise<void> {
	const naps = [resolve('build/workloads/naps'), '100000000', '100', '900'];
	subject = await Workload.startBy('env', `LD_PRELOAD=${LIBRARY}`, ...naps);
	writeFileSync(join(mount, cgroup, container, 'cgroup.procs'), `${subject.pid}`);
	subject.begin();
}

before(() => mkdirSync(join(mount, cgroup, container), { recursive: true }));
after(() => {
	rmdirSync(join(mount, cgroup, container));
	rmdirSync(join(mount, cgroup));
	rmSync(folder, { recursive: true });
});

/** What stands for words in capitals. */
const given = (): Readonly<Record<string, string>> => ({
	PID: `${subject.pid}`,
	TID: `${subject.tid}`,
	COMM: 'naps',
	CGROUP: cgroup,
	CONTAINER: containerId.slice(0, 12),
	FILE: join(folder, 'result'),
	LOG: join(folder, 'log'),
	LIBRARY,
	'LD_PRELOAD=LIBRARY': `LD_PRELOAD=${LIBRARY}`,
});

/** Throws where a result is not what the format promises. */
const READABLE: Readonly<Record<string, (result: Buffer) => void>> = {
	folded: (result) => assert.match(`${result}`, /^(\S.* \d+(\.\d+)?\n)*$/),
	svg: (result) => assert.match(`${result}`, /^(<\?xml.*\n)?(<!.*\n)?<svg [\s\S]*<\/svg>\s*$/),
	html: (result) => assert.match(`${result}`, /^<!doctype html>[\s\S]*<\/html>\s*$/i),
	pprof: (result) => assert.ok(gunzipSync(result).length > 0),
	speedscope: (result) => assert.match(JSON.parse(`${result}`).$schema, /speedscope/),
	text: () => undefined,
};

/** What each filter is in the `filters` of JSON. */
const FILTERS: Readonly<Record<string, () => Record<string, unknown>>> = {
	pid: () => ({ pids: [subject.pid] }),
	tid: () => ({ tids: [subject.tid] }),
	comm: () => ({ comms: ['naps'] }),
	cgroup: () => ({ cgroups: [cgroup] }),
	container: () => ({ cgroups: [`/${cgroup}/${container}`] }),
	cpu: () => ({ cpus: [0] }),
	userThreads: () => ({ user_threads: true }),
	kernelThreads: () => ({ kernel_threads: true }),
	follow: () => ({ follow: true }),
	grep: () => ({ grep: ['/./'] }),
	exclude: () => ({ exclude: ['/^no_such_function$/'] }),
	hideIdle: () => ({ hide_idle: true }),
};

const givenFor = (row: readonly Level[], option: string) =>
	row.find((level) => level.option === option)?.words.at(-1);
const has = (row: readonly Level[], option: string) => givenFor(row, option) !== undefined;

/** The format of the result, as the options say. */
function formatOf(tool: AnyTool, row: readonly Level[]): string {
	for (const short of ['json', 'folded']) if (has(row, short)) return short;
	return givenFor(row, 'format') ?? (tool.stackTool?.use === 'to draw' ? 'folded' : 'text');
}

function check(tool: AnyTool, row: readonly Level[], finished: Finished): void {
	const { status, stderr, stdout } = finished;
	assert.equal(status, 0, stderr);
	assert.doesNotMatch(stderr, /^\s+at |TypeError|undefined|NaN|\[object/m);
	const result = has(row, 'output') ? readFileSync(join(folder, 'result')) : Buffer.from(stdout);
	if (has(row, 'output')) assert.equal(stdout, '', 'the result is in the file alone');
	const format = formatOf(tool, row);
	if (format === 'json') {
		const reports = `${result}`
			.trimEnd()
			.split('\n')
			.map((line) => JSON.parse(line));
		const filters = row.map(({ option }) => FILTERS[option]?.() ?? {});
		for (const report of reports) {
			assert.equal(report.tool, tool.name);
			assert.deepEqual(report.filters, Object.assign({}, ...filters));
		}
	} else {
		READABLE[format]?.(result) ?? assert.ok(format in READABLE, format);
	}
	if (has(row, 'hdr')) assert.match(readFileSync(join(folder, 'log'), 'utf8'), /^$|^#\[/);
	if (has(row, 'timestamps') && format === 'text') assert.match(`${result}`, /^\d\d:\d\d:\d\d$/m);
	if (has(row, 'quiet')) assert.doesNotMatch(stderr, /^(Tracing|cost:|note:)/m);
	else assert.match(stderr, /^Tracing .*\n[\s\S]*^cost: /m);
	if (has(row, 'verbose'))
		assert.match(stderr, new RegExp(`^${tool.name}: (loaded|without BPF:) `, 'm'));
}

/** With what makes the result easy to read, where nothing says otherwise: JSON, and bytes in a file. */
function readable(tool: AnyTool, row: readonly Level[]): readonly Level[] {
	const more = givenFor(row, 'format') === 'pprof' ? TO_FILE : TO_JSON;
	if (has(row, more.option) || (more === TO_JSON && has(row, 'format'))) return row;
	if (refusal(tool, [...row, more]) === undefined) return [...row, more];
	const isFolded = !['json', 'folded', 'format'].some((option) => has(row, option));
	return has(row, 'top') && isFolded && tool.stackTool?.use === 'to draw' ? [...row, TO_TEXT] : row;
}

/**
 * The first row that names no threads traces the whole machine; the others trace the subject, whose files alone are
 * then read, in a fraction of the time.
 */
function narrowed(tool: AnyTool, rows: readonly (readonly Level[])[]): (readonly Level[])[] {
	const isWide = (row: readonly Level[]) => !FEW.some((option) => has(row, option));
	const widest = rows.find(isWide);
	return rows.map((row) => {
		if (row === widest || !isWide(row)) return row;
		const narrow = [...row, OF_SUBJECT];
		return refusal(tool, narrow) === undefined ? narrow : row;
	});
}

for (const tool of all) {
	test(`${tool.name}: each two of its options`, async () => {
		await startSubject();
		const { levels, covering } = rowsOf(tool);
		const failed: string[] = [];
		const rows = covering.rows.map((numbers) => numbers.map((i) => levels[i] as Level));
		for (const narrow of narrowed(tool, rows)) {
			const row = readable(tool, narrow);
			const args = argumentsOf(tool, row).map((word) => given()[word] ?? word);
			const finished = tstrace(args);
			try {
				check(tool, row, finished);
			} catch (error) {
				const said = `${finished.stdout.slice(0, 1000)}${finished.stderr}`;
				failed.push(`tstrace ${args.join(' ')}: ${(error as Error).message}\n${said}`);
			}
			rmSync(join(folder, 'result'), { force: true });
			rmSync(join(folder, 'log'), { force: true });
		}
		process.kill(subject.pid, 'SIGKILL');
		await subject.end();
		assert.deepEqual(failed, []);
	});
}
