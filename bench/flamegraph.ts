/** flamegraph against flamegraph.pl, on the same folded stacks: see docs/tools/flamegraph.md. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { out, ratio, spread } from './support.js';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const STACKS = 200_000;
const LARGE_BYTES = 1e9;
const PEER = 'flamegraph.pl';

interface Run {
	readonly seconds: number;
	readonly peak_mb: number;
	readonly out_mb: number;
}

/** Numbers from 0 to below `limit` that look random and are the same each time. Park and Miller. */
function numbers(seed: number): (limit: number) => number {
	let state = seed;
	return (limit) => {
		state = (state * 48_271) % 0x7fffffff;
		return state % limit;
	};
}

/** Stacks of 8 to 30 frames: towards the root of a few names, towards the leaf of 120. */
function* stacks(): Generator<string> {
	const next = numbers(1);
	for (let i = 0; i < STACKS; i++) {
		const depth = 8 + next(23);
		const names = Array.from({ length: depth }, (_, at) => {
			const name = next(at < 3 ? 4 : 120);
			return name % 3 ? `func_${name}` : `f${name}`;
		});
		yield `${names.join(';')} ${1 + next(1000)}\n`;
	}
}

/** Writes the stacks into a file, again and again with other roots until it has so many bytes. */
function write(path: string, bytes: number): void {
	const file = openSync(path, 'w');
	let written = 0;
	for (let round = 0; written < bytes || round === 0; round++) {
		let piece = '';
		for (const line of stacks()) {
			piece += round === 0 ? line : `process_${round % 4};${line}`;
			if (piece.length < 1 << 20) continue;
			written += writeSync(file, piece);
			piece = '';
		}
		written += writeSync(file, piece);
	}
	closeSync(file);
}

function run(command: string, args: readonly string[], picture: string): Run {
	const to = openSync(picture, 'w');
	const begun = process.hrtime.bigint();
	const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%M', command, ...args], {
		stdio: ['ignore', to, 'pipe'],
		encoding: 'utf8',
	});
	const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
	closeSync(to);
	if (status !== 0) throw new Error(`${command}: ${stderr}`);
	const peak_mb = Number(stderr.trim().split('\n').at(-1)) / 1024;
	return { seconds, peak_mb, out_mb: statSync(picture).size / 1e6 };
}

function show(name: string, runs: readonly Run[], peer?: readonly Run[]): void {
	const times = runs.map(({ seconds }) => seconds);
	const against = peer
		? `   x ${ratio(
				times,
				peer.map(({ seconds }) => seconds),
			)}`
		: '';
	const memory = spread(
		runs.map(({ peak_mb }) => peak_mb),
		0,
	);
	out(`  ${name.padEnd(22)} ${spread(times, 2)} s   ${memory} MB${against}`);
}

const folder = mkdtempSync(join(tmpdir(), 'tstrace-bench-'));
try {
	const file = join(folder, 'stacks.folded');
	const picture = join(folder, 'out.svg');
	write(file, 0);
	out(`${STACKS} distinct stacks, ${(statSync(file).size / 1e6).toFixed(1)} MB, to an SVG`);
	const hasPeer = spawnSync('sh', ['-c', `command -v ${PEER}`]).status === 0;
	const ours: Run[] = [];
	const theirs: Run[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		ours.push(run('bin/tstrace', ['flamegraph', file], picture));
		if (hasPeer) theirs.push(run(PEER, [file], picture));
	}
	show('tstrace flamegraph', ours, hasPeer ? theirs : undefined);
	if (hasPeer) show(PEER, theirs);
	else out(`  ${PEER} is not on the PATH`);
	write(file, LARGE_BYTES);
	out(`\n${(statSync(file).size / 1e6).toFixed(0)} MB`);
	show('tstrace flamegraph', [run('bin/tstrace', ['flamegraph', file], picture)]);
} finally {
	rmSync(folder, { recursive: true });
}
