import assert from 'node:assert/strict';
import {
	chmodSync,
	closeSync,
	mkdirSync,
	readFileSync,
	statfsSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cacheFolder, DebugFileCache } from '../../../../src/symbolize/debuginfod/cache.js';
import { FolderError, ownFolder } from '../../../../src/symbolize/debuginfod/own-folder.js';
import { temporaryFolder } from '../support.js';
import { filesIn } from './support.js';

const ID = 'abcdef0123456789';

function ago(path: string, seconds: number): void {
	const time = new Date(Date.now() - seconds * 1000);
	utimesSync(path, time, time);
}

test('a file is there when it is whole, and only then', () => {
	const folder = join(temporaryFolder(), 'new', 'cache');
	const cache = new DebugFileCache(folder);
	assert.equal(cache.open(ID), undefined);
	const kept = cache.begin(ID);
	kept.write(Buffer.from('first, longer'));
	kept.empty();
	kept.write(Buffer.from('abc'));
	assert.equal(cache.open(ID), undefined);
	assert.equal(cache.isMiss(ID), false);
	kept.keep();
	kept.discard();
	const file = cache.open(ID);
	assert.equal(file?.stat.size, 3);
	assert.equal(cache.isMiss(ID), false);
	if (file) closeSync(file.fd);
	assert.deepEqual(filesIn(folder), [`${ID}/debuginfo`]);
	assert.equal(readFileSync(join(folder, ID, 'debuginfo'), 'utf8'), 'abc');
	assert.equal(statSync(join(folder, ID, 'debuginfo')).mode & 0o777, 0o400);
	assert.equal(statSync(join(folder, ID)).mode & 0o777, 0o700);
});

test('a download may take half of what is free', () => {
	const folder = temporaryFolder();
	const partial = new DebugFileCache(folder).begin(ID);
	const { bavail, bsize } = statfsSync(folder);
	const share = partial.room_bytes() / (bavail * bsize);
	partial.discard();
	// Others write there, too.
	assert.ok(share > 0.4 && share < 0.6, `${share}`);
});

test('a file that is given up leaves nothing: no miss, no folder', () => {
	const folder = temporaryFolder();
	const cache = new DebugFileCache(folder);
	const partial = cache.begin(ID);
	partial.write(Buffer.from('abc'));
	partial.discard();
	partial.discard();
	assert.equal(cache.isMiss(ID), false);
	assert.deepEqual(filesIn(folder), []);
	assert.throws(() => statSync(join(folder, ID)), /ENOENT/);
});

test('a miss is an empty file, for a while, and never takes the place of a file', () => {
	const folder = temporaryFolder();
	const cache = new DebugFileCache(folder);
	cache.recordMiss(ID);
	const path = join(folder, ID, 'debuginfo');
	assert.equal(statSync(path).size, 0);
	assert.equal(cache.isMiss(ID), true);
	assert.equal(cache.open(ID), undefined);
	ago(path, 590);
	assert.equal(cache.isMiss(ID), true);
	ago(path, 610);
	assert.equal(cache.isMiss(ID), false);
	// It begins anew.
	cache.recordMiss(ID);
	assert.equal(cache.isMiss(ID), true);
	writeFileSync(join(folder, 'cache_miss_s'), '20\n');
	ago(path, 30);
	assert.equal(cache.isMiss(ID), false);
	ago(path, 10);
	assert.equal(cache.isMiss(ID), true);
	writeFileSync(path, 'x');
	cache.recordMiss(ID);
	assert.equal(readFileSync(path, 'utf8'), 'x');
});

test('what a killed client left goes, once it is old', () => {
	const folder = temporaryFolder();
	const cache = new DebugFileCache(folder);
	mkdirSync(join(folder, ID));
	for (const name of ['debuginfo.Ab12Cd', 'debuginfo.0123456789', 'source##x'])
		writeFileSync(join(folder, ID, name), 'x');
	ago(join(folder, ID, 'debuginfo.Ab12Cd'), 2 * 86_400);
	ago(join(folder, ID, 'source##x'), 2 * 86_400);
	cache.begin(ID).discard();
	assert.deepEqual(filesIn(folder).sort(), [`${ID}/debuginfo.0123456789`, `${ID}/source##x`]);
});

