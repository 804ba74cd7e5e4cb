/** Calls that failed, and what they were about: user space's side of bpf/lib/syscount/failures.h. */
import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { errnoName } from '../../abi/errno.js';
import { type Abi, callName } from '../../abi/syscalls.js';
import { unpackKind } from '../../bpf/calls/calls.js';
import { readComm } from '../../bpf/comm.js';
import { setRoomInHalves, Window } from '../../bpf/window.js';
import { syscount as layout } from '../../generated/syscount.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';
import type { ShownFailure } from './failed-table.js';

/** As in JSON: what is shown, and the numbers behind the names. */
export type FailedCallRow = ShownFailure & {
	readonly nr: number;
	readonly abi: Abi;
	readonly errno: number;
};

type Layout = typeof layout;

const ABOUT = layout.enums.failure_about;
/** include/uapi/linux/stat.h */
const S_IFMT = 0o170000;
const S_IFSOCK = 0o140000;
const S_IFIFO = 0o010000;

export class FailedCalls {
	readonly #window: Window;

	constructor(private readonly object: BpfObject<Layout>) {
		this.#window = new Window(object);
	}

	/** Before loading: how many rows there is room for, in each of two windows. */
	static setRoom(object: BpfObject<Layout>, rows: number): void {
		setRoomInHalves(object, 'failures', rows);
	}

	/** What failed since the last time, the most failures first. */
	take(): FailedCallRow[] {
		const map = this.object.map(`failures_${this.#window.swap()}`);
		const { failure_key, failure_count } = this.object.layout.structs;
		const rows: FailedCallRow[] = [];
		map.drain((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				rows.push(this.#row(keys, i * failure_key.size, values, i * failure_count.size));
			}
		});
		return rows.sort((a, b) => b.errors - a.errors || a.pid - b.pid || a.nr - b.nr);
	}

	#row(keys: DataView, keyAt: number, values: DataView, valueAt: number): FailedCallRow {
		const { fields } = this.object.layout.structs.failure_key;
		const value = this.object.layout.structs.failure_count.fields;
		const { nr, abi, errno } = unpackKind(keys.getUint32(keyAt + fields.kind.offset, true));
		const pid = keys.getUint32(keyAt + fields.tgid.offset, true);
		return {
			pid,
			comm: readComm(values, valueAt + value.comm.offset),
			syscall: callName({ nr, abi }),
			nr,
			abi,
			error: errnoName(errno),
			errno,
			errors: readU64(values, valueAt + value.count.offset),
			...this.#subject(keys, keyAt, pid),
		};
	}

	#subject(keys: DataView, at: number, pid: number): Partial<ShownFailure> {
		const { about, descriptor, inode, mode, text } = this.object.layout.structs.failure_key.fields;
		const bytes = Buffer.from(keys.buffer, keys.byteOffset + at + text.offset, text.size);
		const end = bytes.indexOf(0);
		const words = bytes.toString('utf8', 0, end < 0 ? text.size : end);
		const number = keys.getInt32(at + descriptor.offset, true);
		switch (keys.getUint32(at + about.offset, true)) {
			case ABOUT.FAILURE_PATH:
				return { path: words };
			case ABOUT.FAILURE_PATH_CUT:
				return { path: words, path_cut: true };
			case ABOUT.FAILURE_PATH_UNREADABLE:
				return { path: null };
			case ABOUT.FAILURE_DESCRIPTOR: {
				const kind = keys.getUint32(at + mode.offset, true) & S_IFMT;
				const file = { kind, inode: readU64(keys, at + inode.offset), name: words };
				return { descriptor: number, file: fileName(pid, number, file) };
			}
			case ABOUT.FAILURE_DESCRIPTOR_CLOSED:
				return { descriptor: number, file: null };
			default:
				return {};
		}
	}
}

/** What the kernel knew of a file as the call failed. */
interface FailedFile {
	/** Of its mode, what says that it is a socket, a pipe, … */
	readonly kind: number;
	readonly inode: number;
	/** The last part of its path. */
	readonly name: string;
}

/** As /proc/PID/fd shows it; of a file that is not there any more only the name. */
function fileName(pid: number, descriptor: number, { kind, inode, name }: FailedFile): string {
	if (kind === S_IFSOCK) return `socket:[${inode}]`;
	if (kind === S_IFIFO && name === '') return `pipe:[${inode}]`;
	try {
		const path = readlinkSync(`/proc/${pid}/fd/${descriptor}`);
		if (basename(path.replace(/ \(deleted\)$/, '')) === name) return path;
	} catch {
		// The process has ended, has closed it, or is not ours to look at.
	}
	return name;
}
