/**
 * Names the functions of runtimes that walks have taken (src/runtimes): as soon as a stack with them is kept, since
 * processes end, and their memory changes.
 */
import type { CapturedStack } from '../aggregate/stack.js';
import type { FunctionMaps, MetFrame, MetFunctions } from '../bpf/runtimes/functions.js';
import { hasInlined, namesMadeCode, type RuntimeFile } from '../runtimes/recognise.js';
import type { FunctionWord } from '../runtimes/runtime.js';
import { FunctionMemory } from './function-memory.js';
import { InlinedCalls } from './inlined-calls.js';
import { type FunctionName, KeptNames, type Named, nameKey } from './kept-names.js';
import type { AddressSpace } from './mappings/address-space.js';
import type { MappedFile } from './mappings/mapped-file.js';
import type { ProcessHistory } from './mappings/processes.js';
import { lifeKey, type MetRuntime, MetRuntimes } from './met-runtimes.js';
import type { Pages } from './open-processes.js';
import type { Runtimes } from './walks/sleeping-stacks.js';

/** Of every pause this long, a slice goes into reading names. */
const SLICE_MS = 5;
const PAUSE_MS = 5;
/** For all names of a result that have not been read before. */
const MAX_ASKING_MS = 1000;
/** What waits to be named; addresses in made code take no more than the half, as there may be many for each function. */
const MAX_WAITING = 100_000;
/** To read one, while its process goes on. */
const MAX_ATTEMPTS = 4;
interface Waiting {
	readonly pid: number;
	readonly runtime: RuntimeFile;
	readonly of: Named;
	/** Of a call, whose functions are to be read that were put into this one's code; undefined: of the name. */
	readonly call: number | undefined;
	/** How often it was read. */
	readonly attempts: number;
}

/** What walks have met. */
type Maps = Pick<FunctionMaps, 'watch' | 'met' | 'runtimeIn'>;

export class FunctionNames implements Runtimes {
	readonly #maps: Maps;
	readonly #history: Pick<ProcessHistory, 'at'>;
	readonly #memory: FunctionMemory;
	readonly #names: KeptNames;
	readonly #mostWaiting: number;
	readonly #calls = new InlinedCalls();
	#waiting: Waiting[] = [];
	#timer: NodeJS.Timeout | undefined;
	readonly #met: MetRuntimes;
	/** What it took to read names that were asked for, since `take`. */
	#asking_ms = 0;

	/**
	 * `pagesOf`: the memory of a process; `names`: how much is kept; `mostWaiting`: how much waits to be read, of which
	 * addresses in made code take no more than the half.
	 */
	constructor(
		maps: Maps,
		history: Pick<ProcessHistory, 'at'>,
		pagesOf?: (pid: number) => Pages,
		{ names = new KeptNames(), mostWaiting = MAX_WAITING } = {},
	) {
		this.#names = names;
		this.#mostWaiting = mostWaiting;
		this.#maps = maps;
		this.#met = new MetRuntimes(maps);
		this.#history = history;
		this.#memory = new FunctionMemory(history, this.#met, pagesOf);
	}

	/** `take`: takes in what the kernel has told of processes. */
	begin(take: () => void): void {
		this.#maps.watch(async () => this.#takeMet(take));
	}

	/** Takes in what walks have met since; to be called before names are asked for. */
	take(): void {
		this.#asking_ms = 0;
		this.#memory.forget();
		this.#addMet();
	}

	/** The name of a function in a stack of a process that had this address space. Reads it now, if there is time. */
	nameOf(space: AddressSpace, word: FunctionWord): FunctionName {
		return this.#nameOf(space, word);
	}

	/** The function whose code an address is in that no file has, and no function was taken of. Reads as `nameOf`. */
	madeAt(space: AddressSpace, address: number): FunctionName {
		const runtime = this.#met.of(lifeKey(space.life));
		return runtime && namesMadeCode(runtime) ? this.#nameOf(space, address) : 'none';
	}

