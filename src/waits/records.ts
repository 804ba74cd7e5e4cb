/** Waits out of the kernel one by one, as chains: user space's side of bpf/lib/waits/records.h. */
import type { Chain } from '../aggregate/chain-sums.js';
import { type BlockedWait, Chains } from '../aggregate/chains.js';
import type { Lost } from '../aggregate/report.js';
import type { CapturedStack, CapturedWaker, Did } from '../aggregate/stack.js';
import { onlyBlocked } from '../aggregate/wait-parts.js';
import { lossTotal } from '../bpf/loss.js';
import type { StackSnapshot } from '../bpf/stacks/stacks.js';
import { loss } from '../generated/common.js';
import { off_cpu as layout } from '../generated/off_cpu.js';
import { readU64 } from '../loader/layout.js';
import type { BpfMap } from '../loader/map.js';
import type { BpfObject } from '../loader/object.js';
import { RingBuffer } from '../loader/ringbuf.js';

type Layout = typeof layout;

const TYPE = layout.enums.wait_record_type;
const { fields: FIELDS } = layout.structs.wait_record;
const ONE = layout.enums.stack_constant.COUNT_ONE;
/** A record takes 88 or 136 bytes: room for 70,000 or more between two looks. */
const RING_BYTES = 8 << 20;
export const LOOK_PERIOD_MS = 500;
const NOBODY = new DataView(new ArrayBuffer(layout.structs.wait_record.size));
/** Causes of loss after which nobody can say that a thread ran. */
const UNKNOWN_WAITS = [loss.LOSS_WAITS_RING_FULL, loss.LOSS_WAIT_TABLE_FULL];
/** Of all waits, and not only of those that are told. */
const KEYS_PER_CHAIN = 4;

/** Of whoever wants to know of waits one by one, too. Times are CLOCK_MONOTONIC. */
export interface WaitObserver {
	/** A wait that counts: it was blocked. `stack`: the number of who waited where, for what, and who ended it. */
	blocked(stack: number, wait: ObservedWait): void;
	/** The same of a thread by the kernel's number: it waited for a CPU. */
	forCpu(pid: number, wait: ObservedCpuWait): void;
}

export interface ObservedWait {
	readonly begin_ns: number;
	readonly end_ns: number;
	/** What it counts as, and as how many, if waits are sampled. */
	readonly weighed_ns: number;
	readonly count: number;
	/** Of `weighed_ns`: the square of its standard error; 0: it is exact. */
	readonly variance: number;
}

export interface ObservedCpuWait extends ObservedWait {
	/** Of all of it: its group had no quota. */
	readonly throttled_ns: number;
	/** Of all of it: the waker had sent for its CPU, which had not put it on its run queue yet. */
	readonly waking_ns: number;
	/** It was taken off its CPU, and not woken. */
	readonly preempted: boolean;
}

/** What a record says; some of it means something for waits of one type only. */
type RecordedWait = {
	-readonly [Name in keyof (BlockedWait & ObservedCpuWait)]: (BlockedWait & ObservedCpuWait)[Name];
} & {
	key: number;
};

/**
 * Before loading. `followed`: of how many wakers of a wait is told what they did, at least one. `edges`: waits that began
 * before tracing count.
 */
export function configureRecords(
	object: BpfObject<Layout>,
	{ followed, edges }: { readonly followed: number; readonly edges: boolean },
): void {
	object.setConstants({ followed_wakers: followed, edges_count: edges });
	object.map('wait_records').setMaxEntries(RING_BYTES);
}

export class WaitRecords {
	readonly #ring: RingBuffer;
	readonly #chains: Chains;
	readonly #maxKeys: number;
	/** Each `struct stack_key` once, with when it was seen first; chains have their numbers. */
	readonly #numbers = new Map<string, number>();
	readonly #keys: { readonly key: DataView; readonly at_ns: number }[] = [];
	/** Waits that had no room for their key. */
	#cut = 0;
	readonly #losses: BpfMap;
	/** Waits that the kernel's side could not record, up to the last look. */
	#unknown = 0;
	readonly #observer: WaitObserver | undefined;
	/** Of waits that began before, only what came after counts. */
	from_ns = 0;

	/** The object is loaded. */
	constructor(
		object: BpfObject<Layout>,
		{ followed, maxChains }: { followed: number; maxChains: number },
		observer?: WaitObserver,
	) {
		this.#observer = observer;
		this.#ring = new RingBuffer(object.map('wait_records'));
		this.#losses = object.map('losses');
		this.#chains = new Chains({ followed, maxChains });
		this.#maxKeys = KEYS_PER_CHAIN * maxChains;
	}

