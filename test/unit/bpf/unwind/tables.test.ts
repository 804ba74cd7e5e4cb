/** What programs are told of files and their tables, and who gives room to others. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
	unwind_file as FILE,
	unwind_file_key as FILE_KEY,
	unwind_request as REQUEST,
	unwind_file_state as STATE,
	unwind_constant as UNWIND,
} from '../../../../src/generated/common.js';
import { structs } from '../../tools/structs.js';
import { fileOf, opened, PAGE_STRIDE, Programs, SECOND_NS, tableOf } from './table-programs.js';

test('a file without rows has no table; one that could not be read is asked for again', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	maps.put(fileOf(1), undefined);
	maps.put(fileOf(2), tableOf([]));
	for (const number of [1, 2]) {
		const told = programs.ofFile(fileOf(number));
		assert.deepEqual([told?.state, told?.pages], [STATE.UNWIND_FILE_WITHOUT, 0]);
	}
	maps.drop(fileOf(1));
	assert.equal(programs.ofFile(fileOf(1)), undefined);
});

test('a file is another one when it was changed; a table that is there is not placed again', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	const table = tableOf([[1, 1]]);
	maps.put(fileOf(1), table);
	maps.put(fileOf(1, 5n * SECOND_NS + 8n), table);
	assert.equal(programs.files.size, 2);
	maps.nextRound();
	maps.put(fileOf(1), table, 3);
	const { pages_at, runtime, used } = programs.ofFile(fileOf(1)) ?? assert.fail();
	assert.deepEqual([pages_at, runtime, used], [0, 3, 1]);
	// Before 1970 the kernel counts from the second below.
	maps.put(fileOf(2, -1n), undefined);
	const [key = ''] = [...programs.files.keys()].slice(-1);
	const view = new DataView(Uint8Array.from(Buffer.from(key, 'hex')).buffer);
	const { changed_sec, changed_nsec } = FILE_KEY.fields;
	assert.equal(view.getBigInt64(changed_sec.offset, true), -1n);
	assert.equal(view.getUint32(changed_nsec.offset, true), 999_999_999);
});

test('where there is no room, what was not used for longest is forgotten, once no program reads it', (t) => {
	const { programs, maps, large } = full(t);
	// A program has used the first one since.
	for (const file of programs.files.values())
		file.setUint32(
			FILE.fields.used.offset,
			3 - file.getUint32(FILE.fields.used.offset, true),
			true,
		);
	programs.told.length = 0;
	large(3);
	assert.equal(programs.ofFile(fileOf(2)), undefined);
	for (const number of [1, 3]) {
		const told = programs.ofFile(fileOf(number));
		assert.equal(told?.state, STATE.UNWIND_FILE_HAS_TABLE);
	}
	assert.deepEqual(programs.told, ['delete', 'unwind_round 2', 'wait']);
	// In a page of its place that it has not itself there is nothing, either.
	const { pages_at = 0 } = programs.ofFile(fileOf(3)) ?? {};
	const [, ofFirst, ...others] = programs.words(programs.pages, pages_at * PAGE_STRIDE, 16);
	assert.deepEqual([ofFirst, new Set(others)], [1, new Set([0])]);
	assert.equal(maps.lacksRoom, false);
	// What is larger than all of the room has no table, and that is known.
	maps.put(
		fileOf(4),
		tableOf([
			[0, 1],
			[UNWIND.UNWIND_MAX_PAGES, 1],
		]),
	);
	assert.equal(programs.ofFile(fileOf(4))?.state, STATE.UNWIND_FILE_WITHOUT);
	assert.equal(maps.lacksRoom, true);
});

test('files without a table give their places to others when there are very many', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	const most = 0.75 * UNWIND.UNWIND_MAX_FILES;
	for (let i = 0; i < most; i++) maps.put(fileOf(i), undefined);
	maps.nextRound();
	assert.equal(programs.files.size, most);
	maps.put(fileOf(most), undefined);
	maps.nextRound();
	assert.equal(programs.files.size, 0);
	// That is done when it is needed, and not each time from then on.
	maps.put(fileOf(most), undefined);
	maps.nextRound();
	assert.equal(programs.files.size, 1);
});

test('a file that has got its table does not lose it for others that have none', (t) => {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	const oldest = fileOf(90_000);
	maps.put(oldest, tableOf([[1, 1]]));
	const late = fileOf(90_001);
	maps.put(late, undefined);
	maps.put(late, tableOf([[1, 1]]));
	for (let i = 0; i <= 0.75 * UNWIND.UNWIND_MAX_FILES; i++) maps.put(fileOf(i), undefined);
	maps.nextRound();
	assert.equal(programs.files.size, 1);
	assert.equal(programs.ofFile(late)?.state, STATE.UNWIND_FILE_HAS_TABLE);
});

/** Two tables that have most of the room, the second of the next round. */
function full(t: TestContext) {
	const programs = new Programs(t);
	const maps = opened(t, programs);
	const large = (number: number, ...more: readonly (readonly [page: number, rows: number])[]) =>
		maps.put(fileOf(number), tableOf([[0, 1], ...more, [50_000, 1]]));
	large(1);
	maps.nextRound();
	large(2, [7, 1]);
	return { programs, maps, large };
}

test('of two tables the one is forgotten that was used in an earlier round', (t) => {
	const { programs, large } = full(t);
	large(3);
	assert.equal(programs.ofFile(fileOf(1)), undefined);
	// One that was forgotten is placed anew, and not where another one is now.
	large(1);
	const places = [1, 2, 3].flatMap((number) => programs.ofFile(fileOf(number))?.pages_at ?? []);
	assert.deepEqual([places.length, new Set(places).size], [2, 2]);
	assert.equal(programs.ofFile(fileOf(1))?.state, STATE.UNWIND_FILE_HAS_TABLE);
});

test('what programs ask for: which file, where it is mapped, and by whom', (t) => {
	const key = { inode: 2n ** 60n, device: 0x801, changed_sec: 5, changed_nsec: 7 };
	const file = new Uint8Array(structs(FILE_KEY, [key]).buffer as ArrayBuffer);
	const request = structs(REQUEST, [{ file, start: 0x7f00_0000, end: 0x7f00_9000, tgid: 70 }]);
	const programs = new Programs(t, [new Uint8Array(request.buffer as ArrayBuffer)]);
	const maps = opened(t, programs);
	const identity = { inode: 2n ** 60n, device: 0x801, changed_ns: 5n * SECOND_NS + 7n };
	assert.deepEqual(maps.requests(), [
		{ ...identity, pid: 70, start: 0x7f00_0000, end: 0x7f00_9000 },
	]);
	assert.deepEqual(maps.requests(), []);
	// Told as it was asked for.
	maps.put(identity, undefined);
	assert.equal(programs.ofFile(identity)?.state, STATE.UNWIND_FILE_WITHOUT);
});
