/** A BPF object's life: open, configure, load, attach, close. */
import { closeSync, existsSync, read, readFileSync } from 'node:fs';
import { TstraceError } from '../errors.js';
import { closeAll } from './close-all.js';
import { failure, libbpf, type Pointer } from './ffi.js';
import { KernelTypes } from './kernel-types.js';
import type { ObjectLayout } from './layout.js';
import { captureMessages, takeMessages } from './libbpf-messages.js';
import { BpfMap, u32Key } from './map.js';
import { mapsOf, programsOf } from './maps-and-programs.js';
import { PROT, SharedMapping } from './memory.js';
import { BpfProgram } from './program.js';
import { shortage } from './shortage.js';
import { explainLoadFailure } from './verifier.js';

/** Objects that are open; whatever way the process ends by itself, they are closed. */
const open = new Set<BpfObject<ObjectLayout>>();
process.on('exit', () => {
	closeAll([...open].map((object) => () => object.close()));
});

type SectionField<L extends ObjectLayout, N extends string> = keyof L['sections'][N]['fields'] &
	string;

export class BpfObject<L extends ObjectLayout> {
	readonly #maps = new Map<string, BpfMap>();
	readonly #programs = new Map<string, BpfProgram>();
	#pointer: Pointer;
	#links: Pointer[] = [];
	/** Until it is loaded. */
	#types: KernelTypes | undefined;
	/** The global variables' memory, shared with the kernel; mapped when first needed. */
	#variables: SharedMapping | undefined;

