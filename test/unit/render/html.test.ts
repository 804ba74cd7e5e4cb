import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameTable } from '../../../src/aggregate/frame-table.js';
import { FRAME_KINDS } from '../../../src/aggregate/stack.js';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import { StackTable } from '../../../src/aggregate/stack-table.js';
import {
	MAX_PAGE_DEPTH,
	MAX_PAGE_FUNCTIONS,
	pageData,
	renderHtml,
} from '../../../src/render/html.js';
import { KINDS, type PageData } from '../../../src/render/page-data.js';
import { colourOf } from '../../../src/render/palettes.js';
import { type Look, suitableLook } from '../../../src/render/picture-look.js';
import { anyText } from '../any-text.js';
import { profileOf } from '../profiles.js';

function dataOf(profile: StackProfile, look: Partial<Look> = {}): PageData {
	return pageData(profile, { ...suitableLook(profile), ...look });
}

const whole = (profile: StackProfile) => [...renderHtml(profile, suitableLook(profile))].join('');

test('boxes, functions and colours, by number', () => {
	const profile = profileOf([
		[['main', 'b'], 3],
		[['main', 'a', 'b'], 4],
		[['main'], 1],
	]);
	const data = dataOf(profile);
	assert.deepEqual(data.names, ['a', 'b', 'main']);
	assert.deepEqual(data.self, [0, 7, 1]);
	assert.deepEqual(data.total, [4, 7, 8]);
	const boxes = data.boxes.frame.map((frame, index) => [
		data.names[frame],
		data.boxes.parent[index],
		data.boxes.weight[index],
		data.boxes.self[index],
	]);
	assert.deepEqual(boxes, [
		[undefined, -1, 8, 0],
		['main', 0, 8, 1],
		['a', 1, 4, 0],
		['b', 1, 3, 3],
		['b', 2, 4, 4],
	]);
	const a = colourOf({ name: 'a', kind: 'user' }, suitableLook(profile).palette);
	assert.equal(data.colours.slice(0, 6), a.slice(1));
	assert.deepEqual(data.notes, []);
});

test('nothing in a name begins a tag or a comment, or ends the data', () => {
	const name = fc.oneof(
		anyText(),
		fc.constantFrom('</script>', '<!--', '<script', ']]>', '\u2028', '\u2029'),
	);
	fc.assert(
		fc.property(fc.array(name, { minLength: 1 }), (names) => {
			const page = whole(profileOf(names.map((each) => [[each], 1] as const)));
			const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(
				page,
			) as RegExpExecArray;
			assert.doesNotMatch(json as string, /[<\u2028\u2029]/);
			const data = JSON.parse(json as string) as PageData;
			assert.equal(
				data.names.length,
				new Set(names.map((each) => Buffer.from(each).toString())).size,
			);
			assert.equal(page.match(/<script/g)?.length, 2);
		}),
	);
});

