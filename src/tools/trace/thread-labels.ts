/** Names of threads as bytes, made once for each and not for each record. */
import { readComm } from '../../bpf/comm.js';
import { printable } from '../../render/terminal.js';
import { COMM, TGID } from './record.js';

/** Threads that were seen lately; more than these are named anew. */
const MAX_LABELS = 65_536;

export interface ThreadLabel {
	readonly tgid: number;
	readonly tid: number;
	readonly comm: string;
	readonly words: readonly [number, number, number, number];
	/** "comm[tid]", or "comm[tid/pid]" of a thread that is not its process's first. */
	readonly bytes: Uint8Array;
}

export class ThreadLabels {
	readonly #labels = new Map<number, ThreadLabel>();

	/** Of the record that begins at this word. */
	of(words: Uint32Array, at: number): Uint8Array {
		return this.known(words, at).bytes;
	}

	known(words: Uint32Array, at: number): ThreadLabel {
		const tgid = words[at + TGID] as number;
		const tid = words[at + TGID + 1] as number;
		const known = this.#labels.get(tid);
		const comm = at + COMM;
		if (
			known !== undefined &&
			known.tgid === tgid &&
			known.words[0] === words[comm] &&
			known.words[1] === words[comm + 1] &&
			known.words[2] === words[comm + 2] &&
			known.words[3] === words[comm + 3]
		)
			return known;
		const [a = 0, b = 0, c = 0, d = 0] = words.subarray(comm, comm + 4);
		const name = readComm(new DataView(words.buffer, words.byteOffset), comm * 4);
		const text = `${printable(name)}[${tid === tgid ? tid : `${tid}/${tgid}`}]`;
		const label = {
			tgid,
			tid,
			comm: name,
			words: [a, b, c, d] as const,
			bytes: new TextEncoder().encode(text),
		};
		if (this.#labels.size >= MAX_LABELS) this.#labels.clear();
		this.#labels.set(tid, label);
		return label;
	}
}
