import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { MEMORY_PATH, parseMaps } from '../../../src/proc/maps.js';

const MAPS = `5558dbaa6000-5558dbaa8000 r--p 00000000 fe:00 260386                     /usr/bin/head
5558dbaa8000-5558dbaae000 r-xp 00002000 fe:00 260386                     /usr/bin/head
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f0000002000-7f0000003000 r-xp 00001000 103:0a 12 /tmp/my lib.so (deleted)
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`;

test('executable mappings, with files and without', () => {
	const entries = parseMaps(MAPS);
	assert.deepEqual(
		entries.map(({ path }) => path),
		['/usr/bin/head', '', '/tmp/my lib.so', '[vdso]'],
	);
	assert.deepEqual(entries[0], {
		start: 0x5558dbaa8000,
		end: 0x5558dbaae000,
		fileOffset: 0x2000,
		major: 0xfe,
		minor: 0,
		inode: 260386,
		path: '/usr/bin/head',
	});
	assert.deepEqual([entries[2]?.major, entries[2]?.minor], [0x103, 0x0a]);
});

test('the last line may have no end; only at its end a path says that its file was deleted', () => {
	const line = '1000-2000 r-xp 0 0:0 1 /a (deleted)/b';
	assert.deepEqual(
		parseMaps(line).map(({ path }) => path),
		['/a (deleted)/b'],
	);
	assert.equal(parseMaps(`${line} (deleted)`)[0]?.path, '/a (deleted)/b');
});

test('memory that is a file only by name', () => {
	for (const path of ['/memfd:jit', '/dev/zero', '/dev/shm/x', '/SYSV00000001', '/anon_hugepage'])
		assert.match(path, MEMORY_PATH);
	for (const path of ['/dev/zero.so', '/usr/dev/shm/x', '/srv/memfd:x', '/dev/shmem', '[heap]'])
		assert.doesNotMatch(path, MEMORY_PATH);
});

test('however many mappings there are, and however high', () => {
	const line = (start: number) =>
		`${start.toString(16)}-${(start + 1).toString(16)} r-xp 0 0:0 1 /x\n`;
	const lines = Array.from({ length: 5000 }, (_, i) => line(4096 * i));
	assert.equal(parseMaps(lines.join('')).length, 5000);
	// Five levels of pages.
	assert.equal(parseMaps(line(2 ** 52))[0]?.start, 2 ** 52);
});

test('our own', () => {
	const entries = parseMaps(readFileSync('/proc/self/maps', 'utf8'));
	assert.ok(entries.some(({ path }) => path === process.execPath));
	assert.ok(entries.some(({ path }) => path === '[vdso]'));
});

test('any text: what is well-formed, and nothing else', () => {
	const characters = fc.constantFrom(...'0123456789abcdef-rwxp :/\n[]é');
	const text = fc.array(characters, { maxLength: 200 }).map((all) => all.join(''));
	fc.assert(
		fc.property(text, (noise) => {
			for (const { start, end, path } of parseMaps(noise + MAPS)) {
				assert.ok(start < end);
				assert.doesNotMatch(path, /\n/);
			}
		}),
	);
	const [entry] = parseMaps(`1000-2000 r-xp 0 0:0 1 /${'a'.repeat(100_000)}\n`);
	assert.equal(entry?.path.length, 4096);
});
