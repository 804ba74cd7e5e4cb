/** Names that were read of processes' functions, which stay when the process has ended. */
import type { FunctionWord, LanguageFunction } from '../runtimes/runtime.js';

/** How much is kept. */
const MOST = {
	/** Functions that walks took. */
	functions: 300_000,
	/** Addresses in made code: nearly each sample of a hot function has another one. */
	addresses: 200_000,
};
/** Of all names and files together: a process that is made to do harm may have other ones for each. */
const MAX_CHARACTERS = 64 << 20;

/** What names are read of: a function, or code that no function was taken of, by an address in it. */
export type Named = FunctionWord | number;

/** 'none': it is one of the runtime's own. 'unread': what is in memory is not what the walk met. */
export type FunctionName = LanguageFunction | 'none' | 'unread';

export class KeptNames {
	readonly #most: Readonly<typeof MOST>;
	readonly #functions = new Map<string, FunctionName>();
	/** Each once, as thousands of functions are in one file. */
	readonly #files = new Map<string, string>();
	#characters = 0;
	/**
	 * Those that were used lately, and those that were before. They are no ranges of code: a runtime puts other code where
	 * some has been, and then only addresses that were met in both have the old name.
	 */
	#addresses = new Map<string, FunctionName>();
	#olderAddresses = new Map<string, FunctionName>();

	constructor(most: Readonly<typeof MOST> = MOST) {
		this.#most = most;
	}

	/** Undefined: it was not read, or is forgotten. `life`: of its process. */
	get(life: string, of: Named): FunctionName | undefined {
		const key = nameKey(life, of);
		if (typeof of !== 'number') return this.#functions.get(key);
		const name = this.#addresses.get(key) ?? this.#olderAddresses.get(key);
		if (name !== undefined) this.#keepAddress(key, name);
		return name;
	}

	/** Addresses always have room, as those are forgotten that were not used lately. */
	hasRoomFor(of: Named): boolean {
		if (typeof of === 'number') return true;
		return this.#functions.size < this.#most.functions && this.#characters < MAX_CHARACTERS;
	}

	/** Keeps it, if there is room; returns what is kept, or what would be. */
	keep(life: string, of: Named, name: FunctionName): FunctionName {
		const key = nameKey(life, of);
		if (typeof of === 'number') {
			this.#keepAddress(key, name);
			return name;
		}
		const isFull = this.#functions.size >= this.#most.functions && !this.#functions.has(key);
		if (isFull || this.#characters >= MAX_CHARACTERS) return name;
		const kept = this.#counted(name);
		this.#functions.set(key, kept);
		return kept;
	}

	/** The same name, whose file shares its text with those of others. */
	#counted(name: FunctionName): FunctionName {
		if (typeof name === 'string') return name;
		this.#characters += name.name.length;
		if (name.file === undefined) return name;
		const file = this.#files.get(name.file);
		if (file !== undefined) return { ...name, file };
		this.#characters += name.file.length;
		this.#files.set(name.file, name.file);
		return name;
	}

	/** Forgets by halves: a Map gets slow if its oldest entry is taken out again and again. */
	#keepAddress(key: string, name: FunctionName): void {
		this.#addresses.set(key, name);
		if (this.#addresses.size < this.#most.addresses / 2) return;
		this.#olderAddresses = this.#addresses;
		this.#addresses = new Map();
	}
}

/** Whoever has it, a function is the same. */
export function nameKey(life: string, of: Named): string {
	if (typeof of === 'number') return `${life} @${of}`;
	const key = `${life} ${of.place} ${of.print}`;
	return of.instruction === undefined ? key : `${key} ${of.instruction}`;
}