test('a link is not followed to a file, and no build-id leads elsewhere', () => {
	const folder = temporaryFolder();
	const cache = new DebugFileCache(folder);
	writeFileSync(join(folder, 'elsewhere'), 'secret');
	mkdirSync(join(folder, ID));
	symlinkSync(join(folder, 'elsewhere'), join(folder, ID, 'debuginfo'));
	assert.equal(cache.open(ID), undefined);
	assert.equal(cache.isMiss(ID), false);
	const partial = cache.begin(ID);
	partial.write(Buffer.from('new'));
	partial.keep();
	assert.equal(readFileSync(join(folder, 'elsewhere'), 'utf8'), 'secret');
	assert.equal(readFileSync(join(folder, ID, 'debuginfo'), 'utf8'), 'new');
	for (const id of ['../abcd', 'abcd/..', '', 'ABCD', 'abc']) {
		assert.throws(() => cache.begin(id), FolderError);
		assert.equal(cache.open(id), undefined);
	}
});

test('folders where others may write are refused, but for those that keep users apart', () => {
	const folder = temporaryFolder();
	const open = join(folder, 'open');
	mkdirSync(open);
	chmodSync(open, 0o777);
	assert.throws(() => ownFolder(open, { create: true }), /other users may write to .*\/open$/);
	assert.throws(() => ownFolder(join(open, 'x'), { create: true }), /other users may write/);
	assert.throws(() => new DebugFileCache(join(open, 'x')).begin(ID), FolderError);
	assert.deepEqual(filesIn(open), []);
	chmodSync(open, 0o1777);
	assert.throws(() => ownFolder(open, { create: true }), /other users may write/);
	assert.equal(ownFolder(join(open, 'x'), { create: true }), join(open, 'x'));
	assert.equal(statSync(join(open, 'x')).mode & 0o777, 0o700);
});

test('the way to a folder: links, loops, files, what is not there', () => {
	const folder = temporaryFolder();
	mkdirSync(join(folder, 'a'));
	symlinkSync('../a/./b', join(folder, 'a', 'up'));
	symlinkSync(join(folder, 'a'), join(folder, 'whole'));
	symlinkSync('loop', join(folder, 'loop'));
	writeFileSync(join(folder, 'file'), '');
	assert.throws(() => ownFolder(join(folder, 'whole/up')), /a\/b: ENOENT$/);
	assert.equal(ownFolder(join(folder, 'whole/up/c'), { create: true }), join(folder, 'a/b/c'));
	assert.equal(ownFolder(join(folder, 'whole/up')), join(folder, 'a/b'));
	assert.throws(() => ownFolder(join(folder, 'loop')), /too many links/);
	assert.throws(() => ownFolder(join(folder, 'file')), /file is no folder/);
	assert.throws(() => ownFolder(join(folder, 'file/x'), { create: true }), FolderError);
});

test('where the cache is', () => {
	const home = temporaryFolder();
	assert.equal(cacheFolder({ DEBUGINFOD_CACHE_PATH: '/x', HOME: home }), '/x');
	const standard = join(home, '.cache/debuginfod_client');
	assert.equal(cacheFolder({ HOME: home }), standard);
	assert.equal(cacheFolder({ HOME: home, DEBUGINFOD_CACHE_PATH: '' }), standard);
	const xdg = join(home, 'not yet');
	assert.equal(cacheFolder({ HOME: home, XDG_CACHE_HOME: xdg }), join(xdg, 'debuginfod_client'));
	assert.equal(cacheFolder({}, home), standard);
	mkdirSync(join(home, '.debuginfod_client_cache'));
	assert.equal(cacheFolder({ HOME: home }), join(home, '.debuginfod_client_cache'));
});
