/** Probes at the allocators of processes: those they have mapped, and those they map later. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { TstraceError } from '../../../errors.js';
import { type BpfMap, u32Key } from '../../../loader/map.js';
import { type ProbePoint, UserProbes } from '../../../loader/probes.js';
import type { BpfProgram } from '../../../loader/program.js';
import { processLives } from '../../../proc/lives.js';
import type { MapsEntry } from '../../../proc/maps.js';
import { findSilentMemory, silentText } from '../../../proc/memory-lock.js';
import { mappedFiles, pathTo } from '../../../symbolize/mappings/code-files.js';
import { type AllocatorFunction, packSignature, returnsMemory } from './allocators.js';
import { explainHeapFile, type HeapFile, type HeapFunction, readHeapFile } from './files.js';
import { chooseProbes, whyNoReturnProbes } from './probe-ways.js';
import {
	fileAt,
	type HeapProbeOptions,
	identityOf,
	isObject,
	keyOf,
	listed,
	type MappedPath,
	noAllocator,
	notOpened,
	requireObject,
} from './probed-files.js';

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
/** What lacks is counted, and so many are named. */
const LACKS_SHOWN = 4;

export class HeapProbes {
	readonly #programs: Programs;
	readonly #options: HeapProbeOptions;
	/** By process, so that they go with it: each would be looked at wherever its file is executed. */
	readonly #probes = new Map<number, UserProbes[]>();
	/** By what is opened, not by its path: see identityOf. */
	readonly #files = new Map<string, HeapFile>();
	/** Files that a process was probed in, or that there was nothing to probe in. */
	readonly #done = new Map<number, Map<string, HeapFile>>();
	readonly #allocating = new Set<number>();
	/** Signatures by where in a page their probes are. */
	readonly #places = new Map<number, bigint>();
	/** Functions that have no probe, "free of libc.so.6". */
	readonly #untold = new Set<string>();
	/** Files that have no probes, though they may be allocators; why the first has none. */
	#failures = { files: 0, first: '' };
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
				: new TstraceError(`process ${pid} has ended`);
		}
		requireObject(this.#options.object, pid, entries);
		// All are read before one is probed: operator new is not to come long after malloc.
		for (const entry of entries) this.#read(pid, entry, pathTo(pid, entry));
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
				if (!(error instanceof TstraceError)) throw error;
				this.#note(error.message);
				// It may end at any moment.
				if (!mappedFiles(pid)) return;
				this.#fails(error.message);
			}
		}
	}

	#fails(why: string): void {
		const { files, first } = this.#failures;
		this.#failures = { files: files + 1, first: first || why };
	}

	/** Whether any file lacks its probes: see `notices`. */
	get hasFailed(): boolean {
		return this.#failures.files > 0;
	}

	/** Whether any file of a process is an allocator that is probed, or was until it ended. */
	hasAllocator(pid: number): boolean {
		return this.#allocating.has(pid);
	}

	/** Whether a process has ended whose first thread did; its probes are taken out then. */
	dropEnded(pid: number): boolean {
		if (processLives(pid)) return false;
		this.drop(pid);
		return true;
	}

	/** Takes a process's probes out; what it has mapped is new to `refresh`. */
	drop(pid: number): void {
		for (const probes of this.#probes.get(pid)?.reverse() ?? []) probes.close();
		this.#probes.delete(pid);
		this.#done.delete(pid);
	}

	/** Where probes lack. */
	notices(): string[] {
		const { files, first } = this.#failures;
		const which = files === 1 ? 'one file' : `${files} files`;
		return [
			...(this.#untold.size > 0
				? [
						`no probe at ${listed([...this.#untold], LACKS_SHOWN)}: on this kernel (before 5.15) tstrace cannot ` +
							'distinguish them from other functions. Their allocations and frees are missing.',
					]
				: []),
			...(files > 0
				? [`tstrace could not probe ${which}, and misses allocations there: ${first}.`]
				: []),
		];
	}

	close(): void {
		for (const pid of this.#probes.keys()) this.drop(pid);
	}

	#attachEntry(pid: number, entry: MapsEntry): HeapFile | undefined {
		return this.#attachFile(pid, entry, pathTo(pid, entry));
	}

	/** Lets the programs know the signatures; returns where to probe functions that can be told apart. */
	#tell(functions: readonly HeapFunction[], path: string): ProbePoint[] {
		const { signatures } = this.#programs;
		if (!signatures) return functions.flatMap((each) => pointsOf(each).slice(0, 1));
		return functions.flatMap((each) => {
			const free = pointsOf(each).find(({ offset, cookie }) => {
				const known = this.#places.get(offset % PAGE_PLACES);
				return known === undefined || known === cookie;
			});
			if (!free) {
				this.#untold.add(`${each.of.name} of ${basename(path)}`);
				return [];
			}
			const { offset, cookie } = free;
			const place = offset % PAGE_PLACES;
			this.#places.set(place, cookie);
			signatures.update(u32Key(place), new Uint8Array(new BigUint64Array([cookie]).buffer));
			return [{ offset, cookie: 0n }];
		});
	}

	/** What there is to probe; undefined where -O names another file. `path`: where it can be opened from here. */
	#read(pid: number, file: MappedPath, path: string): HeapFile | undefined {
		const { object, prefix } = this.#options;
		if (object !== undefined && !isObject(object, pid, file)) return undefined;
		const identity = identityOf(path);
		const known = this.#files.get(identity) ?? readHeapFile(path, prefix);
		this.#files.set(identity, known);
		return known;
	}

	#attachFile(pid: number, file: MappedPath, path: string): HeapFile | undefined {
		const key = keyOf(file);
		const done = this.#done.get(pid) ?? new Map<string, HeapFile>();
		const before = done.get(key);
		if (before) return before;
		const known = this.#read(pid, file, path);
		if (!known) return undefined;
		// Not for good: it may answer later.
		if (known.functions.length > 0) requireAnswers(pid);
		// Once: what fails fails again.
		this.#done.set(pid, done.set(key, known));
		if (known.problem === 'not opened') this.#fails(`${file.path} cannot be opened`);
		if (known.functions.length > 0) {
			this.#attach(pid, known, file.path, path);
			this.#note(`probes in ${file.path} of process ${pid}`);
			for (const line of explainHeapFile(file.path, known)) this.#note(line);
		}
		if (known.isAllocator) this.#allocating.add(pid);
		return known;
	}

	/** All of them, or none. `name`: the file's path as the process sees it. */
	#attach(pid: number, { functions }: HeapFile, name: string, path: string): void {
		const waited = functions.filter(({ waits }) => waits);
		const entries = waited.flatMap(({ offset, returns }) => (returns ? [] : [offset]));
		// Several functions may share their last instructions.
		const last = new Set(waited.flatMap(({ returns }) => returns ?? []));
		const why = entries.length > 0 ? whyNoReturnProbes(pid) : undefined;
		if (why !== undefined)
			throw new TstraceError(
				`cannot put probes into process ${pid}: ${why}. Or use --growth, which needs no probes`,
			);
		const { entry, return: returning, last: lasting } = this.#programs;
		const at = (offsets: Iterable<number>) =>
			Array.from(offsets, (offset) => ({ offset, cookie: 0n }));
		const probes = new UserProbes(chooseProbes().multiType);
		try {
			// Returns first: an entry whose return is not probed would wait for ever.
			probes.attach({ program: returning, returns: true, path, pid, points: at(entries) });
			probes.attach({ program: lasting, returns: false, path, pid, points: at(last) });
			// The process goes on meanwhile: what frees comes before what allocates, and goes after it,
			// or blocks would seem to stay that were freed in between. In links of their own, as the
			// kernel takes the probes of a link out in the order in which it put them in.
			for (const group of FREES_FIRST) {
				const points = this.#tell(
					functions.filter(({ of }) => group(of)),
					name,
				);
				probes.attach({ program: entry, returns: false, path, pid, points });
			}
		} catch (error) {
			probes.close();
			throw error;
		}
		this.#probes.set(pid, [...(this.#probes.get(pid) ?? []), probes]);
	}
}

