/** Reads what bpf/syscount.bpf.c counts: sums by call, process or error. */

import { ABIS, type Call } from '../../abi/syscalls.js';
import { Histogram } from '../../aggregate/histogram.js';
import type { Lost } from '../../aggregate/report.js';
import { CALL_NUMBERS, callAt, unpackKind } from '../../bpf/calls/calls.js';
import { readComm } from '../../bpf/comm.js';
import { Groups } from '../../bpf/groups.js';
import { takeHistogram } from '../../bpf/histogram.js';
import { Window } from '../../bpf/window.js';
import { syscount as layout } from '../../generated/syscount.js';
import { readU64 } from '../../loader/layout.js';
import { possibleCpus, u32Key } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import { moves } from './traits.js';

type Layout = typeof layout;

const { CALL_READS, CALL_WRITES } = layout.enums.call_trait;

/** What distinguishes calls. */
interface CallGroup extends Call {
	/** 0: by call. */
	readonly tgid: number;
	/** Of processes that have no number in our PID namespace, what tells them apart; of others 0. */
	readonly id: number;
	comm: string;
	/** 0: not by error, or none. */
	readonly errno: number;
}

const NONE: CallGroup = { nr: 0, abi: ABIS[0], tgid: 0, id: 0, comm: '', errno: 0 };

export interface CallSum extends CallGroup {
	calls: number;
	errors: number;
	/** Of durations, where they are timed. */
	readonly histogram: Histogram;
	/** What they moved, where that is wanted. */
	read_bytes: number;
	written_bytes: number;
	/** Calls that have not returned, and for how long the longest of them has not. */
	open: number;
	longest_ns: number;
	/** It began before tracing did: it takes that long at least. */
	sinceBefore: boolean;
}

export interface CallsSettings {
	readonly timed: boolean;
	readonly byProcess: boolean;
	readonly byErrno: boolean;
	/** How much calls move, instead of how long they take. */
	readonly bytes: boolean;
	/** Whether calls that have not returned are wanted. */
	readonly open: boolean;
}

/** For histograms of calls, of all CPUs, in both windows. */
const HISTOGRAMS_BYTES = 24 << 20;
/** CALL_SLOTS, and what even a machine with hundreds of CPUs has. */
const MOST_SLOTS = 32;
const LEAST_SLOTS = 4;

/** How many calls have a histogram of their own on each CPU; others take a slower way. */
export function usedSlots(histogram_bytes: number, cpus: number): number {
	const fitting = Math.floor(HISTOGRAMS_BYTES / (2 * histogram_bytes * cpus));
	return Math.max(LEAST_SLOTS, Math.min(MOST_SLOTS, fitting));
}

export class Calls {
	readonly #window: Window;
	readonly #groups: Groups;
	#sums = new Map<string, CallSum>();
	#begun_ns = 0n;

	constructor(
		private readonly object: BpfObject<Layout>,
		private readonly settings: CallsSettings,
	) {
		this.#window = new Window(object);
		this.#groups = new Groups(object.layout.structs);
	}

	begin(): void {
		this.#begun_ns = process.hrtime.bigint();
	}

	/** Takes over what was counted since the last time. */
	collect(): void {
		const half = this.#window.swap();
		this.#groups.drain(this.object.map(`groups_${half}`));
		const { timed, byProcess, byErrno, bytes } = this.settings;
		if (byProcess || byErrno || bytes) return;
		this.#collectTallies(half);
		if (timed) this.#collectHistograms(half);
	}

