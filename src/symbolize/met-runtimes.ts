/** The runtimes in whose processes walks took functions, and where their files are mapped there. */
import type { CapturedStack } from '../aggregate/stack.js';
import type { FunctionMaps } from '../bpf/runtimes/functions.js';
import {
	codeOffsetOf,
	mayMisplace,
	placedFunctions,
	type RuntimeFile,
} from '../runtimes/recognise.js';
import type { AddressSpace, Life, Mapping } from './mappings/address-space.js';
import type { MappedFile } from './mappings/mapped-file.js';
import type { Runtimes } from './walks/sleeping-stacks.js';

/** Processes whose runtime walks have met. */
const MAX_MET = 10_000;
/** include/linux/kdev_t.h: a device as the kernel itself numbers it. */
const MINOR_BITS = 20;

/** Where the file that a runtime is in would be mapped at offset 0. */
export interface MetRuntime {
	readonly runtime: RuntimeFile;
	readonly base: number;
}

export class MetRuntimes implements Runtimes {
	readonly #maps: Pick<FunctionMaps, 'runtimeIn'>;
	/** By life, what walks came to. In /proc, files of a container's may have other numbers (overlays). */
	readonly #met = new Map<string, MetRuntime>();

	constructor(maps: Pick<FunctionMaps, 'runtimeIn'>) {
		this.#maps = maps;
	}

	/** Keeps what a walk came to, if there is room. */
	add(life: string, met: MetRuntime): void {
		if (this.#met.size < MAX_MET || this.#met.has(life)) this.#met.set(life, met);
	}

	/** What walks came to in this life of a process. */
	of(life: string): RuntimeFile | undefined {
		return this.#met.get(life)?.runtime;
	}

	/** By the number of the frame, each with the frame that runs it. `addresses`: of the frames' code, leaf first. */
	placedIn(
		space: AddressSpace,
		addresses: readonly number[],
		functions: NonNullable<CapturedStack['functions']>,
	): NonNullable<CapturedStack['functions']> {
		// Most are of other runtimes: that takes no look through what is mapped.
		const met = this.of(lifeKey(space.life));
		if (met && !mayMisplace(met)) return functions;
		const runtime = this.runtimeOf(space);
		if (!runtime || !mayMisplace(runtime)) return functions;
		const base = this.codeBaseOf(space, runtime);
		return placedFunctions(
			runtime,
			addresses.map((address) => address - base),
			functions,
		);
	}

	/** The runtime in what a process has mapped; undefined: none that was met. */
	runtimeOf(space: AddressSpace): RuntimeFile | undefined {
		for (const { file } of space.files()) {
			const runtime = this.runtimeIn(file);
			if (runtime) return runtime;
		}
		return this.#metIn(space)?.runtime;
	}

	/** The file of a process that this runtime is in; undefined: it has none mapped, or by other numbers (overlays). */
	fileOf(space: AddressSpace, runtime: RuntimeFile): MappedFile | undefined {
		for (const { file } of space.files()) if (this.runtimeIn(file) === runtime) return file;
		return undefined;
	}

	codeBaseOf(space: AddressSpace, runtime: RuntimeFile): number {
		const offset = codeOffsetOf(runtime);
		if (offset === undefined) return 0;
		for (const mapping of space.files())
			if (holds(mapping, offset) && this.runtimeIn(mapping.file)) return baseOf(mapping);
		return this.#metIn(space)?.base ?? 0;
	}

	/** What walks came to in a process, if it has a file mapped there; before it executed, it was another program. */
	#metIn(space: AddressSpace): MetRuntime | undefined {
		const met = this.#met.get(lifeKey(space.life));
		const offset = met && codeOffsetOf(met.runtime);
		if (!met || offset === undefined) return undefined;
		for (const mapping of space.files())
			if (holds(mapping, offset) && baseOf(mapping) === met.base) return met;
		return undefined;
	}

	/** The runtime in a file; undefined: none that was met. */
	runtimeIn({ inode, major, minor }: MappedFile): RuntimeFile | undefined {
		const device = major * 2 ** MINOR_BITS + minor;
		return this.#maps.runtimeIn({ inode: BigInt(inode), device });
	}
}

/** Whether a mapping has what is at an offset of its file. */
const holds = ({ start, end, fileOffset }: Mapping, offset: number): boolean =>
	offset >= fileOffset && offset < fileOffset + (end - start);

const baseOf = ({ start, fileOffset }: Mapping): number => start - fileOffset;

/** The same for a life whatever is learnt of it later. */
export function lifeKey({ pid, since_ns }: Life): string {
	return `${pid} ${since_ns}`;
}
