import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openIf, openRegular } from '../../../src/proc/open.js';
import { temporaryFolder } from '../symbolize/support.js';

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
