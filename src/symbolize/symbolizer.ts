/** Gives captured stacks their names. */

import { closeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { remembered } from '../aggregate/remembered.js';
import type { CapturedStack, NamedStack } from '../aggregate/stack.js';
import { offsetName } from '../bounded-names.js';
import { FileBytes, MemoryBytes, SymbolError } from '../elf/bytes.js';
import { type Address, addressText } from '../loader/signed-address.js';
import { silentMounts } from '../proc/answers.js';
import { MEMORY_PATH } from '../proc/maps.js';
import { silentMemories } from '../proc/memory-lock.js';
import { Place } from './code-place.js';
import { Debuginfod, filesByLack } from './debuginfod/lacking-symbols.js';
import type { FunctionNames } from './function-names.js';
import { FunctionPlaces } from './function-places.js';
import { lacksFunction, type PlacedFrame, withFunctions } from './language-frames.js';
import type { AddressSpace, Life, Mapping } from './mappings/address-space.js';
import type { MappedFile } from './mappings/mapped-file.js';
import type { ProcessHistory } from './mappings/processes.js';
import { readVdso } from './mappings/vdso.js';
import { NO_NAME, placeIn } from './memory-places.js';
import type { Notice } from './notices.js';
import { PlacedStacks } from './placed-stacks.js';
import { loadDemangler } from './symbols/demangle.js';
import { kindOfMapped, perfMapNames } from './symbols/jit.js';
import { kernelNames } from './symbols/kernel.js';
import { type FileNames, nameOffsets } from './symbols/object-file.js';
import { Account } from './unnamed.js';
import { isCLibrary } from './walks/c-library.js';
import { MissingFrames, withinStack } from './walks/missing-frames.js';

/** Kernel memory that is mapped into every process, for programs older than the vdso. */
const VSYSCALL_START: Address = -0xa0_0000;
const VSYSCALL_END: Address = -0x9f_f000;

/** Names remembered in both forms; a trace of days meets ever new ones. */
const MAX_DEMANGLED = 50_000;

/**
 * For the files and perf maps of all stacks; a browser takes one second, a busy machine that emulates its
 * CPU fifteen for a small program. Files that are made to be slow cost no more than that.
 */
const TIME_LIMIT_MS = 30_000;

const NO_FRAMES: PlacedFrame[] = [];

export class Symbolizer {
	readonly #history: ProcessHistory;
	readonly #account: Account;
	readonly #debuginfod: Debuginfod;
	readonly #functions: FunctionPlaces | undefined;
	#kernelHidden = false;
	readonly #readable = remembered((name: string) => loadDemangler()(name), MAX_DEMANGLED);
	readonly #missing = new MissingFrames();

	/** Places met in the stacks at hand, by where they are. */
	#inKernel = new Map<Address, Place>();
	#inFiles = new Map<MappedFile, Map<number, Place>>();
	#inVdso = new Map<number, Place>();
	#inMemory = new Map<Life, { at_ns: number; places: Map<number, Place> }>();
	readonly #placed = new PlacedStacks();
	#deadline_ms = 0;
	readonly #unknown = new Place({ name: '[unknown]', kind: 'user' });

	/** `debuginfod`: by which symbols that are lacking are fetched. `functions`: of runtimes, if walks take some. */
	constructor(
		history: ProcessHistory,
		debuginfod = new Debuginfod(false),
		functions?: FunctionNames,
	) {
		this.#history = history;
		this.#functions = functions && new FunctionPlaces(functions);
		this.#debuginfod = debuginfod;
		this.#account = new Account(history, debuginfod.use, functions);
		this.#unknown.lacks = 'mapping';
	}

	/**
	 * Names the stacks; the result is in the order given. Reads each file once, and keeps none.
	 * Whatever cannot be named is shown as what is known of it: "libfoo.so+0x1234", "[jit]", "[anon]".
	 * `maxDepth`: the most user frames that a walk takes. One call at a time. Lets events be handled
	 * between files; takes TIME_LIMIT_MS and one file, twice if symbols are fetched, and the time for that.
	 */
	async resolve(
		stacks: readonly CapturedStack[],
		maxDepth = Number.POSITIVE_INFINITY,
	): Promise<NamedStack[]> {
		this.#functions?.take();
		// Stacks that are alike have the same addresses, as one object: thousands of threads may wait in one place.
		const inKernel = remembered((addresses: CapturedStack['kernel']) =>
			Array.from(addresses, (address, i) => this.#placeInKernel(address, i)),
		);
		/** By their addresses: whose was placed last, and as of when. Functions come with the addresses. */
		const inUser = new Map<CapturedStack['user'], { of: CapturedStack; frames: PlacedFrame[] }>();
		const userPart = (stack: CapturedStack): PlacedFrame[] => {
			if (stack.user.length === 0) return NO_FRAMES;
			const last = inUser.get(stack.user);
			if (last?.of.pid === stack.pid && last.of.at_ns === stack.at_ns) return last.frames;
			const frames = this.#placeUser(stack);
			inUser.set(stack.user, { of: stack, frames });
			return frames;
		};
		const placed = stacks.map((stack) => ({
			kernel: inKernel(stack.kernel),
			user: userPart(stack),
		}));
		this.#deadline_ms = performance.now() + TIME_LIMIT_MS;
		this.#nameKernel();
		await this.#nameVdso();
		// What has most to name comes first, if there is not the time for all.
		const files = [...this.#inFiles].sort(([, a], [, b]) => b.size - a.size);
		for (const [file, places] of files) await this.#nameFile(file, places);
		await this.#fetchSymbols(stacks, () =>
			placed.map(({ user }) => withinStack(withFunctions(user))),
		);
		for (const [life, { at_ns, places }] of this.#inMemory) {
			await this.#nameMemory(life, at_ns, places);
		}
		this.#inKernel = new Map();
		this.#inFiles = new Map();
		this.#inVdso = new Map();
		this.#inMemory = new Map();
		this.#functions?.forget();
		this.#placed.forget();
		const framesOf = remembered((places: readonly Place[]) => places.map(({ frame }) => frame));
		const shownOf = remembered((walked: readonly PlacedFrame[]) => {
			const places = withinStack(withFunctions(walked));
			return { places, isUnread: walked.some(lacksFunction) };
		});
		return placed.map(({ kernel, user: walked }, i) => {
			const { places, isUnread } = shownOf(walked);
			this.#account.add(stacks[i] as CapturedStack, places, isUnread);
			return {
				kernel: framesOf(kernel),
				user: framesOf(places),
				...this.#missing.of(stacks[i] as CapturedStack, places, maxDepth),
			};
		});
	}

	/** What the user should know of the names of all stacks resolved so far; most important first. */
	notices(): Notice[] {
		return [
			...(this.#kernelHidden ? [{ kind: 'kernel-symbols-hidden' } as const] : []),
			...silentMounts().map(
				({ folder, type }) => ({ kind: 'mount-silent', folder, type }) as const,
			),
			...silentMemories().map((locked) => ({ kind: 'memory-silent', ...locked }) as const),
			...this.#debuginfod.notices(),
			...this.#account.notices(),
		];
	}

	/** Fetches the symbols that files turned out to lack, and names their functions once more. */
	async #fetchSymbols(
		stacks: readonly CapturedStack[],
		userFrames: () => readonly (readonly Place[])[],
	): Promise<void> {
		if (!this.#debuginfod.mayFetch) return;
		const lacking = filesByLack(stacks, userFrames()).flatMap((file) => {
			const buildId = this.#account.lackingBuildId(file);
			return buildId ? [[file, buildId] as const] : [];
		});
		const fetched = await this.#debuginfod.fetch(lacking);
		if (fetched.length === 0) return;
		this.#deadline_ms = performance.now() + TIME_LIMIT_MS;
		for (const file of fetched) await this.#nameFile(file, this.#inFiles.get(file) ?? new Map());
	}

	/**
	 * The leaf is where it is: the instruction that was running (samples), or the start of the
	 * function that was called to wait (bpf/lib/stacks/walk.h). All others are where it will go on, behind
	 * the call.
	 */
	#placeInKernel(address: Address, i: number): Place {
		const inside = i === 0 ? address : address - 1;
		let place = this.#inKernel.get(inside);
		if (!place) {
			place = new Place({ name: `[kernel]+0x${addressText(address)}`, kind: 'kernel' });
			this.#inKernel.set(inside, place);
		}
		return place;
	}

	#nameKernel(): void {
		const addresses = Float64Array.from(this.#inKernel.keys()).sort();
		if (addresses.length === 0) return;
		const { names, hidden } = kernelNames(addresses);
		this.#kernelHidden = hidden;
		for (const [i, name] of names.entries()) {
			const place = this.#inKernel.get(addresses[i] as number);
			if (place && name !== undefined) place.frame = { name, kind: 'kernel' };
		}
	}

	#placeUser(stack: CapturedStack): PlacedFrame[] {
		const space = this.#history.at(stack.pid, stack.at_ns);
		// The leaf is where it is; all others are where it will go on, behind the call.
		const addresses: Address[] = [];
		for (let i = 0; i < stack.user.length; i++)
			addresses.push((stack.user[i] as Address) - (i === 0 ? 0 : 1));
		const placeAt = (address: Address) => this.#placeAt(space, stack.at_ns, address);
		if (!space) return addresses.map((address) => ({ code: placeAt(address) }));
		const functions = this.#functions?.placedIn(space, addresses, stack.functions);
		const frames = this.#functions?.framesOf(space, addresses, functions);
		return this.#placed.frames({ space, addresses, functions }, (address, i) => {
			const code = placeAt(address);
			return frames ? frames(code, i) : { code };
		});
	}

	#placeAt(space: AddressSpace | undefined, at_ns: number, address: Address): Place {
		if (address >= VSYSCALL_START && address < VSYSCALL_END) {
			return new Place({ name: '[vsyscall]', kind: 'user' });
		}
		if (!space) return this.#unknown;
		const mapping = space.find(address);
		if (!mapping) return this.#placeInMemory(space, at_ns, address, undefined);
		const offset = address - mapping.start + mapping.fileOffset;
		if (mapping.path === '[vdso]') return placeIn(this.#inVdso, offset, mapping);
		if (mapping.file && !MEMORY_PATH.test(mapping.path)) {
			const places = this.#inFiles.get(mapping.file) ?? new Map();
			this.#inFiles.set(mapping.file, places);
			return placeIn(places, offset, mapping);
		}
		return this.#placeInMemory(space, at_ns, address, mapping);
	}

	/** Where no file is mapped; nor anything else, if a record was lost. */
	#placeInMemory(space: AddressSpace, at_ns: number, address: number, mapping?: Mapping): Place {
		const memory = this.#inMemory.get(space.life) ?? { at_ns, places: new Map() };
		this.#inMemory.set(space.life, memory);
		return placeIn(memory.places, address, mapping);
	}

	async #nameFile(file: MappedFile, places: Map<number, Place>): Promise<void> {
		await setImmediate();
		const open = this.#hasTime() ? file.open() : undefined;
		let names: FileNames | undefined;
		try {
			if (open) {
				const bytes = new FileBytes(open.fd, open.stat.size);
				const where = { roots: file.roots(), cache: this.#debuginfod.cache };
				names = await nameOffsets(bytes, file.path, where, [...places.keys()]);
				this.#missing.addFile(file, open, names);
			}
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
		} finally {
			if (open) closeSync(open.fd);
		}
		// What was found the first time stays, if the file is gone by now.
		if (!names && this.#account.has(file)) return;
		this.#account.addFile(file, names);
		this.#give(file.path, places, names);
	}

	async #nameVdso(): Promise<void> {
		const memory = this.#inVdso.size > 0 ? readVdso() : undefined;
		if (!memory) return;
		try {
			const bytes = new MemoryBytes(memory);
			const names = await nameOffsets(bytes, '[vdso]', { roots: [] }, [...this.#inVdso.keys()]);
			this.#give('[vdso]', this.#inVdso, names);
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
		}
	}

	#give(path: string, places: Map<number, Place>, names: FileNames | undefined): void {
		let i = 0;
		const from = isCLibrary(path) ? { inCLibrary: true } : {};
		for (const [offset, place] of places) {
			const name = names?.names[i] ?? offsetName(path, offset);
			const known = names?.known[i] === true;
			place.frame = { name: known ? this.#readable(name) : name, kind: 'user', ...from };
			place.lacks = known ? undefined : 'symbols';
			i++;
		}
	}

	async #nameMemory(life: Life, at_ns: number, places: Map<number, Place>): Promise<void> {
		await setImmediate();
		const wanted = Float64Array.from(places.keys()).sort();
		const facts = this.#hasTime() ? this.#history.facts(life.pid, at_ns) : undefined;
		const map = facts && perfMapNames(life.pid, facts, wanted);
		if (map) this.#account.addPerfMap(life, map.cut);
		for (const [i, address] of wanted.entries()) {
			const place = places.get(address) as Place;
			const name = map?.names[i];
			if (name) {
				place.frame = { name: this.#readable(name), kind: kindOfMapped(name) };
				place.lacks = undefined;
			} else if (!map) place.lacks ??= 'perf-map';
			else if (place.frame.name === NO_NAME) {
				// A program that writes perf maps made it; nothing more is known of it.
				place.frame = { name: '[jit]', kind: 'jit' };
				place.lacks = 'perf-map-line';
			}
		}
	}

	#hasTime(): boolean {
		const hasTime = performance.now() < this.#deadline_ms;
		if (!hasTime) this.#account.ranOutOfTime = true;
		return hasTime;
	}
}
