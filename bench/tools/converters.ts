/** flamegraph, diff and fold against the scripts of FlameGraph, on the same files: docs/tools/. */
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { timed } from '../experiments/commands.js';
import { STACKS, writeStacks } from '../experiments/folded-stacks.js';
import {
	type Benchmark,
	type Figure,
	type Guarded,
	type Side,
	toPeers,
} from '../experiments/measure.js';
import { PEAK } from '../guard/figures.js';
import { flamegraphPl, flamegraphScript, type Peer } from '../shared/peers.js';
import { scratch } from '../shared/scratch.js';
import { lineOf, TSTRACE } from '../shared/tracer.js';

const LARGE_BYTES = 1e9;
const RECORDINGS = 'test/fixtures/perf-script';
const RECORDED_BYTES = 150e6;

const folded = scratch('stacks');
const before = scratch('before');
const large = scratch('large');
const script = scratch('script');

function side(name: string, line: string, { version, missing }: Partial<Peer> = {}): Side {
	return { name, command: line, version, missing, run: () => timed(line, scratch('out')) };
}

const of = ({ command }: Peer, ...args: string[]) => lineOf([...command, ...args]);

const CPU = { key: 'cpu_ms', name: 'CPU time', unit: 'ms', digits: 0 };
const TIME = { key: 'seconds', name: 'time to the finished file', unit: 's', digits: 2 };

function figures(sides: readonly Side[]): Figure[] {
	const ratios = toPeers(sides);
	return [
		{ ...TIME, ratios },
		{ ...PEAK, digits: 0, ratios },
		{ key: 'written_mb', name: 'written', unit: 'MB', digits: 2, ratios },
	];
}

/** Writes files; the last step removes them. */
function files(write: () => void, ...paths: string[]) {
	return async () => {
		write();
		return () => {
			for (const path of paths) rmSync(path, { force: true });
		};
	};
}

/** The recordings of the tests, again and again. */
function writeScript(): void {
	const texts = readdirSync(RECORDINGS)
		.filter((name) => name.endsWith('.txt.gz'))
		.map((name) => gunzipSync(readFileSync(join(RECORDINGS, name))));
	for (let bytes = 0; bytes < RECORDED_BYTES; ) {
		for (const text of texts) {
			appendFileSync(script, text);
			bytes += text.length;
		}
	}
}

const drawer = flamegraphPl();
const differ = flamegraphScript('difffolded.pl');
const collapser = flamegraphScript('stackcollapse-perf.pl');

const drawing = (program: string) => side('tstrace flamegraph', `${program} flamegraph ${folded}`);
const differing = (program: string) =>
	side('tstrace diff', `${program} diff --format svg ${before} ${folded}`);
const folding = (program: string) => side('tstrace fold', `${program} fold -q ${script}`);

const DRAW = [drawing(TSTRACE), side('flamegraph.pl', of(drawer, folded), drawer)];
const LARGE = [side('tstrace flamegraph', `bin/tstrace flamegraph ${large}`)];
const FORMATS = ['pprof', 'speedscope', 'html'].map((format) =>
	side(`tstrace --format ${format}`, `bin/tstrace flamegraph --format ${format} ${folded}`),
);
const DIFFERENCE = [
	differing(TSTRACE),
	side(
		'difffolded.pl, flamegraph.pl',
		`${of(differ, before, folded)} | ${of(drawer)}`,
		differ.missing ? differ : drawer,
	),
];
const FOLD = [folding(TSTRACE), side('stackcollapse-perf.pl', of(collapser, script), collapser)];

const writeFolded = () => writeStacks(folded, 0);
const TO_DRAW = {
	workload: `${STACKS} different stacks, to an SVG`,
	prepare: files(writeFolded, folded),
};
const TO_COMPARE = {
	workload: `two recordings of ${STACKS} different stacks, to an SVG`,
	prepare: files(
		() => {
			writeFolded();
			writeStacks(before, 0, 2);
		},
		folded,
		before,
	),
};
const TO_FOLD = {
	workload: '150 MB of perf script text, to folded stacks',
	prepare: files(writeScript, script),
};

/** CPU time and memory are the same on a busy machine; time is not. */
const guarded = (work: Pick<Guarded, 'workload' | 'prepare'>, side: Guarded['side']): Guarded => ({
	...work,
	workload: `${side(TSTRACE).name}: ${work.workload}`,
	side,
	figures: [TIME, CPU, PEAK],
});

export const flamegraph: Benchmark = {
	tool: 'flamegraph',
	experiments: [
		{
			...TO_DRAW,
			sides: DRAW,
			figures: figures(DRAW),
			rounds: 5,
		},
		{
			workload: `${STACKS} different stacks, to other formats`,
			prepare: files(writeFolded, folded),
			sides: FORMATS,
			figures: figures(FORMATS),
			rounds: 3,
		},
		{
			workload: '1 GB of folded stacks, to an SVG',
			prepare: files(() => writeStacks(large, LARGE_BYTES), large),
			sides: LARGE,
			figures: figures(LARGE),
			rounds: 1,
			limit_s: 180,
		},
	],
	guarded: [guarded(TO_DRAW, drawing)],
};

export const diff: Benchmark = {
	tool: 'diff',
	experiments: [
		{
			...TO_COMPARE,
			sides: DIFFERENCE,
			figures: figures(DIFFERENCE),
			rounds: 5,
		},
	],
	guarded: [guarded(TO_COMPARE, differing)],
};

export const fold: Benchmark = {
	tool: 'fold',
	experiments: [
		{
			...TO_FOLD,
			sides: FOLD,
			figures: figures(FOLD),
			rounds: 5,
		},
	],
	guarded: [guarded(TO_FOLD, folding)],
};
