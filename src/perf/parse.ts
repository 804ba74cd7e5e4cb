/**
 * Records of perf events with attributes.ts' SAMPLE_TYPE or SAMPLE_ID_TYPE, and sample_id_all.
 * Source: enum perf_event_type in include/uapi/linux/perf_event.h.
 */
import { type Address, readAddress } from '../loader/address.js';
import type { SampleRecord, SidebandRecord } from './records.js';

/** enum perf_event_type */
const RECORD = {
	lost: 2,
	comm: 3,
	exit: 4,
	throttle: 5,
	fork: 7,
	sample: 9,
	mmap2: 10,
	lost_samples: 13,
} as const;

/** PERF_RECORD_MISC_COMM_EXEC */
const MISC_COMM_EXEC = 1 << 13;
/** PERF_RECORD_MISC_MMAP_BUILD_ID: a build id is where the inode would be. */
const MISC_MMAP_BUILD_ID = 1 << 14;

/** enum perf_callchain_context: what the addresses after it are; all of them lie below 0. */
const CONTEXT_KERNEL = -128;
const CONTEXT_USER = -512;
const CONTEXT_MAX = -4095;

/** struct perf_event_header */
const HEADER_BYTES = 8;
/** struct sample_id of SAMPLE_ID_TYPE, the end of each record but samples: tid, time, id, cpu. */
const SAMPLE_ID_BYTES = 32;

/** Records that found no room: in the ring (PERF_RECORD_LOST), or with the hardware (LOST_SAMPLES). */
export interface LostRecord {
	readonly type: 'lost';
	readonly where: 'ring' | 'hardware';
	readonly lost: number;
}

/** PERF_RECORD_THROTTLE: sampling paused until the next tick, since it came too often. */
export interface ThrottleRecord {
	readonly type: 'throttle';
	readonly time_ns: number;
}

export type PerfRecord = SidebandRecord | SampleRecord | LostRecord | ThrottleRecord;

/** A record is shorter than its type says it is. */
export class PerfRecordError extends Error {}

/** One record; undefined if it is of a type not needed here. Throws PerfRecordError. */
export function parseRecord(view: DataView): PerfRecord | undefined {
	if (view.byteLength < HEADER_BYTES) throw new PerfRecordError('a record without a header');
	const type = view.getUint32(0, true);
	const misc = view.getUint16(4, true);
	switch (type) {
		case RECORD.sample:
			return parseSample(view);
		case RECORD.mmap2:
			return parseMmap2(view, misc);
		case RECORD.comm:
			return parseComm(view, misc);
		case RECORD.fork:
			return parseFork(view);
		case RECORD.exit:
			need(view, 32);
			return { type: 'exit', time_ns: u64(view, 24), pid: i32(view, 8), tid: i32(view, 16) };
		case RECORD.lost:
			need(view, 24);
			return { type: 'lost', where: 'ring', lost: u64(view, 16) };
		case RECORD.lost_samples:
			need(view, 16);
			return { type: 'lost', where: 'hardware', lost: u64(view, 8) };
		case RECORD.throttle:
			need(view, 32);
			return { type: 'throttle', time_ns: u64(view, 8) };
		default:
			return undefined;
	}
}

/** u64 ip; u32 pid, tid; u64 time, id; u32 cpu, res; u64 period, nr, ips[nr] */
function parseSample(view: DataView): SampleRecord {
	const ipsAt = 64;
	need(view, ipsAt);
	const count = u64(view, 56);
	need(view, ipsAt + 8 * count);
	const stacks = readStacks(view, ipsAt, count);
	if (stacks.kernel.length === 0 && stacks.user.length === 0) {
		const ip = readAddress(view, 8);
		(ip < 0 ? stacks.kernel : stacks.user).push(ip);
	}
	return {
		type: 'sample',
		time_ns: u64(view, 24),
		pid: i32(view, 16),
		tid: i32(view, 20),
		id: u64(view, 32),
		cpu: view.getUint32(40, true),
		period: u64(view, 48),
		...stacks,
	};
}

