/** The memory of the kernel's that unwind tables lie in: user space writes to it, programs read it. */

import { TstraceError } from '../../errors.js';
import { maps as MAPS, unwind_constant as UNWIND } from '../../generated/common.js';
import type { ObjectLayout } from '../../loader/layout.js';
import { type BpfMap, u32Key } from '../../loader/map.js';
import { MappedArray } from '../../loader/mapped-array.js';
import { PROT, SharedMapping } from '../../loader/memory.js';
import type { BpfObject } from '../../loader/object.js';
import type { PackedTable } from '../../unwind/packed-table.js';
import { RULE_BYTES } from '../../unwind/rule.js';
import { Extents } from './extents.js';

const RULE_STRIDE = Math.ceil(RULE_BYTES / 8) * 8;
const { valueSize: PAGE_BYTES } = MAPS.unwind_pages;
const ROW_BYTES = 4;

/** The layout of an object that includes lib/unwind/tables.h. */
export interface UnwoundLayout extends ObjectLayout {
	readonly maps: ObjectLayout['maps'] &
		Pick<
			typeof MAPS,
			| 'unwind_rules'
			| 'unwind_pages'
			| 'unwind_rows'
			| 'unwind_files'
			| 'unwind_requests'
			| 'unwinds'
			| 'function_stacks'
			| 'v8_layouts'
			| 'barrier'
			| 'barrier_inner'
		>;
}

/** Where a table lies. */
export interface TablePlace {
	readonly pagesAt: number;
	readonly firstPage: number;
	readonly pages: number;
	readonly rows: readonly RowPlace[];
}

interface RowPlace {
	readonly chunk: number;
	readonly first: number;
	readonly count: number;
}

interface Chunk {
	readonly map: MappedArray;
	readonly rows: Uint32Array;
	readonly room: Extents;
}

/** Of one loaded object. */
export class TableMemory {
	readonly #object: BpfObject<UnwoundLayout>;
	readonly #rules: SharedMapping;
	readonly #pages: SharedMapping;
	readonly #pageRoom = new Extents(UNWIND.UNWIND_MAX_PAGES);
	readonly #chunks: Chunk[] = [];

	constructor(object: BpfObject<UnwoundLayout>) {
		const mapped = (map: BpfMap, elementBytes: number) =>
			new SharedMapping(map.fd, map.maxEntries * elementBytes, PROT.read | PROT.write, 0);
		this.#object = object;
		this.#rules = mapped(object.map('unwind_rules'), RULE_STRIDE);
		this.#pages = mapped(object.map('unwind_pages'), PAGE_BYTES);
	}

	/** Adds the rules that a table brings: before the table is placed. */
	addRules({ rules, firstRule }: PackedTable): void {
		const memory = new Uint8Array(this.#rules.buffer);
		for (let at = 0; at < rules.length; at += RULE_BYTES) {
			const number = firstRule + at / RULE_BYTES;
			memory.set(rules.subarray(at, at + RULE_BYTES), number * RULE_STRIDE);
		}
	}

	/** Puts a table, which has pages, where it has room; undefined: there is none. */
	place({ pages, counts, rows }: PackedTable): TablePlace | undefined {
		const firstPage = pages[0] as number;
		const span = (pages.at(-1) as number) - firstPage + 1;
		const pagesAt = this.#pageRoom.take(span);
		if (pagesAt === undefined) return undefined;
		const words = new Uint32Array(
			this.#pages.buffer,
			pagesAt * PAGE_BYTES,
			(span * PAGE_BYTES) / 4,
		);
		words.fill(0);
		const placed: RowPlace[] = [];
		const placement = { pagesAt, firstPage, pages: span, rows: placed };
		let at = 0;
		for (const [i, page] of pages.entries()) {
			const count = counts[i] as number;
			const room = this.#takeRows(count);
			if (!room) {
				this.free(placement);
				return undefined;
			}
			placed.push({ ...room, count });
			this.#chunks[room.chunk]?.rows.set(rows.subarray(at, at + count), room.first);
			at += count;
			words[(page - firstPage) * 2] = room.chunk * UNWIND.UNWIND_CHUNK_ROWS + room.first;
			words[(page - firstPage) * 2 + 1] = count;
		}
		return placement;
	}

	#takeRows(count: number): { chunk: number; first: number } | undefined {
		for (let chunk = 0; chunk < UNWIND.UNWIND_MAX_CHUNKS; chunk++) {
			const rows = this.#chunks[chunk] ?? this.#addChunk();
			if (!rows) return undefined;
			const first = rows.room.take(count);
			if (first !== undefined) return { chunk, first };
		}
		return undefined;
	}

	/** Undefined: the kernel has no memory for it, or we no descriptor. */
	#addChunk(): Chunk | undefined {
		let map: MappedArray | undefined;
		try {
			map = new MappedArray(UNWIND.UNWIND_CHUNK_ROWS * ROW_BYTES);
			this.#object.map('unwind_rows').addInner(u32Key(this.#chunks.length), map.fd);
		} catch (error) {
			map?.close();
			if (error instanceof TstraceError) return undefined;
			throw error;
		}
		const room = new Extents(UNWIND.UNWIND_CHUNK_ROWS);
		const chunk = { map, rows: new Uint32Array(map.buffer), room };
		this.#chunks.push(chunk);
		return chunk;
	}

	/** Takes a table's room back; no program reads it any more. */
	free({ pagesAt, pages, rows }: TablePlace): void {
		this.#pageRoom.give(pagesAt, pages);
		for (const { chunk, first, count } of rows) this.#chunks[chunk]?.room.give(first, count);
	}

	close(): void {
		this.#rules.unmap();
		this.#pages.unmap();
		for (const { map } of this.#chunks.splice(0)) map.close();
	}
}
