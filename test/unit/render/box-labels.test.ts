import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fittingName, likelyWidth_px } from '../../../src/render/box-labels.js';

const width = (text: string): number =>
	[...text].reduce((sum, character) => sum + likelyWidth_px(character), 0);

test('a name is whole if there is room; else as much of it as fits before "…"', () => {
	fc.assert(
		fc.property(fc.string({ unit: 'grapheme' }), fc.nat(300), (name, room_px) => {
			const shown = fittingName(name, room_px, likelyWidth_px);
			if (width(name) <= room_px) return assert.equal(shown, name);
			assert.ok(width(shown) <= room_px);
			const kept = [...shown.slice(0, -1)];
			assert.deepEqual([...name].slice(0, kept.length), kept, 'no character is cut in two');
			// One more would not have fitted.
			const more = `${[...name].slice(0, kept.length + 1).join('')}…`;
			assert.ok(shown === '' || shown.endsWith('…'));
			assert.ok(width(more) > room_px);
		}),
	);
});

test('wide characters take more room than others, and narrow ones less', () => {
	const [wide, narrow] = [[...'mwMW@%…中💥'], [..." iljt.,:;'|![](){}/\\`-"]];
	const ordinary = likelyWidth_px('a');
	for (const each of wide) assert.ok(likelyWidth_px(each) > ordinary, each);
	for (const each of narrow) assert.ok(likelyWidth_px(each) < ordinary, each);
	for (const each of 'bEgz_<>=+*~$019é') assert.equal(likelyWidth_px(each), ordinary, each);
});