	#nameOf(space: AddressSpace, of: Named): FunctionName {
		const life = lifeKey(space.life);
		const known = this.#names.get(life, of);
		if (known !== undefined && known !== 'unread') return known;
		if (this.#asking_ms > MAX_ASKING_MS) return 'unread';
		const begun_ms = performance.now();
		const runtime = this.runtimeOf(space);
		this.#memory.refresh();
		const name = runtime ? this.#readNow(space, runtime, of) : 'unread';
		this.#asking_ms += performance.now() - begun_ms;
		this.#sliceSoon();
		this.#keepForChildren(space, of, name);
		return this.#names.keep(life, of, name);
	}

	#readNow(space: AddressSpace, runtime: RuntimeFile, of: Named): FunctionName {
		const own = this.#memory.nameOf(space.life.pid, lifeKey(space.life), runtime, of);
		if (own !== 'unread' || typeof of === 'number') return own;
		// It was forked, and has ended: a parent may have the function still, or had it when another child was read.
		for (const parent of space.parents()) {
			const life = lifeKey(parent);
			const known = this.#names.get(life, of) ?? 'unread';
			const name = known === 'unread' ? this.#memory.nameOf(parent.pid, life, runtime, of) : known;
			if (name !== 'unread') return name;
		}
		return 'unread';
	}

	/** Processes that were forked from the same one have the same functions, and end when they like. */
	#keepForChildren(space: AddressSpace, of: Named, name: FunctionName): void {
		const [ancestor] = [...space.parents()].slice(-1);
		if (ancestor && typeof of !== 'number' && name !== 'unread')
			this.#names.keep(lifeKey(ancestor), of, name);
	}

	/**
	 * The functions of a frame, with those that the runtime has put into its function's code, innermost first. `call`:
	 * within the instruction that made the next call; undefined: it is where the thread was.
	 */
	withInlined(
		space: AddressSpace,
		call: number | undefined,
		words: readonly FunctionWord[],
	): readonly FunctionWord[] {
		const [word] = words;
		if (call === undefined || word === undefined || words.length > 1 || word.isCallers)
			return words;
		// What is in a file was not made while the program runs.
		if (space.find(call)?.file) return words;
		const life = lifeKey(space.life);
		const key = callKey(life, word, call);
		let found = this.#calls.get(key);
		if (!found) {
			if (this.#asking_ms > MAX_ASKING_MS) return words;
			const begun_ms = performance.now();
			const runtime = this.runtimeOf(space);
			found = runtime && this.#memory.inlinedAt(space.life.pid, life, runtime, word, call);
			this.#calls.keep(key, found);
			this.#asking_ms += performance.now() - begun_ms;
			this.#sliceSoon();
		}
		return found ? [...found, word] : words;
	}

	/** As MetRuntimes. */
	placedIn(
		space: AddressSpace,
		addresses: readonly number[],
		functions: NonNullable<CapturedStack['functions']>,
	): NonNullable<CapturedStack['functions']> {
		return this.#met.placedIn(space, addresses, functions);
	}

	/** As MetRuntimes. */
	runtimeOf(space: AddressSpace): RuntimeFile | undefined {
		return this.#met.runtimeOf(space);
	}

	codeBaseOf(space: AddressSpace, runtime: RuntimeFile): number {
		return this.#met.codeBaseOf(space, runtime);
	}

	runtimeIn(file: MappedFile): RuntimeFile | undefined {
		return this.#met.runtimeIn(file);
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#memory.close();
		this.#waiting = [];
	}

	#takeMet(take: () => void): void {
		take();
		this.#addMet();
		this.#slice();
	}

	#addMet(): void {
		for (const { runtime, ...stack } of this.#maps.met())
			if (stack.pid !== 0 && runtime) this.#addStack({ runtime, ...stack });
	}

	#addStack({ pid, runtime, base, frames, others }: MetFunctions & MetRuntime): void {
		const life = this.#memory.lifeOf(pid);
		this.#met.add(life, { runtime, base });
		for (const { word } of frames)
			this.#await({ pid, runtime, of: word, call: undefined, attempts: 0 }, life);
		const space = this.#history.at(pid, Number(process.hrtime.bigint()));
		// What is in a file was not made while the program runs.
		const isMade = (address: number) => !space?.find(address)?.file;
		if (hasInlined(runtime)) this.#awaitCalls(pid, runtime, frames, life, isMade);
		if (!namesMadeCode(runtime)) return;
		for (const address of others.filter(isMade))
			this.#await({ pid, runtime, of: address, call: undefined, attempts: 0 }, life);
	}

	#awaitCalls(
		pid: number,
		runtime: RuntimeFile,
		frames: readonly MetFrame[],
		life: string,
		isMade: (address: number) => boolean,
	): void {
		for (const { word, call } of frames)
			if (call !== undefined && isMade(call))
				this.#awaitCall({ pid, runtime, of: word, call, attempts: 0 }, life);
	}

	#await(waiting: Waiting, life: string): void {
		const { of } = waiting;
		const most = typeof of === 'number' ? this.#mostWaiting / 2 : this.#mostWaiting;
		if (this.#waiting.length >= most || !this.#names.hasRoomFor(of)) return;
		if (this.#names.get(life, of) !== undefined) return;
		this.#names.keep(life, of, 'unread');
		this.#waiting.push(waiting);
	}

	#awaitCall(
		waiting: Waiting & { readonly of: FunctionWord; readonly call: number },
		life: string,
	): void {
		const key = callKey(life, waiting.of, waiting.call);
		const isFull = this.#waiting.length >= this.#mostWaiting || this.#calls.isFull;
		if (isFull || this.#calls.has(key)) return;
		this.#calls.expect(key);
		this.#waiting.push(waiting);
	}

	#slice(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		const until_ms = performance.now() + SLICE_MS;
		this.#memory.forget();
		let done = 0;
		const again: Waiting[] = [];
		while (done < this.#waiting.length && performance.now() < until_ms) {
			const waiting = this.#waiting[done++] as Waiting;
			const attempts = waiting.attempts + 1;
			const isDone = this.#readWaiting(waiting);
			if (!isDone && attempts < MAX_ATTEMPTS) again.push({ ...waiting, attempts });
		}
		this.#waiting = [...this.#waiting.slice(done), ...again];
		if (this.#waiting.length === 0) this.#memory.rest();
		else this.#sliceSoon();
	}

	#sliceSoon(): void {
		if (this.#timer) return;
		this.#timer = setTimeout(() => this.#slice(), PAUSE_MS);
		this.#timer.unref();
	}

	/** Returns whether it is known. Names of what is found are read next. */
	#readCall(pid: number, runtime: RuntimeFile, word: FunctionWord, call: number): boolean {
		const life = this.#memory.lifeOf(pid);
		const found = this.#memory.inlinedAt(pid, life, runtime, word, call);
		this.#calls.keep(callKey(life, word, call), found);
		for (const each of found ?? [])
			this.#await({ pid, runtime, of: each, call: undefined, attempts: 0 }, life);
		return found !== undefined;
	}

	/** Returns whether all is known. What is moved at this moment may be found a little later. */
	#readWaiting({ pid, runtime, of, call }: Waiting): boolean {
		if (call !== undefined && typeof of !== 'number') return this.#readCall(pid, runtime, of, call);
		const life = this.#memory.lifeOf(pid);
		const space = this.#history.at(pid, Number(process.hrtime.bigint()));
		const name = space
			? this.#readNow(space, runtime, of)
			: this.#memory.nameOf(pid, life, runtime, of);
		const isKnown = name !== 'unread' && (name === 'none' || !name.isLineLater);
		const known = this.#names.get(life, of);
		if (isKnown || known === undefined || known === 'unread') this.#names.keep(life, of, name);
		if (space) this.#keepForChildren(space, of, name);
		return isKnown;
	}
}

const callKey = (life: string, word: FunctionWord, call: number): string =>
	`${nameKey(life, word)} ${call}`;
