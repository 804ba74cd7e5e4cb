/** Where debug files are looked for, in which order, and which are believed. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { openRegular } from '../../../../src/proc/open.js';
import type { DebugFileCache } from '../../../../src/symbolize/debuginfod/cache.js';
import {
	crc32,
	type DebugFilePlaces,
	openDebugFile,
} from '../../../../src/symbolize/symbols/debug-files.js';
import { elfOf, type SectionSpec } from '../../hostile/elf-builder.js';
import { temporaryFolder } from '../support.js';

const ID = 'abcdef01';

/** GNU's note with a build-id. */
function noteOf(id: string): SectionSpec {
	const bytes = Buffer.from(id, 'hex');
	const head = Buffer.alloc(12);
	for (const [i, value] of [4, bytes.length, 3].entries()) head.writeUInt32LE(value, 4 * i);
	return {
		...{ name: '.note.gnu.build-id', type: 7 },
		data: Buffer.concat([head, Buffer.from('GNU\0'), bytes]),
	};
}

/** A name and a checksum. */
function linkTo(name: string, crc: number): SectionSpec {
	const data = Buffer.alloc(((name.length + 4) & ~3) + 4);
	data.write(name);
	data.writeUInt32LE(crc, data.length - 4);
	return { name: '.gnu_debuglink', data };
}

const elfWith = (...sections: readonly SectionSpec[]) =>
	new Elf(new MemoryBytes(elfOf({ sections })));

/** A debug file that is told from others by a section. */
const debugFile = (mark: string, id?: string) =>
	elfOf({ sections: [{ name: `.${mark}` }, ...(id ? [noteOf(id)] : [])] });

const checksum = (file: Buffer) => crc32(new MemoryBytes(file)) ?? assert.fail();

function put(path: string, file: Buffer): void {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, file);
}

const descriptors = () => readdirSync('/proc/self/fd').length;

/** The mark of the file that is found; undefined: none is. Nothing stays open. */
function foundBy(elf: Elf, path: string, places: DebugFilePlaces): string | undefined {
	const before = descriptors();
	const found = openDebugFile(elf, path, places);
	const mark = found?.elf.sections[1]?.name.slice(1);
	found?.close();
	assert.equal(descriptors(), before, 'something stays open');
	return mark;
}

test('by build-id in each root, in their order; then in the cache', () => {
	const [first, second] = [temporaryFolder(), temporaryFolder()];
	const cached = join(temporaryFolder(), 'debuginfo');
	const cache = {
		open: (id: string) => (id === ID ? openRegular(cached) : assert.fail(id)),
	} as unknown as DebugFileCache;
	const elf = elfWith(noteOf(ID));
	const find = () => foundBy(elf, '/usr/bin/app', { roots: [first, second], cache });
	assert.equal(find(), undefined);
	put(cached, debugFile('cached', ID));
	assert.equal(find(), 'cached');
	assert.equal(foundBy(elf, '/usr/bin/app', { roots: [first] }), undefined);
	const place = 'usr/lib/debug/.build-id/ab/cdef01.debug';
	put(join(second, place), debugFile('second', ID));
	assert.equal(find(), 'second');
	put(join(first, place), debugFile('first', ID));
	assert.equal(find(), 'first');
	// What is damaged, or of another build, is passed over.
	put(join(first, place), Buffer.from('no ELF file'));
	assert.equal(find(), 'second');
	put(join(first, place), debugFile('other', 'abcdef02'));
	assert.equal(find(), 'second');
	// The cache says nothing of what has no build-id.
	assert.equal(foundBy(elfWith(), '/usr/bin/app', { roots: [first], cache }), undefined);
});

test('by its name: beside the program, in .debug there, or below /usr/lib/debug; in each root', () => {
	const [first, second] = [temporaryFolder(), temporaryFolder()];
	const file = debugFile('linked');
	const elf = elfWith(linkTo('app.debug', checksum(file)));
	for (const [root, place] of [
		[second, 'usr/lib/debug/opt/bin/app.debug'],
		[second, 'opt/bin/.debug/app.debug'],
		[second, 'opt/bin/app.debug'],
		[first, 'usr/lib/debug/opt/bin/app.debug'],
		[first, 'opt/bin/.debug/app.debug'],
		[first, 'opt/bin/app.debug'],
	] as const) {
		const places = { roots: [first, second] };
		put(join(root, place), debugFile('another'));
		assert.equal(foundBy(elf, '/opt/bin/app', places), undefined, 'another checksum');
		put(join(root, place), file);
		assert.equal(foundBy(elf, '/opt/bin/app', places), 'linked', place);
		put(join(root, place), Buffer.alloc(0));
	}
	// One that names the program itself means the others.
	const own = elfWith(linkTo('app', checksum(file)));
	put(join(first, 'opt/bin/app'), file);
	assert.equal(foundBy(own, '/opt/bin/app', { roots: [first] }), undefined);
	put(join(first, 'opt/bin/.debug/app'), file);
	assert.equal(foundBy(own, '/opt/bin/app', { roots: [first] }), 'linked');
});

test('where both have a build-id that counts, and else the checksum', () => {
	const root = temporaryFolder();
	const place = join(root, 'opt/app.debug');
	const find = (elf: Elf) => foundBy(elf, '/opt/app', { roots: [root] });
	put(place, debugFile('same', ID));
	assert.equal(find(elfWith(noteOf(ID), linkTo('app.debug', 1))), 'same');
	assert.equal(find(elfWith(linkTo('app.debug', 1))), undefined);
	// Of which only the program has a build-id.
	const plain = debugFile('plain');
	put(place, plain);
	assert.equal(find(elfWith(noteOf(ID), linkTo('app.debug', checksum(plain)))), 'plain');
	assert.equal(find(elfWith(noteOf(ID), linkTo('app.debug', 1))), undefined);
	put(place, debugFile('same', ID));
	assert.equal(find(elfWith(linkTo('app.debug', checksum(debugFile('same', ID))))), 'same');
	const other = debugFile('other', 'abcdef02');
	put(place, other);
	assert.equal(find(elfWith(noteOf(ID), linkTo('app.debug', checksum(other)))), undefined);
});

test('the checksum of a file that is longer than what is read of it at once', () => {
	const bytes = Buffer.alloc(2 ** 20 + 9, 'x');
	bytes.write('123456789', 2 ** 20);
	// A gzip file ends with the same checksum, and the length.
	const packed = gzipSync(bytes, { level: 1 });
	assert.equal(crc32(new MemoryBytes(bytes)), packed.readUInt32LE(packed.length - 8));
});
