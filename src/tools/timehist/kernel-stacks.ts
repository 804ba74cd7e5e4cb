/** Kernel stacks in short form, "futex_wait_queue <- futex_wait <- do_futex", named as events go by. */
import { type Address, addressText, readAddress } from '../../loader/signed-address.js';
import type { LineBuffer } from '../../render/line-buffer.js';
import { printable } from '../../render/terminal.js';
import { kernelNames } from '../../symbolize/symbols/kernel.js';

/** The way into the tracepoint, and to sleep: what every stack begins with. */
const SCHEDULER =
	/^(bpf_|__bpf_|___bpf|__traceiter_|__schedule$|schedule$|schedule_idle$|preempt_schedule|__preempt_schedule|__cond_resched|schedule_timeout$|\[bpf\])/;
const FRAME_BYTES = 600;
const ARROW = new TextEncoder().encode(' <- ');

interface Name {
	readonly text: string;
	readonly bytes: Uint8Array;
	readonly scheduler: boolean;
}

export class KernelStacks {
	readonly #names = new Map<Address, Name>();

	/** Frames begin at word `at` of a record; there are `room`, ended by a 0; `most` are shown. */
	constructor(
		private readonly at: number,
		private readonly room: number,
		private readonly most: number,
	) {}

	/** Looks up the names that a batch needs and that are not known yet, all at once. */
	name(words: Uint32Array, places: Uint32Array, count: number): void {
		const wanted = new Set<Address>();
		for (let i = 0; i < count; i++) {
			for (let frame = 0; frame < this.room; frame++) {
				const address = addressAt(words, (places[i] as number) + this.at + 2 * frame);
				if (address === 0) break;
				if (!this.#names.has(address)) wanted.add(address);
			}
		}
		if (wanted.size === 0) return;
		const addresses = Float64Array.from(wanted).sort();
		// Where it will go on is behind the call.
		const { names } = kernelNames(addresses.map((address) => address - 1));
		for (const [i, address] of addresses.entries()) {
			const text = printable(names[i] ?? `[kernel]+0x${addressText(address)}`);
			const bytes = new TextEncoder().encode(text);
			this.#names.set(address, { text, bytes, scheduler: SCHEDULER.test(text) });
		}
	}

	/** Adds the stack of the record that begins at this word. */
	add(words: Uint32Array, record: number, lines: LineBuffer): void {
		let shown = 0;
		for (let frame = 0; frame < this.room && shown < this.most; frame++) {
			const address = addressAt(words, record + this.at + 2 * frame);
			if (address === 0) return;
			const name = this.#names.get(address);
			if (!name || (shown === 0 && name.scheduler)) continue;
			lines.room(FRAME_BYTES + name.bytes.length);
			if (shown++ > 0) lines.add(ARROW);
			lines.add(name.bytes);
		}
	}

	/** The same as a string. */
	text(record: DataView): string {
		const frames: string[] = [];
		for (let frame = 0; frame < this.room && frames.length < this.most; frame++) {
			const address = readAddress(record, this.at * 4 + 8 * frame);
			if (address === 0) break;
			const name = this.#names.get(address);
			if (name && (frames.length > 0 || !name.scheduler)) frames.push(name.text);
		}
		return frames.join(' <- ');
	}
}

/** As readAddress: kernel addresses are negative. */
function addressAt(words: Uint32Array, at: number): Address {
	return ((words[at + 1] as number) | 0) * 2 ** 32 + (words[at] as number);
}
