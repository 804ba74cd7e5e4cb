/**
 * Walks the user stack of a thread that sleeps, from outside: for those that slept until tracing
 * ended and so never came by a hook. The kernel's own walk by frame pointers is
 * arch/x86/events/core.c, perf_callchain_user; arm64 lays out its frames the same way.
 *
 * Only memory is read that belongs to no file. To read what a stranger has mapped is to wait for
 * whoever provides it, which may be the stranger (FUSE), for as long as it pleases.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { type Address, isUserAddress, readAddress } from './address.js';

/** What the thread had in its registers when it entered the kernel; see bpf/lib/walk.h. */
interface UserRegisters {
	readonly ip: Address;
	readonly sp: Address;
	/** The frame pointer. */
	readonly fp: Address;
}

/** Most stacks end within one. */
const PIECE_BYTES = 16 << 10;
const FRAME_BYTES = 16;
/** Code of 32 bits, whose frames are laid out otherwise, has its stack below. */
const LOWEST_STACK = 2 ** 32;

const NOTHING = new DataView(new ArrayBuffer(0));

/** Reads other processes' memory; keeps one file open, since threads of a process come in a row. */
export class UserStackWalker {
	#pid = 0;
	#fd = -1;
	#maps = '';
	/** What may be read: the mapping that the thread's stack pointer is in. */
	#stack = { start: 0, end: 0 };
	/** A piece of it, and where it is. */
	#piece: DataView = NOTHING;
	#pieceAt = 0;

	/** Return addresses, leaf first; the leaf alone where memory cannot be read. */
	walk(pid: number, registers: UserRegisters, depth: number): Address[] {
		const { ip, sp } = registers;
		if (ip <= 0) return [];
		const addresses = [ip];
		if (!this.#open(pid, sp)) return addresses;
		for (let { fp } = registers; addresses.length < depth; ) {
			const frame = this.#frameAt(fp);
			if (!frame) break;
			addresses.push(frame.ip);
			if (frame.fp === fp) break; // as in bpf/lib/walk.h
			fp = frame.fp;
		}
		return addresses;
	}

	close(): void {
		if (this.#fd >= 0) closeSync(this.#fd);
		this.#fd = -1;
		this.#pid = 0;
		this.#piece = NOTHING;
	}

	/** Whether the stack that is in use at `sp` may be read. */
	#open(pid: number, sp: Address): boolean {
		if (pid !== this.#pid) {
			this.close();
			this.#pid = pid;
			try {
				this.#maps = readFileSync(`/proc/${pid}/maps`, 'latin1');
				this.#fd = openSync(`/proc/${pid}/mem`, 'r');
			} catch {
				this.#maps = ''; // it has ended, or is not ours to read
			}
		}
		const stack = sp < LOWEST_STACK ? undefined : anonymousMapping(this.#maps, sp);
		if (!stack) return false;
		this.#stack = stack;
		return this.#fd >= 0;
	}

	/** The caller's frame pointer, and the address that is returned to; undefined at the end. */
	#frameAt(fp: Address): { fp: Address; ip: Address } | undefined {
		const { start, end } = this.#stack;
		if (fp < start || fp + FRAME_BYTES > end || fp % 8 !== 0) return undefined;
		if (fp < this.#pieceAt || fp + FRAME_BYTES > this.#pieceAt + this.#piece.byteLength) {
			this.#piece = this.#read(fp, Math.min(PIECE_BYTES, end - fp));
			this.#pieceAt = fp;
			if (this.#piece.byteLength < FRAME_BYTES) return undefined;
		}
		const at = fp - this.#pieceAt;
		const ip = readAddress(this.#piece, at + 8);
		return isUserAddress(ip) ? { fp: readAddress(this.#piece, at), ip } : undefined;
	}

	#read(address: Address, length: number): DataView {
		const bytes = new Uint8Array(length);
		try {
			return new DataView(bytes.buffer, 0, readSync(this.#fd, bytes, 0, length, address));
		} catch {
			return NOTHING; // not mapped any more
		}
	}
}

/**
 * The mapping that an address is in, if no file is behind it: man 5 proc_pid_maps, "start-end
 * permissions offset device inode path".
 */
function anonymousMapping(
	maps: string,
	address: Address,
): { start: number; end: number } | undefined {
	for (const line of maps.split('\n')) {
		const match = /^([0-9a-f]+)-([0-9a-f]+) rw.p \S+ \S+ 0 *(\[.*\])?$/.exec(line);
		if (!match) continue;
		const start = Number.parseInt(match[1] as string, 16);
		const end = Number.parseInt(match[2] as string, 16);
		if (address >= start && address < end) return { start, end };
	}
	return undefined;
}
