import assert from 'node:assert/strict';
import { closeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CapturedStack } from '../../../../src/aggregate/stack.js';
import { openRegular } from '../../../../src/proc/open.js';
import { Place } from '../../../../src/symbolize/code-place.js';
import { MappedFile } from '../../../../src/symbolize/mappings/mapped-file.js';
import { MissingFrames, withinStack } from '../../../../src/symbolize/walks/missing-frames.js';
import { many, program } from '../frames-writer.js';
import { temporaryFolder } from '../support.js';

const placesOf = (names: string) =>
	names.split(' ').map((name) => new Place({ name, kind: 'user' }));

const GO = 'runtime.futex.abi0 runtime.schedule';
/** Leaf first; what was walked, and what of it is the stack. */
const STACKS = {
	// Behind them lies what was there before.
	[`${GO} runtime.mcall runtime.newproc.abi0`]: `${GO} runtime.mcall`,
	[`${GO} runtime.mstart.abi0 runtime.clone.abi0 main.main runtime.goexit`]: `${GO} runtime.mstart.abi0 runtime.clone.abi0`,
	// It is still on the stack of the goroutine, and of the thread that makes another one.
	'runtime.mcall runtime.gopark runtime.goexit': 'runtime.mcall runtime.gopark runtime.goexit',
	'runtime.clone runtime.newosproc runtime.mstart':
		'runtime.clone runtime.newosproc runtime.mstart',
	'runtime.futex runtime.mcaller elsewhere': 'runtime.futex runtime.mcaller elsewhere',
};

test('stacks of Go begin with its scheduler or with its thread, whatever lies behind', () => {
	for (const [walked, stack] of Object.entries(STACKS)) {
		assert.equal(
			withinStack(placesOf(walked))
				.map(({ frame }) => frame.name)
				.join(' '),
			stack,
		);
	}
});

/** A stack whose walk took this many frames. */
const captured = (frames: number, userEnd?: CapturedStack['userEnd']) =>
	({ userEnd, user: Array.from({ length: frames }, () => 0) }) as unknown as CapturedStack;

test('a stack that begins so is whole, however the walk ended', () => {
	const missing = new MissingFrames();
	for (const userEnd of [undefined, 'guessed', 'at zero', 'no table', 'no way on'] as const) {
		const cutOf = (names: string) => missing.of(captured(2, userEnd), placesOf(names), 127).cut;
		assert.equal(cutOf(`${GO} runtime.mcall`), undefined, userEnd);
		assert.equal(cutOf(`${GO} runtime.mstart.abi0 runtime.clone.abi0`), undefined, userEnd);
		assert.notEqual(cutOf(`${GO} runtime.systemstack.abi0`), undefined, userEnd);
	}
});

const folder = temporaryFolder();

/** A C library whose functions keep a frame pointer or not, and of which all symbols are there or not. */
function libraryOf(missing: MissingFrames, frame: boolean, complete: boolean): MappedFile {
	const path = join(folder, `${frame}`);
	writeFileSync(path, program(many(20, 64, frame)));
	const open = openRegular(path) ?? assert.fail();
	const file = new MappedFile('/lib/libc.so.6', 1, 0, 0);
	missing.addFile(file, open, { names: [], known: [], buildId: undefined, complete });
	closeSync(open.fd);
	return file;
}

/** A place in a file that lacks its name or not. */
function placeIn(file: MappedFile | undefined, name: string, lacks?: Place['lacks']): Place {
	const place = new Place({ name, kind: 'user' }, file);
	place.lacks = lacks;
	return place;
}

const [WORK, MAIN, START] = placesOf('work main __libc_start_main');
const named = [WORK, MAIN, START] as Place[];
const cut = named.slice(0, 2);

