/** Unwind tables in the kernel's memory: what is given to it again takes no more of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FileIdentity, UnwindMaps } from '../../src/bpf/unwind/tables.js';
import { profile } from '../../src/generated/profile.js';
import { BpfObject } from '../../src/loader/object.js';
import type { PackedTable } from '../../src/unwind/packed-table.js';

const { UNWIND_CHUNK_ROWS, UNWIND_MAX_CHUNKS } = profile.enums.unwind_constant;
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

test('a file\u2019s table that comes again takes no room, another version\u2019s does', () => {
	const object = new BpfObject(`dist/bpf/${process.arch}/profile.bpf.o`, profile);
	const maps = new UnwindMaps(object);
	try {
		maps.configure();
		object.load([]);
		maps.open();
		for (let i = 0; i < 2 * UNWIND_MAX_CHUNKS; i++) maps.put(versionOf(1n), TABLE);
		assert.equal(maps.lacksRoom, false);
		const held = () => {
			let files = 0;
			object.map('unwind_files').readAll((_keys, _values, count) => {
				files += count;
			});
			return files;
		};
		assert.equal(held(), 1);
		for (let i = 0; i < UNWIND_MAX_CHUNKS; i++) maps.put(versionOf(BigInt(i)), TABLE);
		assert.equal(held(), UNWIND_MAX_CHUNKS);
		assert.equal(maps.lacksRoom, false);
	} finally {
		maps.close();
		object.close();
	}
});
