/** When threads were, and how long they ran: user space's side of bpf/lib/waits/thread_accounts.h. */

import type { Lost } from '../../aggregate/report.js';
import { readComm } from '../../bpf/comm.js';
import { off_cpu as layout } from '../../generated/off_cpu.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';
import { RingBuffer } from '../../loader/ringbuf.js';

type Objects = BpfObject<typeof layout>;

/** As of a moment. Times are CLOCK_MONOTONIC. */
export interface ThreadAccount {
	/** The kernel's number; with `born_ns` it is of one thread only. */
	readonly kernelPid: number;
	readonly born_ns: number;
	readonly at_ns: number;
	/** Since it began. */
	readonly run_ns: number;
	/** In our PID namespace, as is `tid`. */
	readonly pid: number;
	readonly tid: number;
	readonly comm: string;
	/** Whether it is chosen now. */
	readonly traced: boolean;
	/** Since when it waits for a CPU; 0: it does not. */
	readonly ready_ns: number;
	/** Then: it was taken off its own. */
	readonly preempted: boolean;
	/** From and to disks, as in /proc/PID/io; of a process's first thread with what its ended threads had. */
	readonly read_bytes: number;
	readonly written_bytes: number;
}

/** 47,000 threads that end within a second. */
const RING_BYTES = 4 << 20;

/** Which thread it is of: numbers of threads are used again. */
export const identityOf = ({ kernelPid, born_ns }: ThreadAccount) => `${kernelPid} ${born_ns}`;

/** Before loading. */
export function configureAccounts(object: Objects): void {
	object.map('ended_threads').setMaxEntries(RING_BYTES);
}

/** Threads that are there now, traced or not. */
export function readAccounts(object: Objects): ThreadAccount[] {
	const view = object.runIterator('read_accounts');
	const { size } = layout.structs.thread_account;
	return Array.from({ length: Math.floor(view.byteLength / size) }, (_, i) =>
		accountAt(view, i * size),
	);
}

/** Some 50 MB. A build that starts 100 processes a second takes half an hour to have so many. */
const MOST_ENDED = 200_000;

/** Threads that have ended, as they come. */
export class EndedThreads {
	readonly #ring: Pick<RingBuffer, 'read' | 'close'>;
	readonly #accounts: ThreadAccount[] = [];
	readonly #most: number;
	#dropped = 0;

	/** `most`: those that end later are counted as lost. */
	constructor(ring: Pick<RingBuffer, 'read' | 'close'>, most = MOST_ENDED) {
		this.#ring = ring;
		this.#most = most;
	}

	/** The object is loaded. */
	static of(object: Objects): EndedThreads {
		return new EndedThreads(new RingBuffer(object.map('ended_threads')));
	}

	/** Called every second. */
	drain(): void {
		this.#ring.read((record) => {
			if (this.#accounts.length < this.#most) this.#accounts.push(accountAt(record, 0));
			else this.#dropped++;
		});
	}

	/** All so far. */
	all(): readonly ThreadAccount[] {
		return this.#accounts;
	}

	/** Since the last call. */
	lost(): Lost {
		const ended_threads_dropped = this.#dropped;
		this.#dropped = 0;
		return ended_threads_dropped > 0 ? { ended_threads_dropped } : {};
	}

	close(): void {
		this.#ring.close();
	}
}

function accountAt(view: DataView, at: number): ThreadAccount {
	const { fields } = layout.structs.thread_account;
	const { born_ns, at_ns, run_ns, pid, tgid, tid, traced, preempted, ready_ns, comm } = fields;
	const u32 = ({ offset }: { offset: number }) => view.getUint32(at + offset, true);
	const u64 = ({ offset }: { offset: number }) => readU64(view, at + offset);
	return {
		kernelPid: u32(pid),
		born_ns: u64(born_ns),
		at_ns: u64(at_ns),
		run_ns: u64(run_ns),
		pid: u32(tgid),
		tid: u32(tid),
		comm: readComm(view, at + comm.offset),
		traced: view.getUint8(at + traced.offset) !== 0,
		ready_ns: u64(ready_ns),
		preempted: view.getUint8(at + preempted.offset) !== 0,
		read_bytes: u64(fields.read_bytes),
		written_bytes: u64(fields.written_bytes),
	};
}
