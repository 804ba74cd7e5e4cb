/**
 * Walks the user stack of a thread that sleeps, from outside: for those that slept until tracing
 * ended and so never came by a hook. The kernel's own walk by frame pointers is
 * arch/x86/events/core.c, perf_callchain_user; arm64 lays out its frames the same way.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Address } from './address.js';

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

	/** Return addresses, leaf first; the leaf alone where memory cannot be read. */
	walk(tid: number, registers: UserRegisters, depth: number): Address[] {
		const { ip, sp } = registers;
		let { fp } = registers;
		if (ip <= 0) return [];
		const addresses = [ip];
		this.#open(tid);
		let piece: DataView = new DataView(new ArrayBuffer(0));
		let pieceAt = 0;
		while (this.#fd >= 0 && addresses.length < depth) {
			if (fp < sp || fp > sp + MAX_STACK_BYTES || fp % 8 !== 0) break;
			if (fp < pieceAt || fp + FRAME_BYTES > pieceAt + piece.byteLength) {
				piece = this.#read(fp);
				pieceAt = fp;
				if (piece.byteLength < FRAME_BYTES) break;
			}
			const next = Number(piece.getBigUint64(fp - pieceAt, true));
			const address = Number(piece.getBigUint64(fp - pieceAt + 8, true));
			if (address <= 0 || address >= 2 ** 56) break;
			addresses.push(address);
			if (next <= fp) break; // callers lie above; anything else would never end
			fp = next;
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
		try {
			this.#fd = openSync(`/proc/${tid}/mem`, 'r');
		} catch {
			this.#fd = -1; // it has ended, or is not ours to read
		}
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
