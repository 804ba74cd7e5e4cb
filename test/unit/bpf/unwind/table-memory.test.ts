/** Where tables lie in the memory that programs read, and what of it is given back. */
import assert from 'node:assert/strict';
import { fstatSync } from 'node:fs';
import { test } from 'node:test';
import {
	unwind_file_state as STATE,
	unwind_constant as UNWIND,
} from '../../../../src/generated/common.js';
import { pageSizeBytes } from '../../../../src/loader/memory.js';
import type { PackedTable } from '../../../../src/unwind/packed-table.js';
import { fileOf, opened, Programs, tableOf } from './table-programs.js';

test('a table: its rows, where each of its pages has them, and that its file has it', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	assert.deepEqual(programs.constants, {
		...{ walk_by_tables: true, page_bits: Math.log2(pageSizeBytes()) },
	});
	assert.deepEqual(programs.room, {
		unwind_rules: UNWIND.UNWIND_MAX_RULES,
		unwind_pages: UNWIND.UNWIND_MAX_PAGES,
		unwind_files: UNWIND.UNWIND_MAX_FILES,
		unwind_requests: UNWIND.UNWIND_REQUESTS_BYTES,
	});
	maps.put(
		fileOf(1),
		tableOf([
			[5, 2],
			[7, 3],
		]),
	);
	maps.put(fileOf(2), tableOf([[9, 1]]), 6);
	const has = { state: STATE.UNWIND_FILE_HAS_TABLE, runtime: 0, used: 0 };
	assert.deepEqual(programs.ofFile(fileOf(1)), { ...has, pages_at: 0, first_page: 5, pages: 3 });
	assert.deepEqual(programs.ofFile(fileOf(2)), {
		...{ ...has, pages_at: 3, first_page: 9, pages: 1, runtime: 6 },
	});
	// By page: where its rows begin, and how many. Page 6 has none.
	assert.deepEqual(programs.words(programs.pages, 0, 8), [0, 2, 0, 0, 2, 3, 5, 1]);
	const [chunk = -1] = programs.chunks;
	assert.deepEqual(programs.words(chunk, 0, 6), [5000, 5001, 7000, 7001, 7002, 9000]);
	// The new runtime is in files that processes run already.
	assert.deepEqual(programs.told, ['chunk 0 true', 'unwind_round 1']);
	assert.equal(maps.lacksRoom, false);
});

test('rules lie at their numbers', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	const rules = new Uint8Array(Uint32Array.from({ length: 6 }, (_, i) => i + 1).buffer);
	maps.addRules({ ...tableOf([]), rules, firstRule: 3 });
	assert.deepEqual(programs.words(programs.rules, 0, 20).slice(12), [1, 2, 3, 0, 4, 5, 6, 0]);
});

test('a table of which one page has no room takes none', (t) => {
	const programs = new Programs(t);
	programs.mostChunks = 1;
	const maps = opened(t, programs);
	const half = UNWIND.UNWIND_CHUNK_ROWS / 2;
	const rows = (count: number): PackedTable => ({
		...tableOf([]),
		...{ pages: Uint32Array.of(1, 2), counts: Uint32Array.of(half, count) },
		rows: new Uint32Array(half + count),
	});
	maps.put(fileOf(1), rows(half + 1));
	assert.equal(programs.ofFile(fileOf(1))?.state, STATE.UNWIND_FILE_WITHOUT);
	maps.put(fileOf(2), rows(half));
	const { state, pages_at } = programs.ofFile(fileOf(2)) ?? assert.fail();
	assert.deepEqual([state, pages_at], [STATE.UNWIND_FILE_HAS_TABLE, 0]);
	// There is room again when the table that has it is forgotten.
	maps.put(fileOf(3), rows(half - 1));
	assert.equal(programs.ofFile(fileOf(2)), undefined);
	assert.equal(programs.ofFile(fileOf(3))?.state, STATE.UNWIND_FILE_HAS_TABLE);
	maps.close();
	for (const fd of programs.chunks) assert.throws(() => fstatSync(fd), /EBADF/);
});

test('rows that the first chunk has no room for lie in the next one', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	const count = UNWIND.UNWIND_CHUNK_ROWS / 2 + 1;
	maps.put(fileOf(1), {
		...tableOf([]),
		...{ pages: Uint32Array.of(1, 2), counts: Uint32Array.of(count, count) },
		rows: new Uint32Array(2 * count).fill(1, 0, count).fill(2, count),
	});
	assert.deepEqual(programs.told, ['chunk 0 true', 'chunk 1 true']);
	const places = [0, count, UNWIND.UNWIND_CHUNK_ROWS, count];
	assert.deepEqual(programs.words(programs.pages, 0, 4), places);
	assert.deepEqual(
		programs.chunks.map((fd) => programs.words(fd, 0, 1)),
		[[1], [2]],
	);
});

test('a chunk that programs cannot be told of is given back', (t) => {
	const programs = new Programs(t);
	programs.mostInner = 0;
	const maps = opened(t, programs);
	maps.put(fileOf(1), tableOf([[1, 1]]));
	assert.equal(programs.ofFile(fileOf(1))?.state, STATE.UNWIND_FILE_WITHOUT);
	assert.ok(programs.chunks.length > 0);
	for (const fd of programs.chunks) assert.throws(() => fstatSync(fd), /EBADF/);
});
