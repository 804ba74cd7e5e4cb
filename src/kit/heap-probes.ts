/** Probes at the allocators of processes: those they have mapped, and those they map later. */
import { existsSync } from 'node:fs';
import { TstraceError } from '../loader/errors.js';
import { type BpfMap, u32Key } from '../loader/map.js';
import { type ProbePoint, UserProbes } from '../loader/probes.js';
import type { BpfProgram } from '../loader/program.js';
import type { MapsEntry } from '../symbolize/maps.js';
import { type AllocatorFunction, returnsMemory, signatureOf } from './allocators.js';
import { explainHeapFile, type HeapFile, type HeapFunction, readHeapFile } from './heap-files.js';
import {
	fileAt,
	type HeapProbeOptions,
	hasEnded,
	identityOf,
	isObject,
	keyOf,
	type MappedFile,
	mappedFiles,
	noAllocator,
	notOpened,
	pathTo,
	requireObject,
} from './heap-mappings.js';
import { chooseProbes } from './probe-ways.js';

interface Programs {
	readonly entry: BpfProgram;
	readonly return: BpfProgram;
	readonly last: BpfProgram;
	/** Where the programs look signatures up; undefined: the kernel hands them over with each probe. */
	readonly signatures: BpfMap | undefined;
}

/** Of bpf/memleak.bpf.c: where in a page. */
const PAGE_PLACES = 4096;
const WORD_BYTES = 8;

export class HeapProbes {
	readonly #programs: Programs;
	readonly #options: HeapProbeOptions;
	/** By process, so that they go with it: each would be looked at wherever its file is executed. */
	readonly #probes = new Map<number, UserProbes>();
	/** By what is opened, not by its path: see identityOf. */
	readonly #files = new Map<string, HeapFile>();
	/** Files that a process was probed in, or that there was nothing to probe in. */
	readonly #done = new Map<number, Map<string, HeapFile>>();
	readonly #allocating = new Set<number>();
	/** Signatures by where in a page their probes are. */
	readonly #places = new Map<number, bigint>();
	readonly #note: (text: string) => void;

	constructor(programs: Programs, options: HeapProbeOptions, note: (text: string) => void) {
		this.#programs = programs;
		this.#options = options;
		this.#note = note;
	}

	/** Probes what the process has mapped. Throws TstraceError where there is no allocator. */
	attachProcess(pid: number): void {
		const entries = mappedFiles(pid);
		if (!entries) {
			throw existsSync(`/proc/${pid}`)
				? notOpened(pid)
				: new TstraceError(`there is no process ${pid} any more`);
		}
		requireObject(this.#options.object, pid, entries);
		// All are read before one is probed: operator new is not to come long after malloc.
		for (const entry of entries) this.#read(entry, pathTo(pid, entry));
		const found = entries.map((entry) => this.#attachEntry(pid, entry));
		if (!found.some((file) => file?.isAllocator)) {
			throw noAllocator(pid, entries, this.#options, (path) => readHeapFile(path, ''));
		}
	}

	/** Probes files by their path here, before the process executes them. */
	attachFiles(pid: number, paths: readonly string[]): void {
		for (const path of paths) {
			// By a link's name it would be probed once more when it is mapped.
			const file = fileAt(path);
			if (file) this.#attachFile(pid, file, path);
		}
	}

	/** Probes what a process has mapped since; nothing where it is gone. */
	refresh(pid: number): void {
		for (const entry of mappedFiles(pid) ?? []) {
			try {
				this.#attachEntry(pid, entry);
			} catch (error) {
				// It may end at any moment.
				if (!(error instanceof TstraceError)) throw error;
				this.#note(error.message);
			}
		}
	}

	/** Whether any file of a process is an allocator that is probed, or was until it ended. */
	hasAllocator(pid: number): boolean {
		return this.#allocating.has(pid);
	}

	/** Whether a process has ended whose first thread did; its probes are taken out then. */
	dropEnded(pid: number): boolean {
		if (!hasEnded(pid)) return false;
		this.#probes.get(pid)?.close();
		this.#probes.delete(pid);
		// Its number may be used again.
		this.#done.delete(pid);
		return true;
	}

	close(): void {
		for (const probes of this.#probes.values()) probes.close();
		this.#probes.clear();
	}

	#attachEntry(pid: number, entry: MapsEntry): HeapFile | undefined {
		return this.#attachFile(pid, entry, pathTo(pid, entry));
	}

	/** Lets the programs know the signatures; returns the probes that can be told apart. */
	#tell(points: readonly ProbePoint[]): ProbePoint[] {
		const { signatures } = this.#programs;
		if (!signatures) return [...points];
		return points.flatMap(({ offset, cookie }) => {
			const place = offset % PAGE_PLACES;
			const known = this.#places.get(place) ?? cookie;
			if (known !== cookie) {
				this.#note(
					`no probe at ${offset.toString(16)}: this kernel cannot tell it from another one`,
				);
				return [];
			}
			this.#places.set(place, cookie);
			const value = new BigUint64Array([cookie]);
			signatures.update(u32Key(place), new Uint8Array(value.buffer));
			return [{ offset, cookie: 0n }];
		});
	}

	/** What there is to probe; undefined where -O names another file. `path`: where it can be opened from here. */
	#read(file: MappedFile, path: string): HeapFile | undefined {
		const { object, prefix } = this.#options;
		if (object !== undefined && !isObject(object, file)) return undefined;
		const identity = identityOf(path);
		const known = this.#files.get(identity) ?? readHeapFile(path, prefix);
		this.#files.set(identity, known);
		return known;
	}

