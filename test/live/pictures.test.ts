/** Stack tools write pictures and files of other viewers, with unit, title and totals that are right. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { arch, hostname, release, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { profileTotal, type StackProfile } from '../../src/aggregate/stack-profile.js';
import { readProfiles } from '../../src/input/read-files.js';
import { PLAIN_READING } from '../../src/options/recordings.js';
import { foldedLines, traceWork } from './stacks.js';
import { tstrace, Workload } from './support.js';
import { stealing } from './times.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-pictures-'));
after(() => rmSync(folder, { recursive: true }));

const WAITS = ['waits', '10', '2000'] as const;
/** In each of 10 rounds `waits` sleeps for 2, 4, 6 and 2 ms. */
const WAITED_NS = 10 * 14e6;

interface Recorded {
	readonly path: string;
	/** It waited so long at least: what is stolen of it before a wait begins shortens that. */
	readonly least_ns: number;
}

/** Off-CPU time of `waits` in a file; with these names the format is known. */
async function recorded(name: string, ...args: readonly string[]): Promise<Recorded> {
	const stolen_ns = stealing();
	const workload = await Workload.start(...WAITS);
	const path = join(folder, name);
	const all = ['offcputime', '--exact', '-t', `${workload.tid}`, '-o', path, ...args];
	const { finished } = await traceWork(workload, all);
	assert.equal(finished.status, 0, finished.stderr);
	return { path, least_ns: WAITED_NS - stolen_ns() };
}

async function readBack(path: string): Promise<StackProfile> {
	const [profile, ...others] = await readProfiles([path], PLAIN_READING, () => undefined);
	assert.ok(profile && others.length === 0);
	return profile;
}

function hasFrame({ frames }: StackProfile, name: string): boolean {
	return Array.from({ length: frames.size }, (_, i) => frames.name(i)).includes(name);
}

