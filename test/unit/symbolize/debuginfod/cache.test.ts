import assert from 'node:assert/strict';
import {
	chmodSync,
	chownSync,
	closeSync,
	lchownSync,
	mkdirSync,
	readdirSync,
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

/** Only root can give files to others. */
const AS_ROOT = process.getuid?.() === 0 ? {} : { skip: 'needs root, to give files to others' };
const [OTHER, GROUP] = [65_531, 65_532];

test(
	'folders and links of others are not ours, nor are those that their groups may write to',
	AS_ROOT,
	() => {
		const folder = temporaryFolder();
		const [theirs, shared, ours] = ['theirs', 'shared', 'ours'].map((name) =>
			join(folder, name),
		) as [string, string, string];
		for (const path of [theirs, shared, ours]) mkdirSync(path);
		chownSync(theirs, OTHER, 0);
		for (const create of [true, false])
			assert.throws(() => ownFolder(theirs, { create }), /theirs belongs to user 65531$/);
		assert.throws(() => ownFolder(join(theirs, 'x'), { create: true }), /theirs belongs to user/);
		symlinkSync(ours, join(folder, 'link'));
		assert.equal(ownFolder(join(folder, 'link')), ours);
		lchownSync(join(folder, 'link'), OTHER, 0);
		assert.throws(() => ownFolder(join(folder, 'link')), /link belongs to user 65531$/);
		chmodSync(shared, 0o775);
		assert.equal(ownFolder(shared), shared, 'of our own group');
		chownSync(shared, 0, GROUP);
		assert.throws(() => ownFolder(shared), /other users may write to .*shared$/);
		chmodSync(shared, 0o755);
		assert.equal(ownFolder(shared), shared);
	},
);

test('with the environment of another user, the cache is in our own home', AS_ROOT, () => {
	const [home, theirs] = [temporaryFolder(), temporaryFolder()];
	chownSync(theirs, OTHER, 0);
	const own = join(home, '.cache/debuginfod_client');
	assert.equal(cacheFolder({ HOME: theirs }, home), own);
	assert.equal(cacheFolder({ HOME: join(theirs, 'not/yet') }, home), own);
	assert.equal(cacheFolder({ HOME: home, XDG_CACHE_HOME: join(theirs, 'x') }, '/none'), own);
	// It was said in so many words.
	assert.equal(cacheFolder({ HOME: home, DEBUGINFOD_CACHE_PATH: theirs }, home), theirs);
});

test('what is on its way goes with the process; nothing stays open', () => {
	const folder = temporaryFolder();
	const cache = new DebugFileCache(folder);
	const descriptors = () => readdirSync('/proc/self/fd').length;
	const [before, listeners] = [descriptors(), process.listenerCount('exit')];
	const partial = cache.begin(ID);
	assert.equal(process.listenerCount('exit'), listeners + 1);
	const [name = ''] = readdirSync(join(folder, ID));
	assert.equal(statSync(join(folder, ID, name)).mode & 0o777, 0o600);
	partial.discard();
	cache.recordMiss(ID);
	assert.equal(cache.open(ID), undefined);
	const kept = cache.begin(ID);
	kept.write(Buffer.from('x'));
	kept.keep();
	assert.equal(process.listenerCount('exit'), listeners);
	assert.equal(descriptors(), before);
});

test('what is empty and no file is no miss; a long miss time is read as far as it is a number', () => {
	const folder = temporaryFolder();
	const cache = new DebugFileCache(folder);
	mkdirSync(join(folder, ID, 'debuginfo'), { recursive: true });
	symlinkSync('/none', join(folder, ID.slice(4)));
	assert.equal(cache.isMiss(ID), false);
	assert.equal(cache.isMiss(ID.slice(4)), false);
	const other = ID.slice(0, 8);
	cache.recordMiss(other);
	writeFileSync(join(folder, 'cache_miss_s'), '0');
	ago(join(folder, other, 'debuginfo'), 1);
	assert.equal(cache.isMiss(other), false);
	writeFileSync(join(folder, 'cache_miss_s'), 'soon');
	assert.equal(cache.isMiss(other), true);
});
