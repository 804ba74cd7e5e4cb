/** Memory as a process has it that runs V8 with modules of WebAssembly, object by object. */
import type { RuntimeMemory } from '../../../../src/runtimes/runtime.js';
import { versionFacts, type WasmForm } from '../../../../src/runtimes/v8/versions.js';
import type { WasmLayout } from '../../../../src/runtimes/v8/wasm-code.js';

const OBJECT_BYTES = 512;

/** A node of a std::map: a key, and the words behind it. */
export interface Entry {
	readonly key: number;
	readonly value: readonly number[];
}

export class WasmWorld implements RuntimeMemory {
	static readonly BASE = 0x3000_0000_0000;
	readonly layout: WasmLayout;
	readonly state: number;
	reads = 0;
	mostBytes = 0;
	/** Addresses that cannot be read, as if they were swapped out. */
	readonly hidden = new Set<number>();
	readonly #bytes = Buffer.alloc(1 << 20);
	#used = 64;

	constructor(version = '14.1') {
		const form = versionFacts(version)?.wasm as WasmForm;
		const pointer = this.take(8);
		this.state = this.take(OBJECT_BYTES);
		this.word(pointer, this.state);
		this.layout = { ...form, state: pointer };
	}

	read(address: number, length_bytes: number): DataView | undefined {
		this.reads++;
		this.mostBytes = Math.max(this.mostBytes, length_bytes);
		for (const each of this.hidden)
			if (each >= address && each < address + length_bytes) return undefined;
		const at = address - WasmWorld.BASE;
		if (!(at >= 0 && at + length_bytes <= this.#bytes.length)) return undefined;
		return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, length_bytes);
	}

	take(size_bytes: number): number {
		const at = WasmWorld.BASE + this.#used;
		this.#used += (size_bytes + 15) & ~15;
		return at;
	}

	word(at: number, value: number): void {
		this.#bytes.writeBigUInt64LE(BigInt(value), at - WasmWorld.BASE);
	}

	int32(at: number, value: number): void {
		this.#bytes.writeInt32LE(value, at - WasmWorld.BASE);
	}

	put(bytes: Uint8Array, at = this.take(bytes.length)): number {
		this.#bytes.set(bytes, at - WasmWorld.BASE);
		return at;
	}

	/** A balanced std::map, whose header is at this address from now on. Returns its root. */
	map(header: number, entries: readonly Entry[]): number {
		const sorted = entries.toSorted((a, b) => a.key - b.key);
		const root = this.#tree(sorted);
		this.word(header + 8, root);
		return root;
	}

	#tree(sorted: readonly Entry[]): number {
		const middle = sorted.length >> 1;
		const entry = sorted[middle];
		if (!entry) return 0;
		const node = this.take(40 + 8 * entry.value.length);
		this.word(node + 16, this.#tree(sorted.slice(0, middle)));
		this.word(node + 24, this.#tree(sorted.slice(middle + 1)));
		this.word(node + 32, entry.key);
		for (const [i, each] of entry.value.entries()) this.word(node + 40 + 8 * i, each);
		return node;
	}

	/** A module with these bytes; its code is put there by `map` and `vector`. */
	module(wire: Uint8Array): number {
		const module = this.take(OBJECT_BYTES);
		const vector = this.take(16);
		this.word(vector, this.put(wire));
		this.word(vector + 8, wire.length);
		this.word(module + this.layout.moduleWire, vector);
		return module;
	}

	/** A WasmCode. */
	code(module: number, start: number, size_bytes: number, number: number, flags = 0): number {
		const { codeSize, codeNumber, codeKind } = this.layout;
		const code = this.take(128);
		this.word(code, module);
		this.word(code + 8, start);
		this.int32(code + codeSize, size_bytes);
		this.int32(code + codeNumber, number);
		if (codeKind) this.int32(code + codeKind.at, flags);
		return code;
	}

	/** Regions of code: from, to, and the module. */
	regions(...all: readonly (readonly [number, number, number])[]): number {
		const entries = all.map(([key, end, module]) => ({ key, value: [end, module] }));
		return this.map(this.state + this.layout.regions, entries);
	}

	/** Code that is in a module's map, by its beginning. */
	mapped(module: number, codes: readonly (readonly [number, number])[]): number {
		const entries = codes.map(([key, code]) => ({ key, value: [code] }));
		return this.map(module + this.layout.moduleCode, entries);
	}

	/** Code that is not in a module's map yet. */
	vector(module: number, codes: readonly number[], capacity = codes.length): number {
		const at = module + this.layout.moduleCode + 40;
		const begin = this.take(8 * capacity);
		for (const [i, code] of codes.entries()) this.word(begin + 8 * i, code);
		this.word(at, begin);
		this.word(at + 8, begin + 8 * codes.length);
		return begin;
	}
}

const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
export function unsigned(value: number): number[] {
	const bytes: number[] = [];
	let rest = value;
	for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest & 127) | 128);
	return [...bytes, rest];
}
export const text = (string: string): number[] => {
	const bytes = [...Buffer.from(string)];
	return [...unsigned(bytes.length), ...bytes];
};
export const section = (id: number, bytes: readonly number[]): number[] => [
	id,
	...unsigned(bytes.length),
	...bytes,
];
export const custom = (name: string, bytes: readonly number[]): number[] =>
	section(0, [...text(name), ...bytes]);
/** The part of a name section that names functions. */
export const functionNames = (names: Readonly<Record<number, string>>): number[] => {
	const all = Object.entries(names).map(([i, name]) => [...unsigned(Number(i)), ...text(name)]);
	return section(1, [...unsigned(all.length), ...all.flat()]);
};
export const wireOf = (...sections: readonly (readonly number[])[]): Uint8Array =>
	Uint8Array.from([...MAGIC, ...sections.flat()]);
