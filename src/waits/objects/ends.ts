/**
 * Which processes hold the other end of what threads wait for: user space's side of bpf/lib/waits/objects/ends.h. A BPF
 * program goes over all descriptors of the machine, in all namespaces, in about 1 us for a pipe or a socket and less
 * for a file; user space would need a readlink of /proc/PID/fd/N for each, and the tables in /proc/net of each network
 * namespace.
 *
 * It is run while tracing goes on, too, soon after somebody waits for something new: the process at the other end may
 * end first. Another thread runs it.
 */
import type { Holder } from '../../aggregate/wait-object.js';
import { readComm } from '../../bpf/comm.js';
import { off_cpu as layout } from '../../generated/off_cpu.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';

/** Whether there is something new is looked for so often; at first, and up to so seldom while there is nothing. */
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 100;
/** A search takes at most this share of a CPU. */
const PAUSE_PER_SEARCH = 50;
/** For a million descriptors. */
const MOST_MS = 1000;

/** Of an end: what hundreds of workers have inherited says no more. */
const MOST_HOLDERS = 32;

type End = 'read' | 'write';
type Ends = Readonly<Record<End, readonly Holder[]>>;

const NOBODY: Ends = { read: [], write: [] };

export class OtherEnds {
	readonly #object: BpfObject<typeof layout>;
	/** By key: who was there when it was last found that somebody is. */
	readonly #ends = new Map<bigint, Ends>();
	#timer: NodeJS.Timeout | undefined;
	#pause_ms = SHORTEST_PAUSE_MS;
	/** How many ends were wanted, as of the last search. */
	#wanted = 0;
	/** The one that runs. */
	#search: Promise<void> | undefined;
	#wasCut = false;
	#problem: string | undefined;
	#isClosed = false;

	constructor(object: BpfObject<typeof layout>) {
		this.#object = object;
	}

	begin(): void {
		this.#timer = setTimeout(() => this.#look(), this.#pause_ms);
		this.#timer.unref();
	}

	/** Once more, for what is wanted by now. */
	async end(): Promise<void> {
		clearTimeout(this.#timer);
		await this.#search;
		this.#isClosed = true;
		if (this.#countWanted() > 0) await this.#searchNow();
	}

	/** Who holds an end, as far as it was seen; of a pipe, that end of it. */
	holders(key: bigint, end?: End): readonly Holder[] {
		const { read, write } = this.#ends.get(key) ?? NOBODY;
		if (end) return end === 'read' ? read : write;
		return write.length > 0 ? write : read;
	}

	/** What the user should know. */
	notices(): string[] {
		const problem = this.#wasCut ? 'there are too many descriptors' : this.#problem;
		return problem === undefined
			? []
			: [`not all processes at the other end of pipes and sockets were found: ${problem}`];
	}

	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#timer);
	}

	#look(): void {
		if (this.#isClosed) return;
		if (this.#countWanted() === this.#wanted) {
			this.#pause_ms = Math.min(2 * this.#pause_ms, LONGEST_PAUSE_MS);
			this.begin();
			return;
		}
		const began_ms = performance.now();
		this.#search = this.#searchNow().finally(() => {
			this.#search = undefined;
			const took_ms = performance.now() - began_ms;
			this.#pause_ms = Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_SEARCH * took_ms);
			if (!this.#isClosed) this.begin();
		});
	}

	#countWanted(): number {
		return readU64(this.#object.variableBytes('ends_wanted'), 0);
	}

	async #searchNow(): Promise<void> {
		this.#wanted = this.#countWanted();
		try {
			const { written, whole } = await this.#object.runIteratorAside('find_holders', {
				most_ms: MOST_MS,
			});
			this.#wasCut ||= !whole;
			this.#take(written);
		} catch (error) {
			this.#problem = error instanceof Error ? error.message : String(error);
		}
	}

	#take(written: DataView): void {
		for (const [key, ends] of holdersIn(written)) {
			const known = this.#ends.get(key) ?? NOBODY;
			// Who was there, and is no more, has ended; nobody has taken its place.
			const later = (end: End) => (ends[end].length > 0 ? ends[end] : known[end]);
			this.#ends.set(key, { read: later('read'), write: later('write') });
		}
	}
}

/** By key and end; each process once. */
function holdersIn(written: DataView): Map<bigint, Record<End, Holder[]>> {
	const { size, fields } = layout.structs.end_holder;
	const { END_READS, END_WRITES } = layout.enums.end_mode;
	const found = new Map<bigint, Record<End, Holder[]>>();
	for (let at = 0; at + size <= written.byteLength; at += size) {
		const key = written.getBigUint64(at + fields.key.offset, true);
		const mode = written.getUint32(at + fields.mode.offset, true);
		const pid = written.getUint32(at + fields.tgid.offset, true);
		const ends = found.get(key) ?? { read: [], write: [] };
		found.set(key, ends);
		const add = (holders: Holder[]) => {
			if (holders.length < MOST_HOLDERS && !holders.some((each) => each.pid === pid))
				holders.push({ pid, comm: readComm(written, at + fields.comm.offset) });
		};
		if (mode & END_READS) add(ends.read);
		if (mode & END_WRITES) add(ends.write);
	}
	return found;
}
