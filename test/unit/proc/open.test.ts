import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SymbolError } from '../../../src/elf/bytes.js';
import { beginningOf, openIf, openRegular, readFile } from '../../../src/proc/open.js';
import { temporaryFolder } from '../symbolize/support.js';
import { questions } from './asked.js';
import { fakeProc } from './fake-proc.js';

const folder = temporaryFolder();
const path = join(folder, 'file');
writeFileSync(path, 'text');

test('regular files', () => {
	const file = openRegular(path) ?? assert.fail();
	assert.equal(readFileSync(file.fd, 'utf8'), 'text');
	assert.equal(file.stat.size, 4);
	closeSync(file.fd);
});

test('nothing else: pipes would wait, devices do something', () => {
	const pipe = join(folder, 'pipe');
	execFileSync('mkfifo', [pipe]);
	const others = [pipe, folder, '/dev/null', '/dev/tty', join(folder, 'none'), `${path}/x`, '\0'];
	for (const other of others) assert.equal(openRegular(other), undefined, other);
});

test('links, where they are followed', () => {
	const link = join(folder, 'link');
	symlinkSync(path, link);
	assert.equal(openRegular(link, { follow: false }), undefined);
	const file = openRegular(link) ?? assert.fail();
	closeSync(file.fd);
});

test('what does not pass the test is closed again', () => {
	const open = () => readFileSync('/proc/self/stat') && openIf(path, () => false);
	const before = openIf(path, () => true) ?? assert.fail();
	closeSync(before.fd);
	assert.equal(open(), undefined);
	const after = openIf(path, ({ size }) => size === 4) ?? assert.fail();
	assert.equal(after.fd, before.fd);
	closeSync(after.fd);
});

const descriptors = () => readdirSync('/proc/self/fd').length;

test('what is made of a file, of one that is damaged, and of none; nothing stays open', () => {
	const before = descriptors();
	const damage = new SymbolError('damaged');
	const bug = new TypeError('ours');
	const read = (use: () => string, file = openRegular(path)) =>
		readFile(file, use, (error) => (error ? `not: ${error.message}` : 'none'));
	assert.equal(
		readFile(
			openRegular(path),
			(bytes) => bytes.read(0, bytes.size_bytes).toString(),
			() => '',
		),
		'text',
	);
	const fails = (error: Error) => () => {
		throw error;
	};
	assert.equal(read(fails(damage)), 'not: damaged');
	assert.equal(
		readFile(
			undefined,
			() => 'some',
			(error) => `${error}`,
		),
		'undefined',
	);
	assert.throws(() => read(fails(bug)), bug);
	assert.equal(openRegular(folder), undefined);
	assert.equal(openRegular(join(folder, 'none')), undefined);
	assert.equal(descriptors(), before);
});

test('the beginning of a file: 256 bytes at most, each a letter; nothing stays open', () => {
	const before = descriptors();
	const script = join(folder, 'script');
	writeFileSync(script, '#!/bin/sh\n\u00fc');
	assert.equal(beginningOf(script), '#!/bin/sh\n\u00c3\u00bc');
	const long = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
	writeFileSync(script, long);
	assert.equal(beginningOf(script), long.toString('latin1', 0, 256));
	writeFileSync(script, '');
	assert.equal(beginningOf(script), '');
	assert.equal(beginningOf(folder), undefined);
	assert.equal(descriptors(), before);
});

test('a file of a mount that does not answer is not opened, unless somebody knows that it does', async (t) => {
	const ask = questions(t);
	const mounts = `none / ext4 rw 0 0\nserver:/x ${folder} nfs4 rw 0 0\n`;
	const links = { '/proc/self/ns/mnt': 'mnt:[opened]', '/proc/self/root': '/' };
	fakeProc(t, { files: { '/proc/self/mounts': mounts }, links });
	ask.silence();
	assert.equal(openRegular(path), undefined);
	assert.equal(beginningOf(path), undefined);
	const file = openRegular(path, { asked: true }) ?? assert.fail();
	closeSync(file.fd);
	await ask.speak();
	assert.equal(beginningOf(path), 'text');
});
