/** Locations of a pprof file as frames: their functions' names, their mappings' kinds. */
import { basename } from 'node:path';
import { FrameTable, hashOf } from '../aggregate/frame-table.js';
import type { FrameKind } from '../aggregate/stack.js';
import { kindOfFile } from './frame-kinds.js';
import { checkEntries, type Id, type PprofFile, PROFILE } from './pprof-file.js';
import { damaged, type Fields } from './protobuf.js';

/** Numbers of fields. */
const MAPPING = { id: 1, filename: 5 } as const;
const LOCATION = { id: 1, mapping: 2, address: 3, line: 4 } as const;
const LINE = { function: 1 } as const;
const FUNCTION = { id: 1, name: 2, systemName: 3 } as const;

/** Of a file's name in a frame that has no name itself. */
const MAX_MODULE_LENGTH = 200;

interface PprofMapping {
	readonly kind: FrameKind;
	/** How frames without a name are called. */
	readonly module: string;
}

const NO_MAPPING: PprofMapping = { kind: 'user', module: 'unknown' };

export class PprofFrames {
	readonly table = new FrameTable();
	readonly #file: PprofFile;
	readonly #addresses: boolean;
	readonly #mappings = new Map<Id, PprofMapping>();
	/** To their names' strings. */
	readonly #functions = new Map<Id, number>();
	/** To the frames there, root first. */
	readonly #locations = new Map<Id, readonly number[]>();
	/** Frames of strings, by kind: a name that many lines have is looked at once. */
	readonly #known = new Map<FrameKind, Map<number, number>>();
	#lines = 0;

	/** `addresses`: frames without a name are called "[module <address>]", not "[module]". */
	constructor(file: PprofFile, addresses: boolean) {
		this.#file = file;
		this.#addresses = addresses;
		file.each(PROFILE.mapping, (entry) => this.#mapping(entry.message()));
		file.each(PROFILE.function, (entry) => this.#function(entry.message()));
		file.each(PROFILE.location, (entry) => this.#location(entry.message()));
	}

	/** The frames at a location, root first; at least one. */
	at(location: Id): readonly number[] {
		const frames = this.#locations.get(location);
		if (!frames) throw damaged();
		return frames;
	}

	#mapping(fields: Fields): void {
		let id: Id = 0;
		let file = '';
		while (fields.next()) {
			if (fields.field === MAPPING.id) id = fields.exact;
			if (fields.field === MAPPING.filename) file = this.#file.text(fields.value);
		}
		// What is no file has brackets already.
		const module = basename(file).replace(/^\[(.*)\]$/, '$1') || NO_MAPPING.module;
		this.#mappings.set(id, { kind: kindOfFile(file), module: module.slice(0, MAX_MODULE_LENGTH) });
	}

	#function(fields: Fields): void {
		let id: Id = 0;
		let name = 0;
		let systemName = 0;
		while (fields.next()) {
			if (fields.field === FUNCTION.id) id = fields.exact;
			if (fields.field === FUNCTION.name) name = fields.value;
			if (fields.field === FUNCTION.systemName) systemName = fields.value;
		}
		this.#functions.set(id, name || systemName);
	}

	#location(fields: Fields): void {
		let id: Id = 0;
		let address: Id = 0;
		let mapping = NO_MAPPING;
		/** Functions' names: first what was inlined, last what all of it was inlined into. */
		const names: number[] = [];
		while (fields.next()) {
			if (fields.field === LOCATION.id) id = fields.exact;
			if (fields.field === LOCATION.address) address = fields.exact;
			if (fields.field === LOCATION.mapping) {
				mapping = this.#mappings.get(fields.exact) ?? NO_MAPPING;
			}
			if (fields.field === LOCATION.line) names.push(this.#line(fields.message()));
		}
		const frames = names.map((name, i) =>
			this.#frame(name, i < names.length - 1 ? 'inlined' : mapping.kind),
		);
		if (frames.length === 0) {
			const where = this.#addresses ? ` <0x${address.toString(16)}>` : '';
			frames.push(this.table.intern(`[${mapping.module}${where}]`, mapping.kind));
		}
		this.#locations.set(id, frames.reverse());
	}

	/** The name of a line's function. */
	#line(fields: Fields): number {
		checkEntries(++this.#lines);
		let name: number | undefined;
		while (fields.next()) {
			if (fields.field === LINE.function) name = this.#functions.get(fields.exact);
		}
		if (name === undefined) throw damaged();
		return name;
	}

	#frame(name: number, kind: FrameKind): number {
		const known = this.#known.get(kind) ?? new Map<number, number>();
		this.#known.set(kind, known);
		let frame = known.get(name);
		if (frame === undefined) {
			const { from, to } = this.#file.string(name);
			const { bytes } = this.#file;
			frame = this.table.internBytes(bytes, from, to, hashOf(bytes, from, to), kind);
			known.set(name, frame);
		}
		return frame;
	}
}
