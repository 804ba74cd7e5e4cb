/** flamegraph, diff and fold against the scripts of FlameGraph, on the same files: docs/tools/. */
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { timed } from '../commands.js';
import { type Benchmark, type Figure, type Side, toPeers, type Wishes } from '../measure.js';
import { flamegraphPl, flamegraphScript, type Peer } from '../peers.js';
import { scratch } from '../scratch.js';
import { STACKS, writeStacks } from '../stacks.js';
import { lineOf } from '../tracer.js';

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

function figures(sides: readonly Side[], wishes: Wishes = {}): Figure[] {
	const ratios = toPeers(sides);
	return [
		{
			key: 'seconds',
			name: 'time to the finished file',
			unit: 's',
			digits: 2,
			ratios: toPeers(sides, wishes),
		},
		{ key: 'peak_mb', name: 'peak resident memory', unit: 'MB', digits: 0, ratios },
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

const DRAW = [
	side('tstrace flamegraph', `bin/tstrace flamegraph ${folded}`),
	side('flamegraph.pl', of(drawer, folded), drawer),
];
const LARGE = [side('tstrace flamegraph', `bin/tstrace flamegraph ${large}`)];
const FORMATS = ['pprof', 'speedscope', 'html'].map((format) =>
	side(`tstrace --format ${format}`, `bin/tstrace flamegraph --format ${format} ${folded}`),
);
const DIFFERENCE = [
	side('tstrace diff', `bin/tstrace diff --format svg ${before} ${folded}`),
	side(
		'difffolded.pl, flamegraph.pl',
		`${of(differ, before, folded)} | ${of(drawer)}`,
		differ.missing ? differ : drawer,
	),
];
const FOLD = [
	side('tstrace fold', `bin/tstrace fold -q ${script}`),
	side('stackcollapse-perf.pl', of(collapser, script), collapser),
];

const writeFolded = () => writeStacks(folded, 0);

export const flamegraph: Benchmark = {
	tool: 'flamegraph',
	experiments: [
		{
			workload: `${STACKS} different stacks, to an SVG`,
			prepare: files(writeFolded, folded),
			sides: DRAW,
			figures: figures(DRAW, { 'tstrace flamegraph / flamegraph.pl': { guard: true } }),
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
};

export const diff: Benchmark = {
	tool: 'diff',
	experiments: [
		{
			workload: `two recordings of ${STACKS} different stacks, to an SVG`,
			prepare: files(
				() => {
					writeFolded();
					writeStacks(before, 0, 2);
				},
				folded,
				before,
			),
			sides: DIFFERENCE,
			figures: figures(DIFFERENCE),
			rounds: 5,
		},
	],
};

export const fold: Benchmark = {
	tool: 'fold',
	experiments: [
		{
			workload: '150 MB of perf script text, to folded stacks',
			prepare: files(writeScript, script),
			sides: FOLD,
			figures: figures(FOLD),
			rounds: 5,
		},
	],
};