test('the policy names what the page has, and nothing else', () => {
	const page = whole(profileOf([[['main'], 1]]));
	const [, policy] = /Content-Security-Policy" content="([^"]*)"/.exec(page) as RegExpExecArray;
	const hash = (text = '') => createHash('sha256').update(text).digest('base64');
	const script = /<script>(.*?)<\/script>/s.exec(page)?.[1];
	const style = /<style>(.*?)<\/style>/s.exec(page)?.[1];
	assert.equal(
		policy,
		`default-src 'none'; script-src 'sha256-${hash(script)}'; style-src 'sha256-${hash(style)}'; base-uri 'none'; form-action 'none'`,
	);
	// Addresses in it are of namespaces only.
	const addresses = new Set(page.match(/https?:\/\/[\w./]+/g));
	for (const address of addresses) assert.match(address, /^http:\/\/www\.w3\.org\//);
});

test('title and subtitle are text', () => {
	const profile = profileOf([[['main'], 1]]);
	const look = { ...suitableLook(profile), title: '</title><b>"&', subtitle: '<i>' };
	const page = [...renderHtml(profile, look)].join('');
	assert.match(page, /<title>&lt;\/title&gt;&lt;b&gt;&quot;&amp;<\/title>/);
	assert.doesNotMatch(page, /<[bi]>/);
});

test('deep stacks are cut off, and the page says so', () => {
	const frames = Array.from({ length: MAX_PAGE_DEPTH + 10 }, (_, index) => `f${index}`);
	const data = dataOf(
		profileOf([
			[frames, 2],
			[['g'], 1],
		]),
	);
	assert.equal(data.boxes.frame.length, MAX_PAGE_DEPTH + 2);
	for (const [index, parent] of data.boxes.parent.entries()) assert(parent < index);
	const g = data.boxes.frame.findIndex((frame) => data.names[frame] === 'g');
	assert.equal(data.boxes.parent[g], 0);
	assert.deepEqual(data.notes, ['This page shows only the first 10,000 frames of a stack.']);
});

test('many functions side by side: the smallest are left out, and the page says so', () => {
	const many = function* (count: number) {
		for (let i = 0; i < count; i++) yield [[`f${i}`], i < 10 ? 1e6 : 2] as const;
	};
	const data = dataOf(profileOf(many(30_000)));
	assert.equal(data.boxes.frame.length, 11);
	assert.equal(data.names.length, MAX_PAGE_FUNCTIONS);
	assert.deepEqual(data.notes, [
		'29,990 boxes below 0.008 % are left out, 0.6 % in all (--minwidth).',
		'The table leaves out the 10,000 smallest functions.',
	]);
	// More than a call can have arguments.
	const all = dataOf(profileOf(many(130_000)), { minWidth_px: 0 });
	assert.equal(all.boxes.frame.length, 130_001);
});

test('how narrow a box may be is of the width that was asked for', () => {
	const profile = profileOf([
		[['wide'], 91],
		[['narrow'], 9],
	]);
	const boxesIn = (width_px: number) =>
		dataOf(profile, { minWidth_px: 100, width_px }).boxes.frame.length;
	assert.deepEqual([boxesIn(1000), boxesIn(1200)], [2, 3]);
});

test('nothing recorded is a page too', () => {
	assert.deepEqual(dataOf(profileOf([])).boxes.weight, [0]);
	assert.match(whole(profileOf([])), /<\/html>\n$/);
});

test('what kind a function is of, and how the graph is turned, are as it was asked for', () => {
	const frames = new FrameTable();
	const stacks = new StackTable();
	const kinds = FRAME_KINDS;
	for (const kind of kinds) stacks.add([frames.intern(`f_${kind}`, kind)], 1, 1);
	const profile = { frames, stacks, origin: { unit: 'samples' }, marked: false };
	const data = dataOf(profile, { inverted: true });
	for (const [at, name] of data.names.entries()) {
		const kind = KINDS[Number(data.kinds[at])];
		assert.equal(name, `f_${kind === '' ? 'user' : kind?.toLowerCase()}`);
	}
	assert.deepEqual([data.inverted, data.countName, data.notes], [true, 'samples', []]);
	const turned = dataOf(profileOf([[['main', 'leaf'], 1]]), { reverse: true });
	assert.equal(turned.inverted, false);
	assert.match(turned.notes.join(), /^Merged from the leaf/);
	assert.deepEqual(
		turned.boxes.frame.map((frame) => turned.names[frame] ?? 'all'),
		['all', 'leaf', 'main'],
	);
});

test('the table keeps the functions with the largest totals, whatever is theirs alone', () => {
	const calls = function* () {
		for (let i = 0; i < MAX_PAGE_FUNCTIONS; i++) yield [['main', `f${i}`], 1] as const;
	};
	const { names } = dataOf(profileOf(calls()), { minWidth_px: 1e6 });
	assert.equal(names.length, MAX_PAGE_FUNCTIONS);
	assert.ok(names.includes('main'));
});
