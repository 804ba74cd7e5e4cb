/** Processes whose memory names of functions are read from, a few at a time. */
import { functionReader, type RuntimeFile } from '../runtimes/recognise.js';
import type { FunctionReader, RuntimeMemory } from '../runtimes/runtime.js';
import { OwnPages } from './mappings/own-pages.js';

/** Of processes that something is known of. */
const MAX_OPEN = 32;

export type Pages = Pick<OwnPages, 'read' | 'forget' | 'rest'>;

interface OpenProcess {
	readonly life: string;
	readonly runtime: RuntimeFile;
	/** Where the file that the runtime is in would be mapped at offset 0. */
	readonly base: number;
	readonly pages: Pages;
	readonly reader: FunctionReader;
}

export class OpenProcesses {
	readonly #pagesOf: (pid: number) => Pages;
	/** By number and runtime, as a process may have two; those that were used last are last. */
	readonly #open = new Map<string, OpenProcess>();

	/** `pagesOf`: the memory of a process. */
	constructor(pagesOf: (pid: number) => Pages = (pid) => new OwnPages(pid)) {
		this.#pagesOf = pagesOf;
	}

	/**
	 * Who reads the functions of a process; undefined: functions of this runtime are not read. `readProgram`: a part of
	 * the file that the runtime is in.
	 */
	reader(
		pid: number,
		life: string,
		runtime: RuntimeFile,
		base: number,
		readProgram: NonNullable<RuntimeMemory['readProgram']>,
	): FunctionReader | undefined {
		const key = `${pid} ${runtime.runtime}`;
		const known = this.#open.get(key);
		this.#open.delete(key);
		if (known?.life === life && known.base === base && known.runtime === runtime) {
			this.#open.set(key, known);
			return known.reader;
		}
		known?.pages.rest();
		const pages = this.#pagesOf(pid);
		const memory: RuntimeMemory = {
			read: (address, length_bytes) => pages.read(address, length_bytes),
			readProgram,
		};
		const reader = functionReader(runtime, memory, base);
		if (!reader) return undefined;
		this.#makeRoom();
		this.#open.set(key, { life, runtime, base, pages, reader });
		return reader;
	}

	/** What was read before may have changed. */
	forget(): void {
		for (const { pages } of this.#open.values()) pages.forget();
	}

	/** Holds no process's memory open; what is known of their scripts stays. */
	rest(): void {
		for (const { pages } of this.#open.values()) pages.rest();
	}

	close(): void {
		this.rest();
		this.#open.clear();
	}

	#makeRoom(): void {
		for (const [key, { pages }] of this.#open) {
			if (this.#open.size < MAX_OPEN) return;
			pages.rest();
			this.#open.delete(key);
		}
	}
}
