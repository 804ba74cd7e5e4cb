/** Waits that were open as tracing ended: what bpf/off_cpu.bpf.c, end_waiting wrote of each. */
import type { WaitingForMutex } from '../aggregate/deadlocks.js';
import { isBlockedSince } from '../aggregate/idle.js';
import { type CapturedStack, stackValue } from '../aggregate/stack.js';
import { blockedOf, WAIT_PARTS } from '../aggregate/wait-parts.js';
import type { StackSnapshot } from '../bpf/stacks/stacks.js';
import { off_cpu as layout } from '../generated/off_cpu.js';
import { readU64 } from '../loader/layout.js';
import { growHeapSlowly } from '../loader/memory.js';
import { readAddress } from '../loader/signed-address.js';
import type { WaitingThread } from '../symbolize/walks/sleeping-stacks.js';

/** A user stack that was walked from outside. */
type Walked = Pick<CapturedStack, 'user' | 'functions' | 'userEnd'>;

/** Waits that are alike: a stack whose sums grow. */
interface Alike {
	readonly stack: CapturedStack & { count: number };
	/** The stack's. */
	readonly parts: number[];
}

/** Of more, what is made of them takes more memory than all the rest. */
const MANY_WAITS = 15_000;
const NO_STACK = BigInt(layout.enums.stack_constant.NO_STACK);
const WAIT_BYTES = layout.structs.still_waiting.size;
const { key, registers, tid, parts } = layout.structs.still_waiting.fields;
const KEY_BYTES = layout.structs.stack_key.size;

export class OpenWaits {
	/** Threads, by number, that were blocked in one wait all the time. */
	readonly stayed = new Set<number>();
	/** Threads that wait for mutexes. */
	readonly forMutexes: WaitingForMutex[] = [];
	#view: DataView = new DataView(new ArrayBuffer(0));
	/** Different user stacks that were walked. */
	#stacks: Walked[] = [];
	/** Of each wait, which of them; -1: the thread has none, or a program walked it. */
	#stackOf = new Int32Array(0);

	/**
	 * Takes in what the kernel has written, and has the user stacks walked that no program has. Who waits for a moment
	 * only is the first to go on: its stack is walked before those of long waits.
	 */
	take(written: DataView, walk: (thread: WaitingThread) => Walked): void {
		this.#view = written;
		this.#stacks = [];
		const count = Math.floor(written.byteLength / WAIT_BYTES);
		if (count > MANY_WAITS) growHeapSlowly();
		this.#stackOf = new Int32Array(count).fill(-1);
		const wait_ns = Float64Array.from(this.#stackOf, (_, i) =>
			stackValue({ parts: this.#partsAt(i * WAIT_BYTES) }),
		);
		const order = Uint32Array.from(this.#stackOf, (_, i) => i);
		order.sort((a, b) => (wait_ns[a] as number) - (wait_ns[b] as number));
		// Each is kept once: what 100,000 threads have would be 30 MB.
		const known = new Map<string, number>();
		for (const i of order) {
			const thread = this.#threadAt(i * WAIT_BYTES);
			if (thread) this.#stackOf[i] = this.#keep(walk(thread), known);
		}
	}

	/**
	 * A stack for all waits that are alike: whose they are, where, what for. `begun_ns`, `ended_ns`: between these waits
	 * are counted.
	 */
	captured(snapshot: StackSnapshot, begun_ns: number, ended_ns: number): CapturedStack[] {
		const alike = new Map<string, Alike>();
		for (const [i, number] of this.#stackOf.entries()) {
			const at = i * WAIT_BYTES;
			const waited = this.#partsAt(at);
			const name = this.#nameOf(at, number, waited);
			let sum = alike.get(name);
			if (!sum) {
				const parts = waited.map(() => 0);
				const counted = { at_ns: ended_ns, parts, count: 0, variance: 0 };
				const stack = snapshot.captured(this.#view, at + key.offset, counted);
				sum = { stack: Object.assign(stack, this.#stacks[number]), parts };
				alike.set(name, sum);
			}
			for (const [part, value] of waited.entries())
				sum.parts[part] = (sum.parts[part] ?? 0) + value;
			sum.stack.count++;
			if (isBlockedSince(waited, ended_ns - begun_ns)) this.stayed.add(sum.stack.tid);
			this.#takeMutex(at, sum.stack);
		}
		return Array.from(alike.values(), ({ stack }) => stack);
	}

	/** The same for waits that are alike. Those that were blocked have a waker, or none yet. */
	#nameOf(at: number, stack: number, waited: readonly number[]): string {
		const { buffer, byteOffset } = this.#view;
		const bytes = Buffer.from(buffer, byteOffset + at + key.offset, KEY_BYTES);
		return `${stack} ${blockedOf({ parts: waited }) > 0} ${bytes.toString('latin1')}`;
	}

	#takeMutex(at: number, { comm, object }: CapturedStack): void {
		if (object?.type !== 'futex' || !object.owner) return;
		const waiting = this.#view.getUint32(at + tid.offset, true);
		this.forMutexes.push({ tid: waiting, comm, owner: object.owner.tid });
	}

	/** The number of a stack that was walked. */
	#keep(walked: Walked, known: Map<string, number>): number {
		const name = nameOf(walked);
		const number = known.get(name) ?? this.#stacks.push(walked) - 1;
		known.set(name, number);
		return number;
	}

	/** Undefined: it has no user stack, or a program walked it. */
	#threadAt(at: number): WaitingThread | undefined {
		const { user, tgid } = layout.structs.stack_key.fields;
		const view = this.#view;
		const ip = readAddress(view, at + registers.offset);
		const isWalked = view.getBigUint64(at + key.offset + user.offset, true) !== NO_STACK;
		if (isWalked || ip === 0) return undefined;
		return {
			pid: view.getUint32(at + key.offset + tgid.offset, true),
			tid: view.getUint32(at + tid.offset, true),
			registers: {
				ip,
				sp: readAddress(view, at + registers.offset + 8),
				fp: readAddress(view, at + registers.offset + 16),
				link: readAddress(view, at + registers.offset + 24),
			},
		};
	}

	/** How long a wait was, by part. */
	#partsAt(at: number): number[] {
		return WAIT_PARTS.map((_, part) => readU64(this.#view, at + parts.offset + part * 8));
	}
}

/** The same for two walks that came to the same. */
function nameOf({ user, functions, userEnd }: Walked): string {
	const words = [...(functions ?? [])].map(([frame, of]) => [
		frame,
		of.map(({ place, print, isCallers }) => [place, print, isCallers]),
	]);
	return `${userEnd} ${Array.from(user).join(' ')} ${JSON.stringify(words)}`;
}
