/** Unwind tables in the kernel's memory: what is given to it again takes no more of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FileIdentity, UnwindMaps } from '../../src/bpf/unwind/tables.js';
import { profile } from '../../src/generated/profile.js';
import { BpfObject } from '../../src/loader/object.js';
import type { PackedTable } from '../../src/unwind/packed-table.js';

const { UNWIND_CHUNK_ROWS, UNWIND_MAX_CHUNKS, UNWIND_MAX_PAGES } = profile.enums.unwind_constant;
/** A page has no more rows than bytes, and each table has a chunk. */
const PAGE_ROWS = 2 ** 16;
const PAGES = UNWIND_CHUNK_ROWS / PAGE_ROWS;

const TABLE: PackedTable = {
	pages: Uint32Array.from({ length: PAGES }, (_, page) => page),
	counts: new Uint32Array(PAGES).fill(PAGE_ROWS),
	rows: new Uint32Array(UNWIND_CHUNK_ROWS),
	rules: new Uint8Array(0),
	firstRule: 0,
};

const versionOf = (changed_ns: bigint): FileIdentity => ({ inode: 7n, device: 1, changed_ns });

/** What a loaded tool has room in for tables; returns how many it holds. */
function withMaps(use: (maps: UnwindMaps, held: () => number) => void): void {
	const object = new BpfObject(`dist/bpf/${process.arch}/profile.bpf.o`, profile);
	const maps = new UnwindMaps(object);
	try {
		maps.configure();
		object.load([]);
		maps.open();
		use(maps, () => {
			const { pages } = profile.structs.unwind_file.fields;
			let tables = 0;
			object.map('unwind_files').readAll((_keys, values, count) => {
				const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
				const size_bytes = profile.structs.unwind_file.size;
				for (let i = 0; i < count; i++)
					if (view.getUint32(i * size_bytes + pages.offset, true) > 0) tables++;
			});
			return tables;
		});
	} finally {
		maps.close();
		object.close();
	}
}

test('a file’s table that comes again takes no room, another version’s does', () => {
	withMaps((maps, held) => {
		for (let i = 0; i < 2 * UNWIND_MAX_CHUNKS; i++) maps.put(versionOf(1n), TABLE);
		assert.equal(maps.lacksRoom, false);
		assert.equal(held(), 1);
		for (let i = 0; i < UNWIND_MAX_CHUNKS; i++) maps.put(versionOf(BigInt(i)), TABLE);
		assert.equal(held(), UNWIND_MAX_CHUNKS);
		assert.equal(maps.lacksRoom, false);
	});
});

test('a table for whose rows there is no room leaves the room of its pages to others', () => {
	/** Two pages so far from each other that there is room for one such table. */
	const wide = (counts: readonly [number, number]): PackedTable => ({
		...TABLE,
		pages: Uint32Array.of(0, Math.ceil(UNWIND_MAX_PAGES / 2)),
		counts: Uint32Array.from(counts),
		rows: new Uint32Array(counts[0] + counts[1]),
	});
	withMaps((maps, held) => {
		maps.put(versionOf(1n), wide([1, UNWIND_CHUNK_ROWS + 1]));
		assert.equal(held(), 0);
		maps.put(versionOf(2n), wide([1, 1]));
		assert.equal(held(), 1);
	});
});
