/**
 * Walks the user stacks of threads that wait, from outside: of those that waited until tracing ended, and so never
 * came by a hook.
 */
import { closeSync } from 'node:fs';
import { remembered } from '../../aggregate/remembered.js';
import { type Bytes, FileBytes, MemoryBytes, SymbolError } from '../../elf/bytes.js';
import type { Address } from '../../loader/signed-address.js';
import { MEMORY_PATH } from '../../proc/maps.js';
import { functionOf, functionStacks, type RuntimeFile } from '../../runtimes/recognise.js';
import type { FunctionWord } from '../../runtimes/runtime.js';
import { type RuleLookup, ruleLookup } from '../../unwind/lookup.js';
import { GAP } from '../../unwind/rule.js';
import { END, type Frame } from '../../unwind/step.js';
import { type StoppedRegisters, type WalkedProcess, walkOutside } from '../../unwind/walk.js';
import type { AddressSpace, Mapping } from '../mappings/address-space.js';
import type { MappedFile } from '../mappings/mapped-file.js';
import { isStillAt, ProcessMemory } from '../mappings/process-memory.js';
import { readVdso } from '../mappings/vdso.js';

/** Code of 32 bits, whose frames are laid out otherwise, has its stack below. */
const LOWEST_STACK = 2 ** 32;
/** For all walks of a moment, with what is read for them. */
const TIME_LIMIT_MS = 5000;
/** Of what was read of files: node's is 5 MB. */
const MAX_BYTES_KEPT = 128 << 20;
/** Trampolines of signals; one of each file. */
const MAX_CODE_KEPT = 4096;

const NO_RULES: RuleLookup = { bytesKept: 0, ruleAt: () => GAP };
const PROCESSOR = { isArm64: process.arch === 'arm64' };

/** A thread that is off the CPU. */
export interface WaitingThread {
	readonly pid: number;
	/** Both as /proc knows them. */
	readonly tid: number;
	readonly registers: StoppedRegisters;
}

/** Which runtimes there are. */
export interface Runtimes {
	/** In what a process has mapped. */
	runtimeOf(space: AddressSpace): RuntimeFile | undefined;
	runtimeIn(file: MappedFile): RuntimeFile | undefined;
	/** Where the runtime's file would be mapped at offset 0. */
	codeBaseOf(space: AddressSpace, runtime: RuntimeFile): number;
}

interface SleepingStack {
	/** Leaf first; the leaf alone where memory cannot be read, or where the thread has gone on meanwhile. */
	readonly addresses: readonly Address[];
	/** As CapturedStack's. */
	readonly functions?: ReadonlyMap<number, readonly FunctionWord[]>;
	/** As CapturedStack's `userEnd`. */
	readonly end: 'whole' | 'guessed' | 'at zero' | 'too deep' | 'no way on';
}

/** What is kept of a file. */
interface WalkedFile {
	readonly rules: RuleLookup;
	/** By where it is in the file; undefined where it cannot be read. */
	readonly code: Map<number, DataView | undefined>;
}

/** Reads other processes' memory; keeps one file open, since threads of a process come in a row. */
export class SleepingStacks {
	#memory: ProcessMemory | undefined;
	/** Of the process whose memory that is. */
	#functionStacks:
		| { readonly memory: ProcessMemory; readonly of: ReturnType<typeof functionStacks> }
		| undefined;
	readonly #files = new Map<MappedFile | 'vdso', WalkedFile>();
	/** Thousands of threads may wait in one place. */
	#mappingOf = withFile();
	#vdso: Buffer | undefined;
	#spent_ms = 0;
	#bytesKept = 0;
	#codeKept = 0;

	constructor(private readonly limit_ms = TIME_LIMIT_MS) {}

	/**
	 * Walks a thread's stack, whose process has this address space; at most `depth` frames. `runtimes`: whose functions
	 * frames may be of.
	 */
	walk(
		thread: WaitingThread,
		space: AddressSpace | undefined,
		depth: number,
		runtimes?: Runtimes,
	): SleepingStack {
		const { ip, sp } = thread.registers;
		if (ip <= 0) return { addresses: [], end: 'no way on' };
		const canWalk = space !== undefined && sp >= LOWEST_STACK && this.#spent_ms < this.limit_ms;
		if (!canWalk) return { addresses: [ip], end: 'no way on' };
		const begun_ms = performance.now();
		const stack = this.#walkNow(thread, space, depth, runtimes);
		this.#spent_ms += performance.now() - begun_ms;
		return stack;
	}

	/** A moment of which threads are to be walked: their memory is read anew. */
	begin(): void {
		this.#memory?.close();
		this.#memory = undefined;
		this.#mappingOf = withFile();
		this.#spent_ms = 0;
	}

	/** Nothing can be walked any more. */
	close(): void {
		this.#memory?.close();
		this.#memory = undefined;
		this.#files.clear();
		this.#vdso = undefined;
	}

