import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	debugFileUrl,
	debuginfodSettings,
	isDebuginfodSet,
} from '../../../../src/symbolize/debuginfod/settings.js';

const hrefs = (urls: string) => debuginfodSettings({ DEBUGINFOD_URLS: urls }).servers.map(String);
const unusable = (urls: string) => debuginfodSettings({ DEBUGINFOD_URLS: urls }).unusable;

test('nothing is set without a URL in the variable', () => {
	assert.equal(isDebuginfodSet({}), false);
	assert.equal(isDebuginfodSet({ DEBUGINFOD_URLS: ' \t' }), false);
	assert.equal(isDebuginfodSet({ DEBUGINFOD_URLS: 'http://x' }), true);
});

test('URLs: separated by blanks, in order, each once', () => {
	assert.deepEqual(
		hrefs(' http://b.example.org\n https://a.example.org/x/ http://b.example.org '),
		['http://b.example.org/', 'https://a.example.org/x/'],
	);
});

test('what cannot be asked is said, and no password with it', () => {
	assert.deepEqual(hrefs('ftp://u:secret@a.example.org secret http://b.example.org'), [
		'http://b.example.org/',
	]);
	const said = unusable('ftp://u:secret@a.example.org secret');
	assert.deepEqual(said, [
		'ftp://a.example.org: not an http or https URL',
		'a word: not an http or https URL',
	]);
});

test('URLs whose signatures are to be verified are not asked', () => {
	const urls = 'http://a.x ima:enforcing http://b.x ima:ignore http://c.x';
	assert.deepEqual(hrefs(urls), ['http://a.x/', 'http://c.x/']);
	assert.match(unusable(urls).join(), /^b\.x: .*ima:enforcing/);
});

test('where a file is, with and without a slash at the end', () => {
	for (const server of ['http://x/y', 'http://x/y/'])
		assert.equal(debugFileUrl(new URL(server), 'abcd').href, 'http://x/y/buildid/abcd/debuginfo');
	assert.equal(debugFileUrl(new URL('http://x'), 'ab').href, 'http://x/buildid/ab/debuginfo');
});

test('limits: as the variables say; bounded where they say nothing', () => {
	const unset = debuginfodSettings({});
	assert.equal(unset.timeout_ms, 90_000);
	assert.equal(unset.maxTime_ms, Infinity);
	for (const limit of [unset.maxTotal_ms, unset.maxFile_bytes, unset.maxTotal_bytes])
		assert.ok(Number.isFinite(limit));
	const set = debuginfodSettings({
		DEBUGINFOD_TIMEOUT: '5',
		DEBUGINFOD_MAXTIME: '1000',
		DEBUGINFOD_MAXSIZE: '5000000000',
	});
	assert.deepEqual(
		[set.timeout_ms, set.maxTime_ms, set.maxTotal_ms, set.maxFile_bytes, set.maxTotal_bytes],
		[5000, 1_000_000, 1_000_000, 5e9, 5e9],
	);
	const small = debuginfodSettings({ DEBUGINFOD_MAXSIZE: '10', DEBUGINFOD_MAXTIME: '7' });
	assert.deepEqual([small.maxFile_bytes, small.maxTime_ms], [10, 7000]);
	assert.equal(small.maxTotal_ms, unset.maxTotal_ms);
	// As atol reads them: no limit of the user's.
	const none = debuginfodSettings({
		DEBUGINFOD_TIMEOUT: 'soon',
		DEBUGINFOD_MAXTIME: '-3',
		DEBUGINFOD_MAXSIZE: '',
	});
	assert.equal(none.timeout_ms, Infinity);
	assert.deepEqual(
		[none.maxTime_ms, none.maxTotal_ms, none.maxFile_bytes],
		[Infinity, unset.maxTotal_ms, unset.maxFile_bytes],
	);
});

test('times that are meant as “for ever” fit into a timer of node', () => {
	const times = { DEBUGINFOD_TIMEOUT: '9999999', DEBUGINFOD_MAXTIME: '99999999999' };
	const { timeout_ms, maxTime_ms, maxTotal_ms } = debuginfodSettings(times);
	for (const time_ms of [timeout_ms, maxTime_ms, maxTotal_ms])
		assert.ok(time_ms > 20 * 86_400_000 && time_ms < 2 ** 31, `${time_ms}`);
});
