/** Names of threads as bytes, made once for each and not for each event. */
import { readComm } from '../../bpf/comm.js';
import { printable } from '../../render/terminal.js';

/** Threads that were seen lately; more than these are named anew. */
const MAX_NAMES = 65_536;

export interface ThreadName {
	readonly tgid: number;
	readonly tid: number;
	/** comm, as four words. */
	readonly comm: readonly [number, number, number, number];
	/** "comm[tid]", or "comm[tid/pid]" for a thread that is not its process's first. */
	readonly text: string;
	readonly plain: Uint8Array;
	readonly padded: Uint8Array;
}

/** Of records in words: `at` is where a tgid is, which a tid and a comm of 16 bytes follow. */
export class ThreadNames {
	readonly #names = new Map<number, ThreadName>();
	readonly #width: number;

	/** `width`: of `padded`. */
	constructor(width: number) {
		this.#width = width;
	}

	plain(words: Uint32Array, at: number): Uint8Array {
		return this.known(words, at).plain;
	}

	padded(words: Uint32Array, at: number): Uint8Array {
		return this.known(words, at).padded;
	}

	known(words: Uint32Array, at: number): ThreadName {
		const tid = words[at + 1] as number;
		const known = this.#names.get(tid);
		if (
			known !== undefined &&
			known.tgid === words[at] &&
			known.comm[0] === words[at + 2] &&
			known.comm[1] === words[at + 3] &&
			known.comm[2] === words[at + 4] &&
			known.comm[3] === words[at + 5]
		)
			return known;
		const name = nameAt(words, at, this.#width);
		if (this.#names.size >= MAX_NAMES) this.#names.clear();
		this.#names.set(tid, name);
		return name;
	}
}

function nameAt(words: Uint32Array, at: number, width: number): ThreadName {
	const view = new DataView(words.buffer, words.byteOffset);
	const comm = printable(readComm(view, (at + 2) * 4));
	const [tgid = 0, tid = 0, a = 0, b = 0, c = 0, d = 0] = words.subarray(at, at + 6);
	const numbers = tid === tgid ? `${tid}` : `${tid}/${tgid}`;
	const text = tid === 0 && comm.startsWith('swapper') ? '<idle>' : `${comm}[${numbers}]`;
	const encoder = new TextEncoder();
	return {
		tgid,
		tid,
		comm: [a, b, c, d],
		text,
		plain: encoder.encode(text),
		padded: encoder.encode(text.padEnd(width)),
	};
}