/**
 * To put a probe into a file, the kernel takes the memory lock of each process that has the file mapped:
 * kernel/events/uprobes.c, register_for_each_vma. Where one holds that for ever, tstrace would wait for ever, and could not be ended. A process may
 * take its lock just after tstrace has looked. A process that holds it for reading only is not found.
 */
function requireAnswers(pid: number): void {
	const silent = findSilentMemory();
	if (silent)
		throw new TstraceError(
			`cannot put probes into process ${pid}: the kernel may wait for ${silentText(silent)}, whose memory does not answer; perhaps it maps a file of a dead mount. See to that, or use --growth, which needs no probes`,
		);
}

/** Where a function can be probed, the cheapest first: at its entry always. */
function pointsOf(of: HeapFunction): ProbePoint[] {
	const { offset, address, placement } = of;
	const pointAt = (bytes: number, stackWords: number): ProbePoint => ({
		offset: offset + bytes,
		cookie: packSignature({ ...of, at: address + bytes, stackWords }),
	});
	const entry = pointAt(0, 0);
	if (placement.offset === 0) return [entry];
	return [pointAt(placement.offset, placement.stackBytes / WORD_BYTES), entry];
}

/** What only frees; what frees and allocates; what only allocates. */
const FREES_FIRST: readonly ((of: AllocatorFunction) => boolean)[] = [
	(of) => !returnsMemory(of),
	(of) => returnsMemory(of) && of.old !== undefined,
	(of) => returnsMemory(of) && of.old === undefined,
];
