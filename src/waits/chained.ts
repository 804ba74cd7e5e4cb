/** Waits out of the kernel one by one, as chains: user space's side of bpf/lib/wait_records.h. */
import { type Chain, Chains } from '../aggregate/chains.js';
import type { Lost } from '../aggregate/report.js';
import type { CapturedStack, CapturedWaker } from '../aggregate/stack.js';
import type { StackSnapshot } from '../bpf/stacks.js';
import { off_cpu as layout } from '../generated/off_cpu.js';
import { readU64 } from '../loader/layout.js';
import type { BpfObject } from '../loader/object.js';
import { RingBuffer } from '../loader/ringbuf.js';

type Layout = typeof layout;

const TYPE = layout.enums.wait_record_type;
const ONE = layout.enums.stack_constant.COUNT_ONE;
/** A record takes 136 bytes; it is looked at every second. */
const RING_BYTES = 16 << 20;
const NOBODY = new DataView(new ArrayBuffer(layout.structs.wait_record.size));
/** Of all waits, and not only of those that are told. */
const KEYS_PER_CHAIN = 4;

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
	#period_ns = 0;
	/** Waits that had no room for their key. */
	#cut = 0;

	/** The object is loaded. */
	constructor(
		object: BpfObject<Layout>,
		{ followed, maxChains }: { followed: number; maxChains: number },
	) {
		this.#ring = new RingBuffer(object.map('wait_records'));
		this.#chains = new Chains({ followed, maxChains });
		this.#maxKeys = KEYS_PER_CHAIN * maxChains;
	}

	/** Takes in what the programs have recorded; `period_ns`: waits shorter than that were sampled. */
	drain(period_ns: number): void {
		this.#period_ns = Math.max(this.#period_ns, period_ns);
		this.#ring.read((record) => this.#take(record));
	}

	/** All waits that ended, with who ended them and what these did meanwhile. */
	captured(snapshot: StackSnapshot): CapturedStack[] {
		return this.#chains.chains().map((chain) => this.#stackOf(chain, snapshot));
	}

	lost(): Lost {
		const chains_cut = this.#chains.takeCut() + this.#cut;
		this.#cut = 0;
		return chains_cut > 0 ? { chains_cut } : {};
	}

	close(): void {
		this.#ring.close();
	}

	#take(record: DataView): void {
		const { fields } = layout.structs.wait_record;
		const u64 = (name: 'begin_ns' | 'end_ns' | 'weighed_ns' | 'count' | 'doubt') =>
			readU64(record, fields[name].offset);
		const type = record.getUint8(fields.type.offset);
		const pid = record.getUint32(fields.pid.offset, true);
		const begin_ns = u64('begin_ns');
		const wait = {
			...{ pid, begin_ns, end_ns: u64('end_ns'), weighed_ns: u64('weighed_ns') },
			variance: (u64('doubt') / ONE) * this.#period_ns ** 2,
		};
		if (type === TYPE.WAIT_FOR_CPU) this.#chains.waitedForCpu(wait);
		else
			this.#chains.wasBlocked({
				...wait,
				key: this.#numberOf(record, begin_ns),
				wakerPid: record.getUint32(fields.waker_pid.offset, true),
				counts: record.getUint8(fields.counts.offset) !== 0,
				count: u64('count') / ONE,
			});
	}

	#numberOf(record: DataView, at_ns: number): number {
		const { offset, size } = layout.structs.wait_record.fields.key;
		const bytes = Buffer.from(record.buffer, record.byteOffset + offset, size);
		const name = bytes.toString('latin1');
		const known = this.#numbers.get(name);
		if (known !== undefined) return known;
		// The one of zeroes is for what has no room of its own.
		if (this.#keys.length > this.#maxKeys && !bytes.every((byte) => byte === 0)) {
			this.#cut++;
			return this.#numberOf(NOBODY, at_ns);
		}
		const number = this.#keys.length;
		this.#numbers.set(name, number);
		const copy = new Uint8Array(bytes);
		this.#keys.push({ key: new DataView(copy.buffer), at_ns });
		return number;
	}

	#stackOf({ keys, did, value_ns, count, variance }: Chain, from: StackSnapshot): CapturedStack {
		const counted = { parts: [value_ns, 0, 0, 0], count, variance };
		const stacks = keys.map((number) => {
			const { key, at_ns } = this.#keys[number] as { key: DataView; at_ns: number };
			return from.captured(key, 0, { ...counted, at_ns });
		});
		let last: CapturedWaker | undefined;
		for (const [at, stack] of [...stacks.entries()].reverse()) {
			const ended = stack.waker && at === stacks.length - 1 ? { ...stack.waker, did } : last;
			const whole = { ...stack, waker: ended };
			if (at === 0) return whole;
			// Who it is says the wait that it ended, too.
			const { context } = stacks[at - 1]?.waker ?? {};
			last = { ...whole, context, did: 'was blocked', parts: [], count: 0, variance: 0 };
		}
		throw new RangeError('a chain has a wait at least');
	}
}
