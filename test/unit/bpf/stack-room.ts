/** How much stack BPF programs take, with all that they call. Source: kernel/bpf/verifier.c, check_max_stack_depth. */
import assert from 'node:assert/strict';

const SECTION = { headerBytes: 64, symbols: 2, relocations: 9 } as const;
const SYMBOL = { bytes: 24, function: 2, section: 3 } as const;
const RELOCATION_BYTES = 16;
const INSTRUCTION_BYTES = 8;
const EXECUTABLE = 4;
const CLASS = { mask: 7, load: 1, store: 2, storeRegister: 3 } as const;
const CODE = { call: 0x85, move: 0xbf, addNumber: 0x07, loadNumber: 0x18 } as const;
const CALL_OF_OURS = 1;
const FRAME_POINTER = 10;
/** Each function takes a multiple of it, and one at least. Newer kernels round to less where they compile programs. */
const ROUNDED_TO_BYTES = 32;

interface BpfFunction {
	readonly name: string;
	readonly bytes: number;
	readonly calls: ReadonlySet<string>;
}

interface ElfSection {
	readonly type: number;
	readonly isCode: boolean;
	readonly offset: number;
	readonly size: number;
	readonly link: number;
	/** Of relocations: the section that they are for. */
	readonly about: number;
}

interface ElfSymbol {
	readonly name: string;
	readonly type: number;
	readonly section: number;
	readonly value: number;
	readonly size: number;
}

function sectionsIn(file: Buffer): ElfSection[] {
	const u64 = (at: number) => Number(file.readBigUInt64LE(at));
	return Array.from({ length: file.readUInt16LE(60) }, (_, i) => {
		const at = u64(40) + i * SECTION.headerBytes;
		return {
			type: file.readUInt32LE(at + 4),
			isCode: (u64(at + 8) & EXECUTABLE) !== 0,
			offset: u64(at + 24),
			size: u64(at + 32),
			link: file.readUInt32LE(at + 40),
			about: file.readUInt32LE(at + 44),
		};
	});
}

function symbolsIn(file: Buffer, sections: readonly ElfSection[]): ElfSymbol[] {
	const u64 = (at: number) => Number(file.readBigUInt64LE(at));
	const table = sections.find(({ type }) => type === SECTION.symbols) ?? assert.fail();
	const names = sections[table.link] ?? assert.fail();
	return Array.from({ length: table.size / SYMBOL.bytes }, (_, i) => {
		const at = table.offset + i * SYMBOL.bytes;
		const name = names.offset + file.readUInt32LE(at);
		return {
			name: file.toString('utf8', name, file.indexOf(0, name)),
			type: file.readUInt8(at + 4) & 15,
			section: file.readUInt16LE(at + 6),
			value: u64(at + 8),
			size: u64(at + 16),
		};
	});
}

/** What is to be put in at which place, "section:offset". */
function relocationsIn(
	file: Buffer,
	sections: readonly ElfSection[],
	symbols: readonly ElfSymbol[],
): ReadonlyMap<string, ElfSymbol> {
	const relocated = new Map<string, ElfSymbol>();
	for (const { offset, size, about } of sections.filter(({ type }) => type === SECTION.relocations))
		for (let at = offset; at < offset + size; at += RELOCATION_BYTES) {
			const symbol = symbols[file.readUInt32LE(at + 12)];
			if (symbol) relocated.set(`${about}:${Number(file.readBigUInt64LE(at))}`, symbol);
		}
	return relocated;
}

/** Functions of an object file by their place, "section:offset". */
function functionsIn(file: Buffer): ReadonlyMap<string, BpfFunction> {
	const sections = sectionsIn(file);
	const symbols = symbolsIn(file, sections);
	const relocated = relocationsIn(file, sections, symbols);
	const functions = new Map<string, BpfFunction>();
	for (const symbol of symbols) {
		const code = sections[symbol.section];
		if (symbol.type === SYMBOL.function && code?.isCode)
			functions.set(
				`${symbol.section}:${symbol.value}`,
				functionOf(file, symbol, code.offset, relocated),
			);
	}
	return functions;
}

function functionOf(
	file: Buffer,
	{ name, section, value, size }: ElfSymbol,
	code: number,
	relocated: ReadonlyMap<string, ElfSymbol>,
): BpfFunction {
	const calls = new Set<string>();
	const depth = new StackDepth();
	for (let at = value; at < value + size; at += INSTRUCTION_BYTES) {
		const isCall = file.readUInt8(code + at) === CODE.call;
		if (!isCall || file.readUInt8(code + at + 1) >> 4 !== CALL_OF_OURS) {
			depth.see(file, code + at);
			continue;
		}
		const to = relocated.get(`${section}:${at}`);
		const further = (file.readInt32LE(code + at + 4) + 1) * INSTRUCTION_BYTES;
		if (!to) calls.add(`${section}:${at + further}`);
		else calls.add(`${to.section}:${to.type === SYMBOL.section ? further : to.value}`);
	}
	return { name, bytes: depth.bytes, calls };
}

/** What of its stack a function touches, instruction by instruction. */
class StackDepth {
	bytes = 0;
	/** Of registers that point into it: where. */
	readonly #offsets = new Map<number, number>([[FRAME_POINTER, 0]]);

	see(file: Buffer, at: number): void {
		const code = file.readUInt8(at);
		const registers = file.readUInt8(at + 1);
		const [to, from] = [registers & 15, registers >> 4];
		const kind = code & CLASS.mask;
		if (kind === CLASS.store || kind === CLASS.storeRegister)
			this.#touch(to, file.readInt16LE(at + 2));
		else if (kind === CLASS.load) {
			this.#touch(from, file.readInt16LE(at + 2));
			this.#offsets.delete(to);
		} else if (code === CODE.move && this.#offsets.has(from))
			this.#offsets.set(to, this.#offsets.get(from) ?? 0);
		else if (code === CODE.addNumber && this.#offsets.has(to)) {
			this.#offsets.set(to, (this.#offsets.get(to) ?? 0) + file.readInt32LE(at + 4));
			this.#touch(to, 0);
		} else if (to !== FRAME_POINTER && kind !== 5 && kind !== 6) this.#offsets.delete(to);
	}

	#touch(register: number, offset: number): void {
		const base = this.#offsets.get(register);
		if (base !== undefined) this.bytes = Math.max(this.bytes, -(base + offset));
	}
}

export interface DeepestWay {
	readonly bytes: number;
	/** The program first. */
	readonly names: readonly string[];
}

/** The way of calls that takes most of the stack, of all functions of an object file. */
export function deepestWay(file: Buffer): DeepestWay {
	const functions = functionsIn(file);
	const known = new Map<string, DeepestWay>();
	const from = (place: string): DeepestWay => {
		const found = known.get(place);
		if (found) return found;
		const { name, bytes, calls } = functions.get(place) ?? assert.fail(place);
		const own = Math.ceil(Math.max(bytes, 1) / ROUNDED_TO_BYTES) * ROUNDED_TO_BYTES;
		const further = deeper([...calls].map(from));
		const way = { bytes: own + further.bytes, names: [name, ...further.names] };
		known.set(place, way);
		return way;
	};
	return deeper([...functions.keys()].map(from));
}

const deeper = (ways: readonly DeepestWay[]): DeepestWay =>
	ways.reduce((a, b) => (b.bytes > a.bytes ? b : a), { bytes: 0, names: [] });
