/** Samples a program with profile and with `perf record --call-graph dwarf` at once, and compares the paths. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_DEPTH } from '../../src/bpf/stacks.js';
import { parseEvent } from '../../src/perf/events.js';
import { BpfTracing } from '../../src/run/tracing.js';
import { profile } from '../../src/tools/profile/profile.js';
import { KernelSamples } from '../../src/tools/profile/sampling.js';
import { Child, type Command } from '../children.js';
import { PERF_BEGIN_MS } from '../tracer.js';
import type { Program } from '../whole/programs.js';
import { type Found, foundIn, pathsOf, wholeOfPerf } from './paths.js';
import { onlyProcess, QUIET, USER_STACKS } from './raw.js';

const SECONDS = Number(process.env.SECONDS || 10);
const HZ = 199;
/** The most that perf copies of a stack. */
const DWARF = 'dwarf,65528';
const DRAIN_PERIOD_MS = 1000;
/** For what perf does before and after. */
const LIMIT_S = 300;

export const PERF_COLUMNS = [
	'program',
	"paths of perf's that tstrace has",
	'share of samples',
	"paths of tstrace's that perf has",
	'share of samples',
];

async function output(command: Command): Promise<string> {
	const limited = ['timeout', '-k', '5', `${SECONDS + LIMIT_S}`, ...command];
	const child = new Child(limited, ['ignore', 'pipe', 'ignore']);
	const pieces: Buffer[] = [];
	child.process.stdout?.on('data', (piece) => pieces.push(piece));
	await child.closed;
	return Buffer.concat(pieces).toString();
}

/** A row: what perf found and tstrace has, and the other way round. */
export async function againstPerf({ name }: Program, pid: number, file: string): Promise<string[]> {
	const reader: { samples?: KernelSamples<typeof profile.layout> } = {};
	const settings = {
		...USER_STACKS,
		...{ event: parseEvent('cpu-clock'), frequency_hz: HZ, period: undefined },
		...{ idle: false, notices: [] },
	};
	const recording = output([
		...['perf', 'record', '-q', '-e', 'cpu-clock', '-F', `${HZ}`, '--call-graph', DWARF],
		...['-p', `${pid}`, '-o', file, '--', 'sleep', `${SECONDS}`],
	]);
	await sleep(PERF_BEGIN_MS);
	const tool: typeof profile = {
		...profile,
		reader(object, own, subjects) {
			reader.samples = new KernelSamples(object, 'profile_sample', own, subjects);
			return reader.samples;
		},
	};
	const tracing = new BpfTracing(tool, settings, onlyProcess(pid), QUIET);
	const timer = setInterval(() => tracing.reader.drain?.(), DRAIN_PERIOD_MS);
	try {
		await recording;
		clearInterval(timer);
		tracing.detach();
		const captured = reader.samples?.captured() ?? [];
		const whole = captured.filter(
			({ user, userEnd }) => userEnd === 'whole' && user.length < MAX_DEPTH,
		);
		const ours = pathsOf(whole.map(({ user, count }) => ({ addresses: user, count })));
		// Without the files' inlined functions, which take addr2line minutes.
		const script = ['perf', 'script', '-i', file, '--no-inline', '-F', 'tid,ip,sym'];
		const perfs = pathsOf(wholeOfPerf(await output(script)));
		return [`| ${[name, cell(foundIn(perfs, ours)), cell(foundIn(ours, perfs))].join(' | ')} |`];
	} finally {
		clearInterval(timer);
		tracing.close();
	}
}

function cell({ paths, samples, missing }: Found): string {
	if (paths === 0) return 'none | –';
	const lacking = missing.reduce((sum, [, count]) => sum + count, 0);
	const share = (100 * (samples - lacking)) / samples;
	return `${paths - missing.length} of ${paths} | ${share.toFixed(2)} %`;
}