	#walkNow(
		thread: WaitingThread,
		space: AddressSpace,
		depth: number,
		runtimes: Runtimes | undefined,
	): SleepingStack {
		const { pid, tid, registers } = thread;
		if (this.#memory?.pid !== pid) {
			this.#memory?.close();
			this.#memory = new ProcessMemory(pid);
		}
		const { ip, sp, fp } = registers;
		const functions = new Map<number, readonly FunctionWord[]>();
		const runtime = runtimes?.runtimeOf(space);
		const { addresses, end, isGuessed } = walkOutside(
			PROCESSOR.isArm64 ? registers : { ip, sp, fp },
			{
				...this.#process(space, this.#memory),
				takeFunction: functionsInto(functions, this.#memory, runtimes, runtime),
				...this.#stepped(functions, thread, space, runtimes, runtime),
			},
			depth,
		);
		// Its registers are from a moment ago. If it has gone on since, what was read is anything.
		if (!isStillAt(pid, tid, registers)) return { addresses: [ip], end: 'no way on' };
		const stack = functions.size > 0 ? { addresses, functions } : { addresses };
		if (isGuessed) return { ...stack, end: 'guessed' };
		if (end === END.zero) return { ...stack, end: 'at zero' };
		if (end === END.tooDeep) return { ...stack, end: 'too deep' };
		return { ...stack, end: end === END.whole ? 'whole' : 'no way on' };
	}

	/** Of runtimes whose functions' frames are elsewhere than on the stack. */
	#stepped(
		functions: Map<number, readonly FunctionWord[]>,
		{ tid }: WaitingThread,
		space: AddressSpace,
		runtimes: Runtimes | undefined,
		runtime: RuntimeFile | undefined,
	): Pick<WalkedProcess, 'takeStepped'> {
		const memory = this.#memory;
		if (!runtimes || !runtime || !memory) return {};
		if (this.#functionStacks?.memory !== memory) {
			const base = runtimes.codeBaseOf(space, runtime);
			const written = { read: (at: number, bytes: number) => memory.readWritten(at, bytes) };
			this.#functionStacks = { memory, of: functionStacks(runtime, written, base) };
		}
		const stack = this.#functionStacks.of?.stackOf(tid);
		if (!stack) return {};
		return {
			takeStepped: (frame, number) => {
				const words = stack.take(frame);
				if (words.length > 0) functions.set(number, words);
				return words.length;
			},
		};
	}

	#process(space: AddressSpace, memory: ProcessMemory): WalkedProcess<WalkedMapping> {
		return {
			processor: PROCESSOR,
			mappingAt: (address) => {
				const mapping = space.find(address);
				return mapping && this.#mappingOf(mapping);
			},
			tableOf: (mapping) => this.#fileOf(mapping).rules,
			read: (address, length_bytes) => memory.read(address, length_bytes),
			codeAt: (mapping, address, length_bytes) =>
				mapping.hasFile
					? this.#codeAt(mapping, address, length_bytes)
					: memory.read(address, length_bytes),
		};
	}

	/** Without rules where there are none: frame pointers may lead on there. */
	#fileOf(mapping: Mapping): WalkedFile {
		const key = mapping.file ?? 'vdso';
		let file = this.#files.get(key);
		if (!file) {
			const hasRoom = this.#bytesKept < MAX_BYTES_KEPT;
			const rules = (hasRoom && this.#read(mapping, ruleLookup)) || NO_RULES;
			this.#bytesKept += rules.bytesKept;
			file = { rules, code: new Map() };
			this.#files.set(key, file);
		}
		return file;
	}

	/** Out of the file: memory that a file is behind is not read. */
	#codeAt(mapping: Mapping, address: number, length_bytes: number): DataView | undefined {
		const { code } = this.#fileOf(mapping);
		const offset = address - mapping.start + mapping.fileOffset;
		if (code.has(offset)) return code.get(offset);
		const view = this.#read(mapping, (bytes) => {
			const { buffer, byteOffset } = bytes.read(offset, length_bytes);
			return new DataView(buffer, byteOffset, length_bytes);
		});
		if (this.#codeKept++ < MAX_CODE_KEPT) code.set(offset, view);
		return view;
	}

	/** What `work` makes of a file's bytes; undefined when they cannot be read. */
	#read<T>(mapping: Mapping, work: (bytes: Bytes) => T): T | undefined {
		if (isVdso(mapping)) this.#vdso ??= readVdso();
		const open = isVdso(mapping) ? undefined : mapping.file?.open();
		try {
			if (open) return work(new FileBytes(open.fd, open.stat.size));
			return isVdso(mapping) && this.#vdso ? work(new MemoryBytes(this.#vdso)) : undefined;
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
			return undefined;
		} finally {
			if (open) closeSync(open.fd);
		}
	}
}

/** Keeps the functions of a walk's frames, by number. */
function functionsInto(
	functions: Map<number, readonly FunctionWord[]>,
	memory: ProcessMemory,
	runtimes: Runtimes | undefined,
	runtime: RuntimeFile | undefined,
) {
	return ({ fp, sp, isExact, ip }: Frame, mapping: WalkedMapping, number: number): void => {
		const { file } = mapping;
		if (!runtime || (mapping.hasFile && !(file && runtimes?.runtimeIn(file) === runtime))) return;
		const offset = mapping.hasFile
			? ip - Number(!isExact) - mapping.start + mapping.fileOffset
			: undefined;
		const word = functionOf(runtime, { fp, sp, isExact, offset }, memory);
		if (word) functions.set(number, [word]);
	};
}

type WalkedMapping = Mapping & { readonly hasFile: boolean };

const withFile = () =>
	remembered((mapping: Mapping): WalkedMapping => ({ ...mapping, hasFile: hasFile(mapping) }));

const isVdso = ({ path }: Mapping): boolean => path === '[vdso]';

/** Or it is the vdso, which is laid out like one. */
const hasFile = (mapping: Mapping): boolean =>
	isVdso(mapping) || (mapping.file !== undefined && !MEMORY_PATH.test(mapping.path));