	/** What was counted in windows that are over, and begins anew. */
	take(): CallSum[] {
		const { bytes, byProcess } = this.settings;
		for (const { tgid, id, comm, kind, histogram } of this.#groups.take()) {
			const { errno, nr, abi } = unpackKind(kind);
			// By process, what is read and what is written are apart in the kernel, not here.
			const call = { nr: byProcess ? 0 : nr, abi };
			const sum = this.#sum({ ...call, tgid, id, comm, errno: this.settings.byErrno ? errno : 0 });
			sum.calls += histogram.count;
			if (errno > 0) sum.errors += histogram.count;
			if (bytes) addMoved(sum, byProcess ? nr : moves(call), histogram.sum_ns);
			else sum.histogram.add(histogram);
		}
		const sums = [...this.#sums.values()];
		this.#sums = new Map();
		return sums;
	}

	lost(): Lost {
		return this.#groups.takeLost();
	}

	/** Finds the calls that have not returned. */
	findOpen(): void {
		if (!this.settings.open) return;
		const { fields, size } = this.object.layout.structs.open_call;
		const view = this.object.runIterator('open_calls');
		const now_ns = process.hrtime.bigint();
		const traced_ns = Number(now_ns - this.#begun_ns);
		for (let at = 0; at + size <= view.byteLength; at += size) {
			const sum = this.#sum(this.#groupOfOpen(view, at));
			const since_ns = readU64(view, at + fields.since_ns.offset);
			const age_ns = since_ns > 0 ? Math.max(0, Number(now_ns) - since_ns) : traced_ns;
			if (age_ns > sum.longest_ns || sum.open === 0) {
				sum.longest_ns = age_ns;
				sum.sinceBefore = since_ns === 0;
			}
			sum.open++;
		}
	}

	#groupOfOpen(view: DataView, at: number): CallGroup {
		const { nr, abi, tgid, id, comm } = this.object.layout.structs.open_call.fields;
		const u32 = (field: { offset: number }) => view.getUint32(at + field.offset, true);
		if (this.settings.byProcess) {
			const name = readComm(view, at + comm.offset);
			return { ...NONE, tgid: u32(tgid), id: readU64(view, at + id.offset), comm: name };
		}
		return { ...NONE, nr: u32(nr), abi: ABIS[u32(abi)] ?? ABIS[0] };
	}

	#collectTallies(half: number): void {
		const map = this.object.map('tallies');
		const { tally } = this.object.layout.structs;
		const values = map.lookupPerCpu(u32Key(half));
		if (!values) return;
		const { calls, errors } = tally.fields;
		for (let index = 0; index < 2 * CALL_NUMBERS; index++) {
			let [called, failed] = [0, 0];
			for (let cpu = 0; cpu < possibleCpus(); cpu++) {
				const at = cpu * map.perCpuStride + index * tally.size;
				called += readU64(values, at + calls.offset);
				failed += readU64(values, at + errors.offset);
			}
			if (called === 0 && failed === 0) continue;
			const sum = this.#sum({ ...NONE, ...callAt(index) });
			sum.calls += called;
			sum.errors += failed;
		}
		map.clearPerCpu(u32Key(half));
	}

	#collectHistograms(half: number): void {
		const { call_slots, hist } = this.object.layout.structs;
		const slots = this.object.map('hists').maxEntries / 2;
		const memory = this.object.variableBytes('call_slots');
		const used = memory.getUint32(call_slots.fields.used.offset, true);
		for (let slot = 0; slot < Math.min(used, slots); slot++) {
			const histogram = takeHistogram(this.object.map('hists'), half * slots + slot, hist);
			if (histogram.count === 0) continue;
			const index = memory.getUint32(call_slots.fields.call.offset + slot * 4, true);
			const sum = this.#sum({ ...NONE, ...callAt(index) });
			sum.calls += histogram.count;
			sum.histogram.add(histogram);
		}
	}

	#sum(group: CallGroup): CallSum {
		const key = `${group.nr} ${group.abi} ${group.tgid} ${group.id} ${group.errno}`;
		let sum = this.#sums.get(key);
		if (!sum) {
			sum = {
				...group,
				calls: 0,
				errors: 0,
				histogram: new Histogram(),
				read_bytes: 0,
				written_bytes: 0,
				open: 0,
				longest_ns: 0,
				sinceBefore: false,
			};
			this.#sums.set(key, sum);
		}
		if (group.comm !== '') sum.comm = group.comm;
		return sum;
	}
}

/** `moved`: CALL_READS, CALL_WRITES, both or neither. */
function addMoved(sum: CallSum, moved: number, bytes: number): void {
	if (moved & CALL_READS) sum.read_bytes += bytes;
	if (moved & CALL_WRITES) sum.written_bytes += bytes;
}