	/**
	 * Opens the object file of `layout`; nothing is given to the kernel yet.
	 * Throws TstraceError when it is missing or not of the build that made the layout.
	 */
	constructor(
		path: string,
		readonly layout: L,
		options: { verbose?: boolean } = {},
	) {
		captureMessages(options.verbose ?? false);
		if (!existsSync(path))
			throw new TstraceError(`BPF object ${path} is missing: run make, or install again`);
		this.#types = layout.kernelTypes && KernelTypes.of(layout.kernelTypes);
		const openWith = (options: Uint8Array | null) => libbpf().bpf_object__open_file(path, options);
		this.#pointer = this.#types ? this.#types.give(openWith) : openWith(null);
		if (this.#pointer === null) {
			this.#closeTypes();
			throw new TstraceError(`cannot open BPF object ${path}: ${failure()}`, takeMessages());
		}
		open.add(this);
		for (const pointer of mapsOf(this.#pointer)) {
			const map = new BpfMap(pointer);
			this.#maps.set(sectionOrMapName(map.name), map);
		}
		for (const pointer of programsOf(this.#pointer)) {
			const program = new BpfProgram(pointer);
			this.#programs.set(program.name, program);
		}
		this.#checkLayout(path);
	}

	map(name: keyof L['maps'] & string): BpfMap {
		return this.#map(name);
	}

	program(name: L['programs'][number]): BpfProgram {
		const program = this.#programs.get(name);
		if (!program) throw new TstraceError(`the BPF object has no program ${name}`);
		return program;
	}

	/** Before loading: sets constants (`const volatile` in the BPF code). */
	setConstants(constants: Partial<Record<SectionField<L, '.rodata'>, number | boolean>>): void {
		for (const [name, value] of Object.entries(constants)) {
			const field = this.#variable('.rodata', name);
			writeUint(this.#map('.rodata').initialValue(), field.offset, field.size, Number(value));
		}
	}

	/** Before loading: the memory of one constant, for arrays. */
	constantBytes(name: SectionField<L, '.rodata'>): DataView {
		const field = this.#variable('.rodata', name);
		const memory = this.#map('.rodata').initialValue();
		return new DataView(memory.buffer, field.offset, field.size);
	}

	/** After loading: sets a global variable, which programs see at once. */
	setVariable(name: SectionField<L, '.bss'>, value: number): void {
		const field = this.#variable('.bss', name);
		writeUint(new DataView(this.#bss().buffer), field.offset, field.size, value);
	}

	/** After loading: the memory of a global variable, for structures; programs write to it. */
	variableBytes(name: SectionField<L, '.bss'>): DataView {
		const field = this.#variable('.bss', name);
		return new DataView(this.#bss().buffer, field.offset, field.size);
	}

	/** Loads the named programs and the maps but those in `withoutMaps`. */
	load(programs: readonly L['programs'][number][], withoutMaps: readonly string[] = []): void {
		for (const [name, program] of this.#programs) program.setAutoload(programs.includes(name));
		for (const name of withoutMaps) this.#map(name).setAutocreate(false);
		const result = libbpf().bpf_object__load(this.#pointer);
		this.#closeTypes();
		const messages = takeMessages();
		if (result < 0) throw explainLoadFailure(this.layout.name, failure(result), messages);
	}

	/** Attaches a loaded program to the hook its section names. */
	attach(name: L['programs'][number]): void {
		const link = libbpf().bpf_program__attach(this.program(name).pointer);
		if (link === null) {
			const errno = failure();
			throw new TstraceError(
				`cannot attach BPF program ${name}: ${shortage(errno) ?? errno}`,
				takeMessages(),
			);
		}
		this.#links.push(link);
	}

	/** Runs an iterator program once, over everything it iterates over; returns what it wrote. */
	runIterator(name: L['programs'][number]): DataView {
		const fd = this.#iterator(name);
		try {
			const written = readFileSync(fd);
			return new DataView(written.buffer, written.byteOffset, written.byteLength);
		} finally {
			closeSync(fd);
		}
	}

	/**
	 * The same in another thread, while this one goes on; at most so long. `whole`: it went over everything.
	 */
	async runIteratorAside(
		name: L['programs'][number],
		{ most_ms }: { most_ms: number },
	): Promise<{ written: DataView; whole: boolean }> {
		const fd = this.#iterator(name);
		const until_ms = performance.now() + most_ms;
		const parts: Buffer[] = [];
		let whole = false;
		try {
			while (!whole && performance.now() < until_ms) {
				const part = await readPart(fd);
				if (part) parts.push(part);
				whole = part?.length === 0;
			}
		} finally {
			closeSync(fd);
		}
		const { buffer, byteOffset, byteLength } = Buffer.concat(parts);
		return { written: new DataView(buffer, byteOffset, byteLength), whole };
	}

	/** A descriptor: who reads from it runs the program. */
	#iterator(name: L['programs'][number]): number {
		const link = libbpf().bpf_program__attach_iter(this.program(name).pointer, null);
		if (link === null) throw cannotRun(name, failure());
		const fd: number = libbpf().bpf_iter_create(libbpf().bpf_link__fd(link));
		const why = fd < 0 ? failure(fd) : undefined;
		libbpf().bpf_link__destroy(link);
		if (why !== undefined) throw cannotRun(name, why);
		return fd;
	}

	/**
	 * Returns when every program run that had begun has ended: after an RCU grace period, some
	 * 10 ms, by way of bpf/lib/window.h.
	 */
	waitForPrograms(): void {
		this.#map('barrier').update(u32Key(0), u32Key(this.#map('barrier_inner').fd));
	}

	/** Detaches all programs. A run that had begun may still go on; see waitForPrograms. */
	detach(): void {
		for (const link of this.#links) libbpf().bpf_link__destroy(link);
		this.#links = [];
	}

	/** Releases programs, maps and memory; the object cannot be used afterwards. */
	close(): void {
		if (this.#pointer === null) return;
		this.#closeTypes();
		this.detach();
		this.#variables?.unmap();
		this.#variables = undefined;
		libbpf().bpf_object__close(this.#pointer);
		this.#pointer = null;
		this.#maps.clear();
		this.#programs.clear();
		open.delete(this);
	}

	#closeTypes(): void {
		this.#types?.close();
		this.#types = undefined;
	}

	#bss(): SharedMapping {
		const map = this.#map('.bss');
		this.#variables ??= new SharedMapping(map.fd, map.valueSize, PROT.read | PROT.write, 0);
		return this.#variables;
	}

	#map(name: string): BpfMap {
		const map = this.#maps.get(name);
		if (!map) throw new TstraceError(`the BPF object has no map ${name}, or is closed`);
		return map;
	}

	#variable(section: string, name: string): { offset: number; size: number } {
		const field = this.layout.sections[section]?.fields[name];
		if (!field) throw new TstraceError(`the BPF object has no variable ${name}`);
		return field;
	}

	#refuse(path: string, what: string): never {
		this.close();
		throw new TstraceError(
			`BPF object ${path} is not of this build (${what}): run make, or install again`,
		);
	}

	/** An object from another build would have its memory misread; better not to start. */
	#checkLayout(path: string): void {
		for (const [name, { keySize, valueSize }] of Object.entries(this.layout.maps)) {
			const map = this.#maps.get(name);
			if (map?.keySize !== keySize || map.valueSize !== valueSize) {
				this.#refuse(path, `map ${name}`);
			}
		}
		for (const [name, { size }] of Object.entries(this.layout.sections)) {
			const section = this.#maps.get(name);
			if (size !== (section?.valueSize ?? 0)) this.#refuse(path, `section ${name}`);
		}
	}
}

const PART_BYTES = 65_536;

/** Undefined: the kernel has gone over a million things, and wants to be asked again. */
function readPart(fd: number): Promise<Buffer | undefined> {
	return new Promise((resolve, reject) => {
		const part = Buffer.allocUnsafe(PART_BYTES);
		read(fd, part, 0, PART_BYTES, null, (error, bytes) => {
			if (!error) resolve(part.subarray(0, bytes));
			else if (error.code === 'EAGAIN') resolve(undefined);
			else reject(error);
		});
	});
}

function cannotRun(name: string, errno: string): TstraceError {
	return new TstraceError(`cannot run BPF iterator ${name}: ${shortage(errno) ?? errno}`);
}

/** libbpf names a data section's map "object.rodata"; we name it by its section. */
function sectionOrMapName(name: string): string {
	const dot = name.indexOf('.');
	return dot < 0 ? name : name.slice(dot);
}

function writeUint(memory: DataView, offset: number, size: number, value: number): void {
	if (size === 1) memory.setUint8(offset, value);
	else if (size === 4) memory.setUint32(offset, value, true);
	else if (size === 8) memory.setBigUint64(offset, BigInt(value), true);
	else throw new TstraceError(`a variable of ${size} bytes is not a number`);
}
