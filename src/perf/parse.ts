/**
 * Records of perf events with attributes.ts' SAMPLE_TYPE or SAMPLE_ID_TYPE, and sample_id_all.
 * Source: enum perf_event_type in include/uapi/linux/perf_event.h.
 */
import {
	perf_callchain_context,
	perf_event_header,
	perf_event_type,
	record_comm,
	record_lost,
	record_lost_samples,
	record_mmap2,
	record_sample,
	record_task,
	record_throttle,
	sample_id,
	uapi,
} from '../generated/uapi.js';
import { readU64 as u64 } from '../loader/layout.js';
import { type Address, readAddress } from '../loader/signed-address.js';
import type { SampleRecord, SidebandRecord } from './records.js';

/** What the addresses after it are; all of them lie below 0. */
const { PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER, PERF_CONTEXT_MAX } = perf_callchain_context;

/** Records that found no room: in the ring (PERF_RECORD_LOST), or with the hardware (LOST_SAMPLES). */
export interface LostRecord {
	readonly type: 'lost';
	readonly where: 'ring' | 'hardware';
	readonly lost: number;
}

/** PERF_RECORD_THROTTLE: sampling paused until the next tick, since it came too often. */
interface ThrottleRecord {
	readonly type: 'throttle';
}

export type PerfRecord = SidebandRecord | SampleRecord | LostRecord | ThrottleRecord;

/** A record is shorter than its type says it is. */
export class PerfRecordError extends Error {}

/** One record; undefined if it is of a type not needed here. Throws PerfRecordError. */
export function parseRecord(view: DataView): PerfRecord | undefined {
	need(view, perf_event_header.size);
	const { type, misc } = perf_event_header.fields;
	switch (view.getUint32(type.offset, true)) {
		case perf_event_type.PERF_RECORD_SAMPLE:
			return parseSample(view);
		case perf_event_type.PERF_RECORD_MMAP2:
			return parseMmap2(view, view.getUint16(misc.offset, true));
		case perf_event_type.PERF_RECORD_COMM:
			return parseComm(view, view.getUint16(misc.offset, true));
		case perf_event_type.PERF_RECORD_FORK:
			return parseTask(view, 'fork');
		case perf_event_type.PERF_RECORD_EXIT:
			return parseTask(view, 'exit');
		case perf_event_type.PERF_RECORD_LOST:
			need(view, record_lost.size);
			return { type: 'lost', where: 'ring', lost: u64(view, record_lost.fields.lost.offset) };
		case perf_event_type.PERF_RECORD_LOST_SAMPLES: {
			need(view, record_lost_samples.size);
			const lost = u64(view, record_lost_samples.fields.lost.offset);
			return { type: 'lost', where: 'hardware', lost };
		}
		case perf_event_type.PERF_RECORD_THROTTLE:
			need(view, record_throttle.size);
			return { type: 'throttle' };
		default:
			return undefined;
	}
}

function parseSample(view: DataView): SampleRecord {
	const { fields, size } = record_sample;
	need(view, size);
	const count = u64(view, fields.nr.offset);
	need(view, fields.ips.offset + 8 * count);
	const stacks = readStacks(view, fields.ips.offset, count);
	if (stacks.kernel.length === 0 && stacks.user.length === 0) {
		const ip = readAddress(view, fields.ip.offset);
		(ip < 0 ? stacks.kernel : stacks.user).push(ip);
	}
	return {
		type: 'sample',
		time_ns: u64(view, fields.time.offset),
		pid: i32(view, fields.pid.offset),
		tid: i32(view, fields.tid.offset),
		id: u64(view, fields.id.offset),
		cpu: view.getUint32(fields.cpu.offset, true),
		period: u64(view, fields.period.offset),
		...stacks,
	};
}

function isMarker(address: Address): boolean {
	return address < 0 && address >= PERF_CONTEXT_MAX;
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
		} else if (address === PERF_CONTEXT_USER) frames = user;
		else if (isMarker(address)) {
			frames = address === PERF_CONTEXT_KERNEL ? kernel : undefined;
		} else frames?.push(address);
	}
	return { kernel, user };
}

function parseMmap2(view: DataView, misc: number): SidebandRecord {
	const { fields, size } = record_mmap2;
	need(view, size + sample_id.size);
	const start = readAddress(view, fields.addr.offset);
	// Else a build id is where these would be.
	const hasInode = (misc & uapi.MISC_MMAP_BUILD_ID) === 0;
	return {
		type: 'mmap',
		time_ns: trailingTime(view),
		pid: i32(view, fields.pid.offset),
		tid: i32(view, fields.tid.offset),
		start,
		end: start + u64(view, fields.len.offset),
		fileOffset: u64(view, fields.pgoff.offset),
		major: hasInode ? view.getUint32(fields.maj.offset, true) : 0,
		minor: hasInode ? view.getUint32(fields.min.offset, true) : 0,
		inode: hasInode ? u64(view, fields.ino.offset) : 0,
		path: text(view, fields.filename.offset),
	};
}

function parseComm(view: DataView, misc: number): SidebandRecord {
	const { fields, size } = record_comm;
	need(view, size + sample_id.size);
	return {
		type: 'comm',
		time_ns: trailingTime(view),
		pid: i32(view, fields.pid.offset),
		tid: i32(view, fields.tid.offset),
		comm: text(view, fields.comm.offset),
		exec: (misc & uapi.MISC_COMM_EXEC) !== 0,
	};
}

function parseTask(view: DataView, type: 'fork' | 'exit'): SidebandRecord {
	const { fields, size } = record_task;
	need(view, size);
	const task = {
		time_ns: u64(view, fields.time.offset),
		pid: i32(view, fields.pid.offset),
		tid: i32(view, fields.tid.offset),
	};
	return type === 'exit'
		? { type, ...task }
		: { type, ...task, parentPid: i32(view, fields.ppid.offset) };
}

function need(view: DataView, bytes: number): void {
	if (bytes > view.byteLength) {
		throw new PerfRecordError(`a record of ${view.byteLength} bytes where ${bytes} are needed`);
	}
}

function trailingTime(view: DataView): number {
	return u64(view, view.byteLength - sample_id.size + sample_id.fields.time.offset);
}

/** Up to its NUL; it is padded to 8 bytes, and followed by the sample_id. */
function text(view: DataView, at: number): string {
	const room = view.byteLength - sample_id.size - at;
	const bytes = Buffer.from(view.buffer, view.byteOffset + at, room);
	const length = bytes.indexOf(0);
	return bytes.toString('utf8', 0, length < 0 ? room : length);
}

/** A process or a thread; -1 and 0 are none of this PID namespace. */
function i32(view: DataView, at: number): number {
	return view.getInt32(at, true);
}
