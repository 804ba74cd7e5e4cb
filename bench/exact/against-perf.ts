/** Samples a program with profile and with `perf record --call-graph dwarf` at once, and compares the paths. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_DEPTH } from '../../src/bpf/stacks/stacks.js';
import { eventOf } from '../../src/perf/names.js';
import { BpfTracing } from '../../src/run/tracing.js';
import { profile } from '../../src/tools/profile/profile.js';
import { KernelSamples } from '../../src/tools/profile/sampling.js';
import { Child, type Command } from '../shared/children.js';
import { PERF_BEGIN_MS } from '../shared/tracer.js';
import type { Program } from '../whole/programs.js';
import { type Found, foundIn, pathsOf, wholeOfPerf } from './paths.js';
import { Places } from './places.js';
import { onlyProcess, QUIET, USER_STACKS } from './raw.js';

const SECONDS = Number(process.env.SECONDS || 10);
const HZ = 199;
/** The most that perf copies of a stack. */
const DWARF = 'dwarf,65528';
/** Paths without a counterpart that are printed. */
const SHOWN = 5;
const DRAIN_PERIOD_MS = 1000;
/** For what perf does before and after. */
const LIMIT_S = 300;

export const PERF_COLUMNS = [
	'program',
	"perf's paths that tstrace has",
	'their samples',
	'share found',
	"tstrace's paths that perf has",
	'their samples',
	'share found',
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
export async function againstPerf(
	{ name }: Program,
	pid: number,
	file: string,
	out: (text: string) => void,
): Promise<string[]> {
	const reader: { samples?: KernelSamples<typeof profile.layout> } = {};
	const settings = {
		...USER_STACKS,
		...{ event: eventOf('cpu-clock'), frequency_hz: HZ, period: undefined },
		...{ idle: false, notices: [] },
	};
	const recording = output([
		...['perf', 'record', '-q', '-e', 'cpu-clock', '-F', `${HZ}`, '--call-graph', DWARF],
		...['-p', `${pid}`, '-o', file, '--', 'sleep', `${SECONDS}`],
	]);
	await sleep(PERF_BEGIN_MS);
	const tool: typeof profile = {
		...profile,
		reader(object, own, subjects, _note, tables) {
			reader.samples = new KernelSamples(object, 'profile_sample', own, subjects, tables);
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
		const places = new Places(pid);
		const placed = whole.map(({ user, count }) => ({
			...{ frames: Array.from(user, (address) => places.of(address)), count },
		}));
		const ours = pathsOf(placed);
		// Without the files' inlined functions, which take addr2line minutes.
		const script = ['perf', 'script', '-i', file, '--no-inline', '-F', 'tid,ip,sym,dso'];
		const perfs = pathsOf(wholeOfPerf(await output(script)));
		const found = {
			"perf's, not tstrace's": foundIn(perfs, ours),
			"tstrace's, not perf's": foundIn(ours, perfs),
		};
		for (const [whose, { missing }] of Object.entries(found))
			for (const [path, samples] of missing.slice(0, SHOWN))
				out(`${name}: ${whose}: ${samples} samples: ${path}`);
		return [`| ${[name, ...Object.values(found).flatMap(cells)].join(' | ')} |`];
	} finally {
		clearInterval(timer);
		tracing.close();
	}
}

function cells({ paths, samples, all, missing }: Found): string[] {
	if (paths === 0) return ['none', '–', '–'];
	const lacking = missing.reduce((sum, [, count]) => sum + count, 0);
	const share = `${((100 * (samples - lacking)) / samples).toFixed(2)} %`;
	return [`${paths - missing.length} of ${paths}`, `${samples} of ${all}`, share];
}
