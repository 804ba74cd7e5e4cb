/** Names of threads as bytes, made once for each and not for each event. */
import { printable } from '../render/terminal.js';
import { readComm } from './comm.js';

/** Threads that were seen lately; more than these are named anew. */
const MAX_NAMES = 65_536;

export interface ThreadName {
	readonly tgid: number;
	readonly tid: number;
	/** As the kernel has it, whatever that is. */
	readonly comm: string;
	/** comm, as four words. */
	readonly words: readonly [number, number, number, number];
	/** "comm[tid]", or "comm[tid/pid]" for a thread that is not its process's first. */
	readonly text: string;
	readonly plain: Uint8Array;
	readonly padded: Uint8Array;
}

/** Of records in words: at `at` is a tgid, which a tid follows; `commAt` is where a comm of 16 bytes is. */
export class ThreadNames {
	readonly #names = new Map<number, ThreadName>();
	readonly #width: number;

	/** `width`: of `padded`, in characters. */
	constructor(width = 0) {
		this.#width = width;
	}

	plain(words: Uint32Array, at: number, commAt = at + 2): Uint8Array {
		return this.known(words, at, commAt).plain;
	}

	padded(words: Uint32Array, at: number, commAt = at + 2): Uint8Array {
		return this.known(words, at, commAt).padded;
	}

	known(words: Uint32Array, at: number, commAt = at + 2): ThreadName {
		const tid = words[at + 1] as number;
		const known = this.#names.get(tid);
		if (
			known !== undefined &&
			known.tgid === words[at] &&
			known.words[0] === words[commAt] &&
			known.words[1] === words[commAt + 1] &&
			known.words[2] === words[commAt + 2] &&
			known.words[3] === words[commAt + 3]
		)
			return known;
		const name = nameAt(words, at, commAt, this.#width);
		if (this.#names.size >= MAX_NAMES) this.#names.clear();
		this.#names.set(tid, name);
		return name;
	}
}

function nameAt(words: Uint32Array, at: number, commAt: number, width: number): ThreadName {
	const comm = readComm(new DataView(words.buffer, words.byteOffset), commAt * 4);
	const [tgid = 0, tid = 0] = words.subarray(at, at + 2);
	const [a = 0, b = 0, c = 0, d = 0] = words.subarray(commAt, commAt + 4);
	const numbers = tid === tgid ? `${tid}` : `${tid}/${tgid}`;
	const isIdle = tid === 0 && comm.startsWith('swapper');
	const text = isIdle ? '<idle>' : `${printable(comm)}[${numbers}]`;
	const encoder = new TextEncoder();
	return {
		tgid,
		tid,
		comm,
		words: [a, b, c, d],
		text,
		plain: encoder.encode(text),
		padded: encoder.encode(text.padEnd(width)),
	};
}