test('an SVG: its root is what was waited, in time; title and who recorded it', async () => {
	const { path, least_ns } = await recorded('out.svg');
	const svg = readFileSync(path, 'utf8');
	assert.match(svg, /<title>Off-CPU Time Flame Graph<\/title>/);
	assert.match(svg, new RegExp(`tstrace offcputime --exact .* · ${hostname()} · 20.* s<`));
	const [, total, text] =
		/data-depth="0" data-value="(\d+)"><title>all \((.*?), 100/.exec(svg) ?? [];
	assert.ok(Number(total) > least_ns && Number(total) < 100 * WAITED_NS, `${total}`);
	assert.match(text ?? '', /^\d+ ms|^[\d.]+ s/);
	for (const name of ['waits', 'wait_in_nanosleep', 'wait_in_futex', 'wait_in_pipe']) {
		assert.match(svg, new RegExp(`<title>${name} \\(`));
	}
});

for (const name of ['out.pb.gz', 'out.speedscope.json', 'out.json']) {
	test(`${name}: what is read back has the same unit, names and time`, async () => {
		const { path, least_ns } = await recorded(name);
		const profile = await readBack(path);
		assert.ok(['ns', 'nanoseconds'].includes(profile.origin.unit ?? ''), profile.origin.unit);
		assert.ok(profileTotal(profile) > least_ns);
		for (const frame of ['waits', 'wait_in_nanosleep', 'wait_in_futex', 'wait_in_pipe']) {
			assert.ok(hasFrame(profile, frame), frame);
		}
		const { frames } = profile;
		const kinds = Array.from({ length: frames.size }, (_, i) => frames.kind(i));
		assert.ok(kinds.includes('kernel') && kinds.includes('user'), 'kinds are kept');
	});
}

test('a page', async () => {
	const page = readFileSync((await recorded('out.html')).path, 'utf8');
	assert.match(page, /^<!doctype html>/i);
	assert.match(page, /Off-CPU Time Flame Graph/);
	assert.match(page, /wait_in_futex/);
});

test('as it is typed: tstrace offcputime -p PID 1 | flamegraph > offcpu.svg', async () => {
	const workload = await Workload.start(...WAITS);
	const command = `bin/tstrace offcputime -p ${workload.pid} 1 | bin/flamegraph > ${folder}/typed.svg`;
	const shell = spawn('sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] });
	await once(shell.stderr, 'data'); // tracing has begun
	workload.begin();
	const [status] = await once(shell, 'exit');
	await workload.end();
	assert.equal(status, 0);
	assert.match(readFileSync(join(folder, 'typed.svg'), 'utf8'), /<title>wait_in_futex \(/);
});

/** What a picture says of itself, drawn by a pipe line of bash with job control, as at a terminal. */
function drawnBy(pipeLine: string): { title: string; total: string; by: string } {
	const { stdout, stderr } = spawnSync('bash', ['-c', `set -m; ${pipeLine}`], {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'pipe'],
		maxBuffer: 1 << 28,
	});
	const found = (pattern: RegExp) => pattern.exec(stdout)?.[1] ?? assert.fail(stderr);
	return {
		title: found(/<title>([^<(]*)<\/title>/),
		total: found(/<title>all \((.*?), 100/),
		by: found(/class="subtitle"[^>]*>([^<]*)/),
	};
}

for (const [how, pipe] of [
	['as README has it', (args: string) => `bin/tstrace ${args} | bin/flamegraph`],
	['by way of env', (args: string) => `env A=1 bin/tstrace ${args} | bin/flamegraph`],
	['in a subshell', (args: string) => `(bin/tstrace ${args}; true) | bin/flamegraph`],
	[
		// As an ordinary user sees what sudo started: of /proc/PID/fd it may see nothing.
		'without the right to look into other processes',
		(args: string) => `bin/tstrace ${args} | setpriv --bounding-set=-all bin/flamegraph`,
	],
] as const) {
	test(`a process that only sleeps, its picture ${how}: unit, title and who`, async () => {
		const sleeper = spawn('sleep', ['1000'], { stdio: 'ignore' });
		try {
			const args = `offcputime -q -p ${sleeper.pid} 0.3`;
			const { title, total, by } = drawnBy(pipe(args));
			assert.equal(title, 'Off-CPU Time Flame Graph');
			assert.equal(by, `tstrace ${args}`);
			// It slept all the time, which is known to begin and to end within milliseconds.
			const [, waited_ms] = /^(\d+) ms$/.exec(total) ?? assert.fail(total);
			assert.ok(Number(waited_ms) >= 300, total);
		} finally {
			sleeper.kill('SIGKILL');
			await once(sleeper, 'exit');
		}
	});
}

test('with tee between nobody can tell: nothing wrong is said', async () => {
	const workload = await Workload.start('burns', 'user');
	workload.begin();
	const args = `profile -q -e cpu-clock -F 999 -p ${workload.pid} 0.3`;
	const { title, total, by } = drawnBy(`bin/tstrace ${args} | tee /dev/null | bin/flamegraph`);
	await workload.end();
	assert.deepEqual([title, by], ['Flame Graph', '']);
	assert.match(total, /^\d+$/);
});

test('JSON says what a later comparison needs', () => {
	const args = [
		'profile',
		'-e',
		'cpu-clock',
		'-F',
		'200',
		'--json',
		'--comm',
		'no-such',
		'-u',
		'0.05',
	];
	const { stdout } = tstrace(args);
	const result = JSON.parse(stdout);
	assert.deepEqual(
		[result.command, result.host, result.kernel, result.arch, result.filters],
		[
			['tstrace', ...args],
			hostname(),
			release(),
			arch(),
			{ comms: ['no-such'], user_threads: true },
		],
	);
	assert.equal(result.frequency_hz, 200);
	assert.ok(result.duration_s >= 0.05);
});

test('folded stacks on a pipe and the same in JSON, folded: the same lines', async () => {
	const { path: json } = await recorded('same.json', '--json');
	const { stdout } = spawnSync(resolve('bin/tstrace'), ['fold', json], { encoding: 'utf8' });
	const lines = foldedLines(stdout);
	assert.ok(lines.every(([frames]) => frames[0] === 'waits'));
	const total = lines.reduce((sum, [, value]) => sum + value, 0);
	assert.equal(total, profileTotal(await readBack(json)));
});

test('what only programs read is not written to a terminal', () => {
	const command = `${resolve('bin/tstrace')} profile --format pprof 0.05`;
	const { status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
		encoding: 'utf8',
	});
	assert.equal(status, 2);
	assert.match(stdout, /pprof.*terminal.*-o FILE/);
});