	/** Takes in what the programs have recorded. */
	drain(): void {
		const unknown = UNKNOWN_WAITS.reduce((sum, cause) => sum + lossTotal(this.#losses, cause), 0);
		if (unknown > this.#unknown) this.#chains.forget(Number(process.hrtime.bigint()));
		this.#unknown = unknown;
		this.#chains.begin();
		this.#ring.read((record) => this.#take(record));
	}

	/**
	 * All waits that ended, with who ended them and what these did meanwhile; `numbers`: of each, by which an observer
	 * knows it.
	 */
	captured(snapshot: StackSnapshot): { stacks: CapturedStack[]; numbers: number[] } {
		const wakers = new Map<string, CapturedWaker | undefined>();
		const chains = this.#chains.chains();
		return {
			stacks: chains.map((chain) => this.#stackOf(chain, snapshot, wakers)),
			numbers: chains.map(({ keys }) => keys[0] as number),
		};
	}

	lost(): Lost {
		const chains_cut = this.#chains.takeCut() + this.#cut;
		this.#cut = 0;
		return chains_cut > 0 ? { chains_cut } : {};
	}

	close(): void {
		this.#ring.close();
	}

	/** Thousands a second: one object of one shape for each, or V8 takes ten times as long. */
	#take(record: DataView): void {
		const weighed_ns = readU64(record, FIELDS.weighed_ns.offset);
		const wait: RecordedWait = {
			pid: record.getUint32(FIELDS.pid.offset, true),
			begin_ns: readU64(record, FIELDS.begin_ns.offset),
			end_ns: readU64(record, FIELDS.end_ns.offset),
			weighed_ns,
			// What a sampled wait counts as is the period by which it was.
			variance: (readU64(record, FIELDS.doubt.offset) / ONE) * weighed_ns ** 2,
			count: readU64(record, FIELDS.count.offset) / ONE,
			counts: record.getUint8(FIELDS.counts.offset) !== 0,
			throttled_ns: readU64(record, FIELDS.throttled_ns.offset),
			waking_ns: readU64(record, FIELDS.waking_ns.offset),
			preempted: record.getUint8(FIELDS.preempted.offset) !== 0,
			key: 0,
			wakerPid: record.getUint32(FIELDS.waker_pid.offset, true),
			wakerBorn_ns: readU64(record, FIELDS.waker_born_ns.offset),
		};
		if (!keepFrom(wait, this.from_ns)) return;
		if (record.getUint8(FIELDS.type.offset) === TYPE.WAIT_FOR_CPU) {
			this.#chains.waitedForCpu(wait);
			if (wait.counts) this.#observer?.forCpu(wait.pid, wait);
			return;
		}
		wait.key = this.#numberOf(record, wait.end_ns, wait.counts);
		if (wait.counts) this.#observer?.blocked(wait.key, wait);
		this.#chains.wasBlocked(wait);
	}

	#numberOf(record: DataView, at_ns: number, counts: boolean): number {
		const { offset, size } = FIELDS.key;
		const bytes = Buffer.from(record.buffer, record.byteOffset + offset, size);
		const name = bytes.toString('latin1');
		const known = this.#numbers.get(name);
		if (known !== undefined) return known;
		// The one of zeroes is for what has no room of its own.
		const room = counts ? this.#maxKeys : this.#maxKeys / 2;
		if (this.#keys.length > room && !bytes.every((byte) => byte === 0)) {
			if (counts) this.#cut++;
			return this.#numberOf(NOBODY, at_ns, counts);
		}
		const number = this.#keys.length;
		this.#numbers.set(name, number);
		const copy = new Uint8Array(bytes);
		this.#keys.push({ key: new DataView(copy.buffer), at_ns });
		return number;
	}

	#stackOf(
		{ keys, did, value_ns, count, variance, against }: Chain,
		from: StackSnapshot,
		wakers: Map<string, CapturedWaker | undefined>,
	): CapturedStack {
		const counted = { parts: onlyBlocked(value_ns), count, variance, against };
		const stack = this.#captured(keys[0] as number, from, counted);
		return Object.assign(stack, { waker: this.#wakerOf(keys, did, from, wakers) });
	}

	/** Who ended the first of these waits; `wakers`: those that are known, as each has to get its names once. */
	#wakerOf(
		keys: readonly number[],
		did: Did | undefined,
		from: StackSnapshot,
		wakers: Map<string, CapturedWaker | undefined>,
	): CapturedWaker | undefined {
		const name = `${keys.join()} ${did}`;
		if (wakers.has(name)) return wakers.get(name);
		const [first, ...rest] = keys as [number, ...number[]];
		const none = { parts: [], count: 0, variance: 0 };
		const { waker } = this.#captured(first, from, none);
		const known: CapturedWaker | undefined =
			rest.length === 0
				? waker && { ...waker, did }
				: {
						...this.#captured(rest[0] as number, from, none),
						context: waker?.context,
						did: 'was blocked',
						waker: this.#wakerOf(rest, did, from, wakers),
					};
		wakers.set(name, known);
		return known;
	}

	#captured(
		number: number,
		from: StackSnapshot,
		counted: Pick<CapturedStack, 'parts' | 'count' | 'variance' | 'against'>,
	): CapturedStack {
		const { key, at_ns } = this.#keys[number] as { key: DataView; at_ns: number };
		const { parts, count, variance, against } = counted;
		return from.captured(key, 0, { at_ns, parts, count, variance, against });
	}
}

type Observed = { -readonly [Name in keyof ObservedCpuWait]: ObservedCpuWait[Name] };

/** Leaves out what of a wait was before `from_ns`; false: that is all of it. */
export function keepFrom(wait: Omit<Observed, 'count' | 'preempted'>, from_ns: number): boolean {
	if (wait.end_ns <= from_ns) return false;
	if (wait.begin_ns >= from_ns) return true;
	const share = (wait.end_ns - from_ns) / (wait.end_ns - wait.begin_ns);
	wait.begin_ns = from_ns;
	wait.weighed_ns *= share;
	wait.variance *= share ** 2;
	wait.throttled_ns *= share;
	wait.waking_ns *= share;
	return true;
}
