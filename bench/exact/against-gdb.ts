/** Stops a program under its load at random moments, and compares each thread's stack with gdb's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_DEPTH } from '../../src/bpf/stacks/stacks.js';
import { textOf } from '../../src/text-of.js';
import type { Program } from '../whole/programs.js';
import { compare } from './compare.js';
import { HeldProcess, type HeldStack } from './held.js';
import { Places } from './places.js';

/** Of each group of threads, at least; but a program is stopped MIN_STOPS to MAX_STOPS times. */
const STACKS = Number(process.env.STACKS || 100);
const MIN_STOPS = 20;
const MAX_STOPS = 2 * STACKS;
/** A program runs up to that long between two stops. */
const MAX_RUN_MS = 150;
/** Frames that are printed where two walks part. */
const SHOWN = 3;

export const GDB_COLUMNS = [
	'program',
	'stacks',
	'different ones',
	'frames',
	'in the kernel: agree',
	'share',
	'no stack',
	'from outside: agree',
	'share',
	'no stack',
];

const WALKS = { inKernel: 'in the kernel', outside: 'from outside' } as const;
type Walk = keyof typeof WALKS;

/** What one walk found of some threads. */
class Agreement {
	frames = 0;
	agree = 0;
	missing = 0;

	include({ frames, agree, missing }: Agreement): void {
		this.frames += frames;
		this.agree += agree;
		this.missing += missing;
	}

	cells(): string[] {
		const share = this.frames === 0 ? '–' : `${((100 * this.agree) / this.frames).toFixed(2)} %`;
		return [`${this.agree} of ${this.frames}`, share, `${this.missing}`];
	}
}

/** What both walks found of threads that do the same. */
export class Group {
	stacks = 0;
	frames = 0;
	readonly different = new Set<string>();
	readonly walks: Readonly<Record<Walk, Agreement>> = {
		inKernel: new Agreement(),
		outside: new Agreement(),
	};

	/** Adds another one's. */
	include(other: Group): void {
		this.stacks += other.stacks;
		this.frames += other.frames;
		for (const stack of other.different) this.different.add(stack);
		for (const walk of Object.keys(WALKS) as Walk[]) this.walks[walk].include(other.walks[walk]);
	}

	cells(): string[] {
		const own = [this.stacks, this.different.size, this.frames].map(String);
		return [...own, ...this.walks.inKernel.cells(), ...this.walks.outside.cells()];
	}
}

/** Groups of threads, by name; says where walks part, once for each place. */
export async function againstGdb(
	program: Program,
	pid: number,
	out: (text: string) => void,
): Promise<Map<string, Group>> {
	const framePointers = program.keepsFramePointers === true;
	const groups = new Map<string, Group>();
	const said = new Map<string, number>();
	const add = (stack: HeldStack, places: Places) => {
		const part = groupOf(program, stack, pid);
		const name = program.name + (part && `: ${part}`);
		const group = groups.get(name) ?? new Group();
		groups.set(name, group);
		for (const text of differences(stack, group, places, framePointers)) {
			if (!said.has(text)) out(`${name}: ${text}`);
			said.set(text, (said.get(text) ?? 0) + 1);
		}
	};
	const fewest = () => Math.min(...[...groups.values()].map(({ stacks }) => stacks));
	const held = new HeldProcess(pid, { framePointers });
	try {
		for (let stop = 0; stop < MAX_STOPS && (stop < MIN_STOPS || fewest() < STACKS); stop++) {
			await sleep(Math.random() * MAX_RUN_MS);
			const found = await held.stacks();
			const places = new Places(pid);
			for (const stack of found) add(stack, places);
		}
	} finally {
		await held.close();
	}
	for (const [text, count] of said) if (count > 1) out(`${count} times: ${text}`);
	return groups;
}

/** Counts a stack; gives where its walks and gdb's part. */
function differences(
	stack: HeldStack,
	group: Group,
	places: Places,
	framePointers: boolean,
): string[] {
	const { addresses } = stack.thread;
	group.stacks++;
	group.frames += addresses.length;
	group.different.add(addresses.join());
	// Unless it is told how, gdb does not know how to leave code that was made at run time.
	const isBlind = framePointers ? undefined : (address: number) => places.hasNoFile(address);
	const found: string[] = [];
	for (const walk of Object.keys(WALKS) as Walk[]) {
		const agreement = group.walks[walk];
		const walked = stack[walk];
		if (!walked) {
			agreement.missing++;
			continue;
		}
		const { frames, agree } = compare(addresses, walked.user, MAX_DEPTH, isBlind);
		agreement.frames += frames;
		agreement.agree += agree;
		if (agree === frames) continue;
		const from = (list: ArrayLike<number>) =>
			Array.from({ length: SHOWN }, (_, i) => places.of(list[agree + i])).join(' ◂ ');
		found.push(
			`${WALKS[walk]} (${walked.userEnd}): ${places.of(addresses[agree - 1])} ◂ ${from(walked.user)}; gdb: ${from(addresses)}`,
		);
	}
	return found;
}

function groupOf({ groups = {} }: Program, { thread: { tid } }: HeldStack, pid: number): string {
	const comm = textOf(`/proc/${pid}/task/${tid}/comm`)?.trim() ?? '';
	const [name] = Object.entries(groups).find(([, has]) => has({ tid, comm }, pid)) ?? [''];
	return name;
}