	#attachFile(pid: number, file: MappedFile, path: string): HeapFile | undefined {
		const known = this.#read(file, path);
		if (!known) return undefined;
		const key = keyOf(file);
		const done = this.#done.get(pid) ?? new Map<string, HeapFile>();
		this.#done.set(pid, done);
		const before = done.get(key);
		if (before) return before;
		done.set(key, known);
		if (known.isAllocator) this.#allocating.add(pid);
		if (known.functions.length === 0) return known;
		const pointOf = ({ of, offset, placement, counts }: HeapFunction) => ({
			offset: offset + placement.offset,
			cookie: signatureOf(of, placement.stackBytes / WORD_BYTES, counts),
		});
		const waited = known.functions.filter(({ of, counts }) => counts && returnsMemory(of));
		const entries = waited.flatMap(({ offset, returns }) => (returns ? [] : [offset]));
		// Several functions may share their last instructions.
		const last = new Set(waited.flatMap(({ returns }) => returns ?? []));
		const { entry, return: returning, last: lasting } = this.#programs;
		const at = (offsets: Iterable<number>) =>
			Array.from(offsets, (offset) => ({ offset, cookie: 0n }));
		// Returns first: an entry whose return is not probed would wait for ever.
		const probes = this.#probes.get(pid) ?? new UserProbes(chooseProbes().multiType);
		this.#probes.set(pid, probes);
		probes.attach({ program: returning, returns: true, path, pid, points: at(entries) });
		probes.attach({ program: lasting, returns: false, path, pid, points: at(last) });
		// The process goes on meanwhile: what frees comes before what allocates, and goes after it,
		// or blocks would seem to stay that were freed in between. In links of their own, as the
		// kernel takes the probes of a link out in the order in which it put them in.
		for (const group of FREES_FIRST) {
			const points = this.#tell(known.functions.filter(({ of }) => group(of)).map(pointOf));
			probes.attach({ program: entry, returns: false, path, pid, points });
		}
		this.#note(`probes in ${file.path} of process ${pid}`);
		for (const line of explainHeapFile(file.path, known)) this.#note(line);
		return known;
	}
}

/** What only frees; what frees and allocates; what only allocates. */
const FREES_FIRST: readonly ((of: AllocatorFunction) => boolean)[] = [
	(of) => !returnsMemory(of),
	(of) => returnsMemory(of) && of.old !== undefined,
	(of) => returnsMemory(of) && of.old === undefined,
];
