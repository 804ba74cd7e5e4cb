/** Stacks out of the kernel: user space's side of bpf/lib/stacks/stacks.h. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { CapturedStack, CapturedWaker } from '../../aggregate/stack.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import { TstraceError } from '../../errors.js';
import { unwind_end as END, stack_constant } from '../../generated/common.js';
import type { FieldLayout, ObjectLayout, StructWith } from '../../loader/layout.js';
import { possibleCpus, u32Key } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import { ringBufferMissing } from '../../loader/realtime.js';
import { type Address, isUserAddress, readAddress } from '../../loader/signed-address.js';
import type { FunctionWord, RuntimeFrames } from '../../runtimes/runtime.js';
import { readComm } from '../comm.js';
import {
	FunctionMaps,
	isFunctionWord,
	isInstructionWord,
	readFunctionWord,
} from '../runtimes/functions.js';
import type { UnwoundLayout } from '../unwind/table-memory.js';
import { UnwindMaps } from '../unwind/tables.js';
import { FrameChunks } from './frame-chunks.js';

/** What bpf/lib/stacks/stacks.h exports. */
interface StackLayouts {
	readonly stack_key: StructWith<
		'kernel' | 'user' | 'incarnation' | 'waker' | 'object' | 'tgid' | 'tid' | 'comm'
	>;
	readonly stack_place: StructWith<'first' | 'count' | 'end'>;
}

/** The layout of an object that includes lib/stacks/stacks.h and lib/stacks/walk.h. */
export interface StackedLayout extends UnwoundLayout {
	readonly structs: ObjectLayout['structs'] & StackLayouts;
}

/** How stacks are kept; the same for all stack tools. */
export interface StackSettings {
	/** Room for so many stacks. */
	readonly maxStacks: number;
	/** Frames. */
	readonly maxDepth: number;
	readonly kernel: boolean;
	readonly user: boolean;
	/** Threads of a process apart. */
	readonly byThread: boolean;
	/** How user stacks are walked: by unwind tables, or by frame pointers alone. */
	readonly unwind: 'tables' | 'fp';
	/** Whether walks take functions of runtimes: not for 'native'. Undefined: they do. */
	readonly runtimeFrames?: RuntimeFrames;
	/** Whether they also take which line each function of Python's was at. */
	readonly executingLines?: boolean;
}

/** Whether programs walk user stacks by tables. They ask for these by a ring buffer. */
export function walksByTables({ user, unwind }: Pick<StackSettings, 'user' | 'unwind'>): boolean {
	return user && unwind === 'tables' && ringBufferMissing() === undefined;
}

/** bpf/lib/stacks/stacks.h: the same in all objects that include it. */
const { STACK_DEPTH, CHUNK_FRAMES, BLOCK_FRAMES } = stack_constant;
const NO_STACK = BigInt(stack_constant.NO_STACK);
const LOST_STACK = BigInt(stack_constant.LOST_STACK);
export const MAX_DEPTH = STACK_DEPTH;
/** Room for frames: more than most stacks have, so that a few deep ones do not use it up. */
const FRAMES_PER_STACK = 64;
const BLOCKS_PER_CHUNK = CHUNK_FRAMES / BLOCK_FRAMES;
const NO_FRAMES: UserFrames = { user: [] };
const MAX_STACK_SYSCTL = '/proc/sys/kernel/perf_event_max_stack';

/** The stack maps of one object, and how to read them. */
export class StackTables {
	readonly #object: BpfObject<StackedLayout>;
	#frames: FrameChunks | undefined;

	constructor(object: BpfObject<StackedLayout>) {
		this.#object = object;
	}