function isMarker(address: Address): boolean {
	return address < 0 && address >= CONTEXT_MAX;
}

interface Stacks {
	readonly kernel: Address[];
	readonly user: Address[];
}

/**
 * A call chain, split at its markers. The user's part comes last, and what is in it may be
 * anything: code without frame pointers leads the walk astray, and a return address that is none
 * can look like a marker. So there are no markers in it, and it ends at the first address that no
 * user has. Frames of a hypervisor or a guest are neither; they are dropped.
 */
function readStacks(view: DataView, at: number, count: number): Stacks {
	const kernel: Address[] = [];
	const user: Address[] = [];
	let frames: Address[] | undefined;
	for (let i = 0; i < count; i++) {
		const address = readAddress(view, at + 8 * i);
		if (frames === user) {
			if (address < 0 || address > Number.MAX_SAFE_INTEGER) break;
			user.push(address);
		} else if (address === CONTEXT_USER) frames = user;
		else if (isMarker(address)) {
			frames = address === CONTEXT_KERNEL ? kernel : undefined;
		} else frames?.push(address);
	}
	return { kernel, user };
}

/** u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, generation; u32 prot, flags; name */
function parseMmap2(view: DataView, misc: number): SidebandRecord {
	const nameAt = 72;
	need(view, nameAt + SAMPLE_ID_BYTES);
	const start = readAddress(view, 16);
	const hasInode = (misc & MISC_MMAP_BUILD_ID) === 0;
	return {
		type: 'mmap',
		time_ns: trailingTime(view),
		pid: i32(view, 8),
		tid: i32(view, 12),
		start,
		end: start + u64(view, 24),
		fileOffset: u64(view, 32),
		major: hasInode ? view.getUint32(40, true) : 0,
		minor: hasInode ? view.getUint32(44, true) : 0,
		inode: hasInode ? u64(view, 48) : 0,
		path: text(view, nameAt),
	};
}

/** u32 pid, tid; name */
function parseComm(view: DataView, misc: number): SidebandRecord {
	const nameAt = 16;
	need(view, nameAt + SAMPLE_ID_BYTES);
	return {
		type: 'comm',
		time_ns: trailingTime(view),
		pid: i32(view, 8),
		tid: i32(view, 12),
		comm: text(view, nameAt),
		exec: (misc & MISC_COMM_EXEC) !== 0,
	};
}

/** u32 pid, ppid, tid, ptid; u64 time */
function parseFork(view: DataView): SidebandRecord {
	need(view, 32);
	return {
		type: 'fork',
		time_ns: u64(view, 24),
		pid: i32(view, 8),
		tid: i32(view, 16),
		parentPid: i32(view, 12),
	};
}

function need(view: DataView, bytes: number): void {
	if (bytes > view.byteLength) {
		throw new PerfRecordError(`a record of ${view.byteLength} bytes where ${bytes} are needed`);
	}
}

/** struct sample_id: u32 pid, tid; u64 time, id; u32 cpu, res. */
function trailingTime(view: DataView): number {
	return u64(view, view.byteLength - SAMPLE_ID_BYTES + 8);
}

/** Up to its NUL; it is padded to 8 bytes, and followed by the sample_id. */
function text(view: DataView, at: number): string {
	const room = view.byteLength - SAMPLE_ID_BYTES - at;
	const bytes = Buffer.from(view.buffer, view.byteOffset + at, room);
	const length = bytes.indexOf(0);
	return bytes.toString('utf8', 0, length < 0 ? room : length);
}

/** A process or a thread; -1 and 0 are none of this PID namespace. */
function i32(view: DataView, at: number): number {
	return view.getInt32(at, true);
}

/** Exact to 2^53: times for 104 days since boot, then to the nearest 2 ns. */
function u64(view: DataView, at: number): number {
	return view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
}
