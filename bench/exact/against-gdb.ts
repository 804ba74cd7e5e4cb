/** Stops a program under its load at random moments, and compares each thread's stack with gdb's. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_DEPTH } from '../../src/bpf/stacks.js';
import { type MapsEntry, parseMaps } from '../../src/symbolize/maps.js';
import type { Program } from '../whole/programs.js';
import { compare } from './compare.js';
import { HeldProcess, type HeldStack } from './held.js';

/** Of each program, at least. */
const STACKS = Number(process.env.STACKS || 100);
/** Stops of one program, at most and at least. */
const MAX_STOPS = 200;
const MIN_STOPS = 20;
/** A program runs up to that long between two stops. */
const MAX_RUN_MS = 150;

interface Tally {
	stacks: number;
	frames: number;
	agree: number;
	exact: number;
}

const WALKS = ['inKernel', 'outside'] as const;

/** A row for each group of threads. */
export async function againstGdb(
	program: Program,
	pid: number,
	out: (text: string) => void,
): Promise<string[]> {
	const tallies = new Map<string, Tally>();
	const distinct = new Map<string, Set<string>>();
	const differences = new Map<string, number>();
	const held = new HeldProcess(pid, { framePointers: program.keepsFramePointers === true });
	let stacks = 0;
	try {
		for (let stop = 0; stop < MAX_STOPS && (stacks < STACKS || stop < MIN_STOPS); stop++) {
			await sleep(Math.random() * MAX_RUN_MS);
			const found = await held.stacks();
			const maps = parseMaps(readFileSync(`/proc/${pid}/maps`, 'utf8'));
			for (const stack of found) {
				stacks++;
				const group = groupOf(program, stack, pid);
				const key = stack.thread.addresses.join();
				distinct.set(group, (distinct.get(group) ?? new Set()).add(key));
				for (const walk of WALKS) {
					const seen = tallies.get(`${group}/${walk}`) ?? { stacks: 0, frames: 0, agree: 0, exact: 0 };
					tallies.set(`${group}/${walk}`, seen);
					const ours = stack[walk]?.user ?? [];
					const isBlind = program.keepsFramePointers
						? undefined
						: (address: number) => hasNoFile(maps, address);
					const { frames, agree } = compare(stack.thread.addresses, ours, MAX_DEPTH, isBlind);
					seen.stacks++;
					seen.frames += frames;
					seen.agree += agree;
					if (agree === frames) {
						seen.exact++;
						continue;
					}
					const at = agree;
					const text = [
						`${program.name}: ${walk}: ${stack[walk]?.userEnd}: first difference at frame ${at} of ${frames} (gdb ${stack.thread.addresses.length}, ours ${ours.length})`,
						`  before: ${place(maps, stack.thread.addresses[at - 1])}`,
						`  gdb:    ${[0, 1, 2].map((i) => place(maps, stack.thread.addresses[at + i])).join(' < ')}`,
						`  ours:   ${[0, 1, 2].map((i) => place(maps, ours[at + i])).join(' < ')}`,
					].join('\n');
					const count = differences.get(text) ?? 0;
					differences.set(text, count + 1);
					if (count === 0) out(text);
				}
			}
		}
	} finally {
		await held.close();
	}
	return [...tallies].map(([key, { stacks, frames, agree, exact }]) => {
		const [group = ''] = key.split('/');
		const share = `${((100 * agree) / frames).toFixed(3)} %`;
		return `| ${program.name} ${key} | ${stacks} | ${distinct.get(group)?.size} | ${exact} | ${frames} | ${agree} | ${share} |`;
	});
}

function groupOf({ groups = {} }: Program, { thread: { tid } }: HeldStack, pid: number): string {
	const comm = readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8').trim();
	const [name] = Object.entries(groups).find(([, has]) => has({ tid, comm }, pid)) ?? [''];
	return name;
}

const mappingOf = (maps: readonly MapsEntry[], address: number) =>
	maps.find(({ start, end }) => address > start && address <= end);

function hasNoFile(maps: readonly MapsEntry[], address: number): boolean {
	const mapping = mappingOf(maps, address);
	return mapping !== undefined && mapping.inode === 0 && mapping.path !== '[vdso]';
}

/** "libc.so.6+0x1234", as of the file. */
function place(maps: readonly MapsEntry[], address: number | undefined): string {
	if (address === undefined) return '-';
	const mapping = mappingOf(maps, address);
	if (!mapping) return `0x${address.toString(16)}`;
	const offset = address - mapping.start + mapping.fileOffset;
	return `${mapping.path.replace(/.*\//, '') || '[code]'}+0x${offset.toString(16)}`;
}
