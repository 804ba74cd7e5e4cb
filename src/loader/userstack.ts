/**
 * Walks the user stack of a thread that sleeps, from outside: for those that slept until tracing
 * ended and so never came by a hook. The kernel's own walk by frame pointers is
 * arch/x86/events/core.c, perf_callchain_user; arm64 lays out its frames the same way.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { type Address, isUserAddress, readAddress } from './address.js';

/** What the thread had in its registers when it entered the kernel; see bpf/lib/stacks.h. */
export interface UserRegisters {
	readonly ip: Address;
	readonly sp: Address;
	/** The frame pointer. */
	readonly fp: Address;
}

/** Most stacks end within one. */
const PIECE_BYTES = 16 << 10;
const FRAME_BYTES = 16;
/** Frames further from the stack pointer than this are none: ulimit -s is 8 MB. */
const MAX_STACK_BYTES = 64 << 20;

/** Reads other processes' memory; keeps one file open, since threads of a process come in a row. */
export class UserStackWalker {
	#tid = 0;
	#fd = -1;
	/** Memory of that thread, and where it is. */
	#piece: DataView = new DataView(new ArrayBuffer(0));
	#pieceAt = 0;

	/** Return addresses, leaf first; the leaf alone where memory cannot be read. */
	walk(tid: number, registers: UserRegisters, depth: number): Address[] {
		const { ip, sp } = registers;
		if (ip <= 0) return [];
		this.#open(tid);
		const addresses = [ip];
		for (let { fp } = registers; addresses.length < depth; ) {
			const frame = this.#frameAt(fp, sp);
			if (!frame) break;
			addresses.push(frame.ip);
			if (frame.fp <= fp) break; // callers lie above; anything else would never end
			fp = frame.fp;
		}
		return addresses;
	}

	close(): void {
		if (this.#fd >= 0) closeSync(this.#fd);
		this.#fd = -1;
		this.#tid = 0;
	}

	#open(tid: number): void {
		if (tid === this.#tid) return;
		this.close();
		this.#tid = tid;
		this.#piece = new DataView(new ArrayBuffer(0));
		try {
			this.#fd = openSync(`/proc/${tid}/mem`, 'r');
		} catch {
			this.#fd = -1; // it has ended, or is not ours to read
		}
	}

	/** The caller's frame pointer, and the address that is returned to; undefined at the end. */
	#frameAt(fp: Address, sp: Address): { fp: Address; ip: Address } | undefined {
		if (this.#fd < 0 || fp < sp || fp > sp + MAX_STACK_BYTES || fp % 8 !== 0) return undefined;
		if (fp < this.#pieceAt || fp + FRAME_BYTES > this.#pieceAt + this.#piece.byteLength) {
			this.#piece = this.#read(fp);
			this.#pieceAt = fp;
			if (this.#piece.byteLength < FRAME_BYTES) return undefined;
		}
		const at = fp - this.#pieceAt;
		const ip = readAddress(this.#piece, at + 8);
		return isUserAddress(ip) ? { fp: readAddress(this.#piece, at), ip } : undefined;
	}

	#read(address: Address): DataView {
		const bytes = new Uint8Array(PIECE_BYTES);
		try {
			const length = readSync(this.#fd, bytes, 0, bytes.length, address);
			return new DataView(bytes.buffer, 0, length);
		} catch {
			return new DataView(bytes.buffer, 0, 0); // not mapped
		}
	}
}