	/** Before loading: sizes and constants. */
	configure(settings: StackSettings): void {
		// Each CPU begins with a block of its own, however few stacks it keeps there.
		const blocks = (settings.maxStacks * FRAMES_PER_STACK) / BLOCK_FRAMES + possibleCpus();
		const chunks = Math.ceil(blocks / BLOCKS_PER_CHUNK);
		// Each has two: its kernel's and its user's.
		this.#object.map('stacks').setMaxEntries(2 * settings.maxStacks);
		this.#object.map('frames').setMaxEntries(chunks);
		this.#object.map('free_blocks').setMaxEntries(chunks * BLOCKS_PER_CHUNK);
		this.#object.setConstants({
			stack_depth: depthOf(settings),
			walk_kernel: settings.kernel,
			walk_user: settings.user,
			stacks_by_thread: settings.byThread,
			take_instructions: settings.executingLines === true,
		});
		if (walksByTables(settings)) {
			new UnwindMaps(this.#object).configure();
			new FunctionMaps(this.#object).configure();
		}
		const seed = this.#object.constantBytes('stack_seed');
		seed.setBigUint64(0, randomBytes(8).readBigUInt64LE(), true);
	}

	/** After loading, before attaching. */
	open(): void {
		const free = this.#object.map('free_blocks');
		for (let block = 0; block < free.maxEntries; block++) free.push(u32Key(block));
		this.#frames = new FrameChunks(this.#object.map('frames'));
	}

	/** One user stack, by its hash, while programs go on; one that was not kept is lost. */
	userStack(hash: bigint): Pick<CapturedStack, 'user' | 'functions' | 'userEnd' | 'lost'> {
		const key = new Uint8Array(8);
		new DataView(key.buffer).setBigUint64(0, hash, true);
		const place = hash === LOST_STACK ? undefined : this.#object.map('stacks').lookup(key);
		const extent = place && this.#extentAt(place, 0);
		return {
			...(extent ? userPart(framesAt(this.#opened(), extent)) : NO_FRAMES),
			userEnd: userEnd(extent?.end),
			lost: extent === undefined,
		};
	}

	/** All stacks that are kept; programs may keep more meanwhile, which are not among them. */
	read(): StackSnapshot {
		const extents = new Map<bigint, Extent>();
		const placeSize = this.#object.layout.structs.stack_place.size;
		this.#object.map('stacks').readAll((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				extents.set(keys.getBigUint64(i * 8, true), this.#extentAt(values, i * placeSize));
			}
		});
		return new StackSnapshot(this.#object.layout.structs, extents, this.#opened());
	}

	#extentAt(places: DataView, at: number): Extent {
		const { first, count, end } = this.#object.layout.structs.stack_place.fields;
		return {
			first: places.getUint32(at + first.offset, true),
			count: places.getUint16(at + count.offset, true),
			end: places.getUint16(at + end.offset, true),
		};
	}

	#opened(): FrameChunks {
		if (!this.#frames) throw new TstraceError('stacks are read before they are open');
		return this.#frames;
	}

	close(): void {
		this.#frames?.close();
		this.#frames = undefined;
	}
}

/** Where a stack's frames lie. */
interface Extent {
	readonly first: number;
	readonly count: number;
	/** How the walk ended: of `enum unwind_end`. */
	readonly end: number;
}

/** What was in the maps; valid until the tables are closed. */
export class StackSnapshot {
	readonly #layouts: StackLayouts;
	readonly #extents: ReadonlyMap<bigint, Extent>;
	readonly #frames: FrameChunks;
	readonly #decoded = new Map<bigint, UserFrames>();

	constructor(layouts: StackLayouts, extents: ReadonlyMap<bigint, Extent>, frames: FrameChunks) {
		this.#layouts = layouts;
		this.#extents = extents;
		this.#frames = frames;
	}

	/** Of waits, by the key that a `struct stack_key` has; see wakers.ts. */
	wakers: ReadonlyMap<bigint, CapturedWaker> = new Map();

	/** What waits were for, by the same; see src/bpf/objects/record.ts. */
	objects: ReadonlyMap<bigint, WaitObject> = new Map();