test('how a walk ended says whether a stack is whole, and why not', () => {
	const missing = new MissingFrames();
	const of = (userEnd: CapturedStack['userEnd'], user: readonly Place[], maxDepth = 127) =>
		missing.of(captured(user.length, userEnd), user, maxDepth);
	assert.deepEqual(of('whole', cut), {});
	assert.deepEqual(of('no table', cut), { cut: 'no table' });
	assert.deepEqual(of('no table', cut, 2), { cut: 'too deep' });
	assert.deepEqual(of('no table', cut, 3), { cut: 'no table' });
	// Functions that were put into the code of others are no frames of the walk.
	assert.deepEqual(missing.of(captured(1, 'no way on'), cut, 2), { cut: 'no way on' });
	assert.deepEqual(of('guessed', named), { cut: undefined });
	assert.deepEqual(of('guessed', cut), { cut: 'no frame pointers' });
	assert.deepEqual(of('guessed', cut, 2), { cut: 'too deep' });
	assert.deepEqual(of('at zero', named), { cut: undefined });
	assert.deepEqual(of('at zero', cut), { cut: 'no way on' });
	// By frame pointers alone.
	assert.deepEqual(of(undefined, named), { cut: undefined, callerMissing: false });
	assert.deepEqual(of(undefined, cut), { cut: 'no frame pointers', callerMissing: false });
});

test('the first functions of threads, of each C library and of Go', () => {
	const missing = new MissingFrames();
	const cutOf = (root: string) => missing.of(captured(2), placesOf(`work ${root}`), 127).cut;
	for (const root of [
		'_start',
		'_dl_start',
		'__libc_start_call_main',
		'start_thread',
		'clone',
		'__clone3',
		'thread_start',
		'runtime.goexit.abi0',
		'runtime.mstart',
		'runtime.rt0_go.abi0',
	])
		assert.equal(cutOf(root), undefined, root);
	for (const root of ['start', 'my_start', 'restart_thread', 'runtime.goexit1', 'clone33'])
		assert.equal(cutOf(root), 'no frame pointers', root);
});

test('a leaf in a C library without frame pointers: its caller is missing, unless it is alone', () => {
	for (const frame of [true, false]) {
		const missing = new MissingFrames();
		const libc = libraryOf(missing, frame, true);
		const of = (...user: readonly Place[]) => missing.of(captured(2), user, 127);
		const read = placeIn(libc, 'read');
		assert.equal(of(read, ...named).callerMissing, !frame);
		assert.equal(of(read).callerMissing, false);
		assert.equal(of(...cut, read).callerMissing, false, 'not the leaf');
		const other = new MappedFile('/lib/libm.so.6', 2, 0, 0);
		assert.equal(of(placeIn(other, 'sin'), ...named).callerMissing, false, 'another file');
	}
});

test('a root without a name, in a C library without symbols, is where its first function is', () => {
	const cutOf = (complete: boolean, lacks: Place['lacks'], alone = false) => {
		const missing = new MissingFrames();
		const root = placeIn(libraryOf(missing, true, complete), 'libc.so.6+0x10', lacks);
		return missing.of(captured(2), alone ? [root] : [...cut, root], 127).cut;
	};
	assert.equal(cutOf(false, 'symbols'), undefined);
	assert.equal(cutOf(true, 'symbols'), 'no frame pointers');
	assert.equal(cutOf(false, undefined), 'no frame pointers');
	assert.equal(cutOf(false, 'symbols', true), 'no frame pointers');
});

test('only of C libraries is it known; others do not count', () => {
	const missing = new MissingFrames();
	const path = join(folder, 'other');
	writeFileSync(path, program(many(20, 64, false)));
	const open = openRegular(path) ?? assert.fail();
	const file = new MappedFile('/usr/lib/libfoo.so.1', 1, 0, 0);
	missing.addFile(file, open, { names: [], known: [], buildId: undefined, complete: false });
	closeSync(open.fd);
	const leaf = missing.of(captured(2), [placeIn(file, 'foo'), ...named], 127);
	assert.equal(leaf.callerMissing, false);
	const root = [...cut, placeIn(file, 'libfoo.so.1+0x10', 'symbols')];
	assert.equal(missing.of(captured(2), root, 127).cut, 'no frame pointers');
});
