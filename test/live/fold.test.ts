/** fold on what perf records here, whichever fields perf script prints, against perf's own sums. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { foldedLines } from './stacks.js';
import { type Finished, runToEnd, tstrace } from './support.js';

const INLINED = 'build/workloads/inlined';
const ROUNDS = '100000000';
/** Faults, forks, executes, reads. */
const MANY_THINGS = ['sh', '-c', 'find /usr/lib -name "*.so" | sort | wc'];

const folder = mkdtempSync(join(tmpdir(), 'tstrace-fold-'));
after(() => rmSync(folder, { recursive: true }));

function succeeded(finished: Finished): Finished {
	assert.equal(finished.status, 0, finished.stderr);
	return finished;
}

function record(name: string, options: readonly string[], command: readonly string[]): string {
	const path = join(folder, name);
	succeeded(runToEnd('perf', ['record', '-q', ...options, '-o', path, '--', ...command]));
	return path;
}

function script(recording: string, ...options: readonly string[]): string {
	return succeeded(runToEnd('perf', ['script', '-i', recording, ...options])).stdout;
}

/** What fold makes of a text, and what it had to say. */
function fold(text: string, ...options: readonly string[]): [lines: [string[], number][], string] {
	const path = join(folder, 'text');
	writeFileSync(path, text);
	const { stdout, stderr } = succeeded(tstrace(['fold', ...options, path]));
	return [foldedLines(stdout), stderr];
}

const sum = (lines: readonly [string[], number][]) =>
	lines.reduce((total, [, value]) => total + value, 0);

/** Samples and the sum of their periods by event, as perf prints them a line each. */
function perfSums(recording: string): Map<string, { samples: number; periods: number }> {
	const found = new Map<string, { samples: number; periods: number }>();
	for (const line of script(recording, '-F', 'period,event').split('\n')) {
		const [, period = '', event = ''] = /^\s*(\d+)\s+(\S+):/.exec(line) ?? [];
		if (event === '') continue;
		const { samples, periods } = found.get(event) ?? { samples: 0, periods: 0 };
		found.set(event, { samples: samples + 1, periods: periods + Number(period) });
	}
	return found;
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
	'the default': [],
	'with a header': ['--header'],
	'with side-band events': ['--show-task-events', '--show-mmap-events'],
	'with flags and ns': ['-F', '+misc', '--ns'],
	'all that stackcollapse-perf.pl asks for': [
		'-F',
		'comm,pid,tid,cpu,time,period,event,ip,sym,dso',
	],
	'no time': ['-F', 'comm,tid,period,event,ip,sym,dso'],
	'no module': ['-F', 'comm,tid,time,period,event,ip,sym'],
	'no symbol': ['-F', 'comm,tid,time,period,event,ip,dso'],
	'no number': ['-F', 'comm,cpu,time,period,event,ip,sym,dso'],
	'no call chains': ['-G'],
	'nothing of stacks': ['-F', 'comm,tid,time,period,event'],
};

let several = '';
let sums: ReturnType<typeof perfSums> = new Map();
before(() => {
	const events = ['-e', 'cpu-clock,page-faults', '-F', '299', '-a', '-g'];
	several = record('several.data', events, MANY_THINGS);
	sums = perfSums(several);
});

for (const [what, options] of Object.entries(FIELDS)) {
	test(`sums by event are perf's own: ${what}`, () => {
		assert.deepEqual([...sums.keys()].sort(), ['cpu-clock', 'page-faults']);
		const text = script(several, ...options);
		for (const [event, { periods }] of sums) {
			const [lines, stderr] = fold(text, '--event-filter', event);
			assert.equal(sum(lines), periods, event);
			assert.doesNotMatch(stderr, /left out/);
		}
		const [all, stderr] = fold(text);
		for (const [event, { periods }] of sums) {
			assert.equal(sum(all.filter(([[root]]) => root === event)), periods, event);
		}
		assert.match(stderr, /the input has 2 events/);
	});
}

test('without periods each sample counts 1', () => {
	const text = script(several, '-F', 'comm,tid,time,event,ip,sym,dso');
	for (const [event, { samples }] of sums) {
		assert.equal(sum(fold(text, '--event-filter', event)[0]), samples);
	}
});

test('--pid, --tid: the numbers that perf prints', () => {
	const text = script(several, '-F', 'comm,pid,tid,time,period,event,ip,sym,dso');
	const numbers = new Set(
		Array.from(text.matchAll(/^\S.*?\s(-?\d+)\/-?\d+\s+\d/gm), ([, pid]) => pid),
	);
	const [lines] = fold(text, '--pid', '--event-filter', 'cpu-clock');
	for (const [[comm = '']] of lines) {
		// Process 0 is the idle CPUs', which stackcollapse-perf.pl does not name. Names may end in hyphens.
		const isIdle = comm.startsWith('swapper') && comm.endsWith('-?');
		// One that is being reaped has the number -1.
		assert.ok(isIdle || [...numbers].some((pid) => comm.endsWith(`-${pid}`)), comm);
	}
});

test('a tracepoint counts its events', () => {
	const path = record('switches.data', ['-e', 'sched:sched_switch', '-g'], MANY_THINGS);
	const { samples } = perfSums(path).get('sched:sched_switch') ?? assert.fail('none');
	const [lines] = fold(script(path), '--kernel');
	assert.equal(sum(lines), samples);
	for (const [frames] of lines) assert.match(frames.at(-1) ?? '', /_\[k\]$/);
});

test('--inline finds in a program what perf finds there', () => {
	const options = ['-e', 'cpu-clock', '-F', '997', '--call-graph', 'dwarf'];
	const path = record('inlined.data', options, [INLINED, ROUNDS]);
	const [theirs] = fold(script(path));
	const [ours] = fold(script(path, '--no-inline'), '--inline');
	const chain = 'main;outer;middle;innermost';
	const inChain = (lines: readonly [string[], number][]) =>
		sum(lines.filter(([frames]) => frames.join(';').includes(chain)));
	assert.ok(inChain(theirs) > 0);
	assert.equal(inChain(ours), inChain(theirs));
	assert.equal(sum(ours), sum(theirs));
});

test('a pipe, and a packed file', () => {
	const text = join(folder, 'piped');
	writeFileSync(text, script(several));
	const direct = succeeded(tstrace(['fold', text])).stdout;
	const piped = runToEnd('sh', ['-c', `cat ${text} | bin/tstrace fold`]);
	assert.equal(succeeded(piped).stdout, direct);
	succeeded(runToEnd('gzip', [text]));
	assert.equal(succeeded(tstrace(['fold', `${text}.gz`])).stdout, direct);
});

test('errors say what to do, with status 2 for wrong usage and 1 for the rest', () => {
	const text = join(folder, 'text');
	writeFileSync(text, script(several));
	const event = tstrace(['fold', '--event-filter', 'cycles', text]);
	assert.equal(event.status, 1);
	assert.match(event.stderr, /no event cycles; there are: .*cpu-clock/);
	const both = tstrace(['fold', '--pid', '--tid', text]);
	assert.equal(both.status, 2);
	assert.match(both.stderr, /give either --pid or --tid/);
	const none = tstrace(['fold', '--grep', '^no such function$', text]);
	assert.equal(none.status, 1);
	assert.match(none.stderr, /nothing to write/);
	const data = tstrace(['fold', several]);
	assert.equal(data.status, 1);
	assert.match(data.stderr, /perf script -i FILE/);
});