	/** The stack of a `struct stack_key`, with what was counted there. */
	captured(
		view: DataView,
		at: number,
		counted: Pick<CapturedStack, 'at_ns' | 'parts' | 'count' | 'variance' | 'against'>,
	): CapturedStack {
		const { kernel, user, waker, object, tgid, tid, comm } = this.#layouts.stack_key.fields;
		const hash = (field: FieldLayout) => view.getBigUint64(at + field.offset, true);
		const addresses = this.addressesOf(hash(kernel), hash(user));
		// There may be 100,000 of them. What is put together by spreading takes three times the memory.
		return {
			pid: view.getUint32(at + tgid.offset, true),
			tid: view.getUint32(at + tid.offset, true),
			comm: readComm(view, at + comm.offset),
			kernel: addresses.kernel,
			user: addresses.user,
			functions: addresses.functions,
			userEnd: addresses.userEnd,
			lost: addresses.lost,
			waker: this.wakers.get(hash(waker)),
			object: this.objects.get(hash(object)),
			at_ns: counted.at_ns,
			parts: counted.parts,
			count: counted.count,
			variance: counted.variance,
			against: counted.against,
		};
	}

	/** The frames of a kernel and of a user stack, by their hashes. */
	addressesOf(
		kernel: bigint,
		user: bigint,
	): Pick<CapturedStack, 'kernel' | 'user' | 'functions' | 'userEnd' | 'lost'> {
		return {
			kernel: this.#framesOf(kernel).user,
			...userPart(this.#framesOf(user)),
			userEnd: userEnd(this.#extents.get(user)?.end),
			lost: kernel === LOST_STACK || user === LOST_STACK,
		};
	}

	#framesOf(hash: bigint): UserFrames {
		if (hash === NO_STACK) return NO_FRAMES;
		const known = this.#decoded.get(hash);
		if (known) return known;
		const extent = this.#extents.get(hash);
		if (!extent) return NO_FRAMES;
		const frames = framesAt(this.#frames, extent);
		this.#decoded.set(hash, frames);
		return frames;
	}
}

type UserFrames = Pick<CapturedStack, 'user' | 'functions'>;

/** No typed array: of these there are thousands, and each takes 200 bytes by itself. */
function framesAt(frames: FrameChunks, { first, count, end }: Extent): UserFrames {
	const user: Address[] = [];
	let functions: Map<number, FunctionWord[]> | undefined;
	const { view, at: start } = frames.find(first);
	for (let i = 0; i < count; i++) {
		const at = start + i * 8;
		// Walks by tables alone take functions, behind the address of their frame.
		const isAddress = !end || i === 0 || !(isFunctionWord(view, at) || isInstructionWord(view, at));
		if (isAddress) user.push(readAddress(view, at));
		else if (isFunctionWord(view, at)) {
			functions ??= new Map();
			addTo(functions, user.length - 1, readFunctionWord(view, at, start + count * 8));
		}
	}
	return functions ? { user, functions } : { user };
}

function addTo(functions: Map<number, FunctionWord[]>, frame: number, word: FunctionWord): void {
	const known = functions.get(frame);
	if (known) known.push(word);
	else functions.set(frame, [word]);
}

/** How a walk of user frames ended; undefined: it went by frame pointers alone. */
function userEnd(end: number | undefined): CapturedStack['userEnd'] {
	if (!end) return undefined;
	if (end === END.UNWIND_WHOLE) return 'whole';
	if (end === END.UNWIND_GUESSED) return 'guessed';
	if (end === END.UNWIND_ZERO) return 'at zero';
	if (end === END.UNWIND_TOO_DEEP) return 'too deep';
	return end === END.UNWIND_NO_TABLE ? 'no table' : 'no way on';
}

/**
 * Where code was built without frame pointers, a walk ends in whatever lies on the stack. What cannot
 * be an address of user space would be taken for one of the kernel's.
 */
function userPart(frames: UserFrames): UserFrames {
	const { user } = frames;
	let count = 0;
	while (count < user.length && isUserAddress(user[count] as Address)) count++;
	return count === user.length ? frames : { ...frames, user: Array.from(user).slice(0, count) };
}

/** The most frames that a walk takes. */
export function depthOf({ maxDepth }: Pick<StackSettings, 'maxDepth'>): number {
	return Math.min(maxDepth, kernelDepth());
}

/** The kernel cuts stacks where its own limit is, and does not say so. */
function kernelDepth(): number {
	const limit = Number(readFileSync(MAX_STACK_SYSCTL, 'utf8'));
	return limit > 0 ? limit : MAX_DEPTH;
}
