import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FRAME_KINDS } from '../../../src/aggregate/stack.js';
import { likelyWidth_px, NAME_MARGIN_PX } from '../../../src/render/box-labels.js';
import { colourOf, PALETTES } from '../../../src/render/palettes.js';
import { DEFAULT_WIDTH_PX, suitableLook } from '../../../src/render/picture-look.js';
import { renderSvg } from '../../../src/render/svg.js';
import { anyText } from '../any-text.js';
import { profileOfStacks } from '../profiles.js';
import { HOSTILE } from '../support.js';

function svgOf(stacks: Readonly<Record<string, number>>, look = {}): string {
	const profile = profileOfStacks(stacks);
	return [...renderSvg(profile, { ...suitableLook(profile), ...look })].join('');
}

/** Of each box: place and width in per cent, value, tooltip. */
function boxesOf(svg: string) {
	const boxes = svg.matchAll(
		/<svg class="f" x="([\d.]+)%" y="(\d+)" width="([\d.]+)%" height="16" data-depth="(\d+)" data-value="([\d.]+)"><title>(.*?)<\/title>/g,
	);
	return [...boxes].map(([, x, y, width, depth, value, title]) => ({
		x: Number(x),
		y: Number(y),
		width: Number(width),
		depth: Number(depth),
		value: Number(value),
		title,
	}));
}

test('boxes with their values and shares; the root at the bottom, or at the top', () => {
	const stacks = { 'a;b': 3, c: 1 };
	assert.deepEqual(boxesOf(svgOf(stacks)), [
		{ x: 0, y: 34, width: 100, depth: 0, value: 4, title: 'all (4, 100.0 %)' },
		{ x: 0, y: 17, width: 75, depth: 1, value: 3, title: 'a (3, 75.0 %)' },
		{ x: 75, y: 17, width: 25, depth: 1, value: 1, title: 'c (1, 25.0 %)' },
		{ x: 0, y: 0, width: 75, depth: 2, value: 3, title: 'b (3, 75.0 %)' },
	]);
	const inverted = boxesOf(svgOf(stacks, { inverted: true }));
	assert.deepEqual(
		inverted.map(({ y }) => y),
		[0, 17, 17, 34],
	);
});

test('what is not drawn is said', () => {
	const stacks = { wide: 1e6, narrow: 1 };
	assert.match(svgOf(stacks), /1 box narrower than 0\.1 px is not drawn/);
	assert.doesNotMatch(svgOf(stacks, { minWidth_px: 0 }), /not drawn/);
	// Between the margins there are 100 px, so that a hundredth is 1 px.
	const nine = svgOf({ wide: 91, narrow: 9 }, { width_px: 120, minWidth_px: 9.5 });
	assert.match(nine, /1 box narrower than 9\.5 px is not drawn/);
});

test('well-formed XML without a way out, whatever the names', () => {
	const hostile = Object.fromEntries(HOSTILE.map((name, i) => [name.replaceAll(';', ':'), i + 1]));
	for (const name of [...Object.keys(hostile), ']]>', '\'"&<', '\ud800', '\uffff']) {
		const svg = svgOf({ [name]: 1 }, { title: name, subtitle: name });
		checkXml(svg);
	}
	fc.assert(
		fc.property(anyText(), (name) => {
			checkXml(svgOf({ [name.replaceAll(';', ':')]: 1 }, { title: name }));
		}),
	);
});

/** No markup but ours: what is left when ours is taken away has no angle bracket. */
function checkXml(svg: string): void {
	const own = svg.replace(/<(style|script)>.*?<\/\1>/gs, '');
	const text = own.replace(/<\/?(svg|g|rect|text|title)( [a-zA-Z-]+="[^"<]*")*\/?>/g, '');
	assert.doesNotMatch(text.replace(/^<\?xml [^>]*>/, ''), /[<>]|&(?!(amp|lt|gt|quot|#39);)/);
	assert.doesNotMatch(svg, /[^\P{Cc}\t\n\r]|[\ufffe\uffff]|\p{Surrogate}/u);
	assert.equal([...svg.matchAll(/<script>/g)].length, 1);
}

test('a colour for each name, the same in every run; kinds apart', () => {
	assert.equal(colourOf({ name: 'main', kind: 'user' }, 'hot'), '#f88542');
	for (const palette of PALETTES) {
		const colours = ['read', 'write', 'futex_wait'].map((name) =>
			colourOf({ name, kind: 'user' }, palette),
		);
		assert.equal(new Set(colours).size, 3);
		for (const colour of colours) assert.match(colour, /^#[0-9a-f]{6}$/);
	}
	const kinds = FRAME_KINDS.map((kind) => colourOf({ name: 'same', kind }, 'kind'));
	assert.equal(new Set(kinds).size, FRAME_KINDS.length);
});

test('depth 5,000 and a name of ten thousand characters', () => {
	const deep = new Array(5000).fill('f').join(';');
	const svg = svgOf({ [deep]: 1, ['n'.repeat(10_000)]: 1 });
	assert.equal(boxesOf(svg).length, 5002);
	assert.match(svg, new RegExp(`width="${DEFAULT_WIDTH_PX}" height="${68 + 5001 * 17 + 10}"`));
});

test('a name is in its box, and as much of it as the box has room for', () => {
	const long = 'a_function_with_a_name_that_is_longer_than_most';
	const svg = svgOf({ [long]: 900, [`b_${long}`]: 95, c: 5 });
	const boxes = svg.matchAll(
		/width="([\d.]+)%"[^>]*><title>(\S*) .*?<\/title><rect[^>]*\/>(?:<text[^>]*>([^<]*)<\/text>)?<\/svg>/g,
	);
	const shown = [...boxes].map(([, share, name = '', text = '']) => {
		const box_px = (Number(share) / 100) * (DEFAULT_WIDTH_PX - 20);
		const text_px = [...text].reduce((sum, each) => sum + likelyWidth_px(each), 0);
		if (text !== '')
			assert.ok(text_px <= box_px - 2 * NAME_MARGIN_PX, `${text_px} px in ${box_px} px`);
		return [name, text];
	});
	assert.deepEqual(shown.slice(0, 2), [
		['all', 'all'],
		[long, long],
	]);
	assert.match(shown[2]?.[1] ?? '', /^b_a_func.*…$/);
	assert.deepEqual(shown[3], ['c', '']);
});

test('what is not drawn is counted; nothing in a tooltip looks like the part that says how much', () => {
	const stacks = { wide: 1e6, narrow: 1, slim: 1 };
	assert.match(svgOf(stacks), /2 boxes narrower than 0\.1 px are not drawn/);
	assert.doesNotMatch(svgOf({ wide: 9991, small: 9 }), /not drawn/, 'it is a pixel wide');
	const svg = svgOf({ a: 1 }, { countName: 'x (y)' });
	assert.match(svg, /<title>a \(1 x y, 100\.0 %\)</);
});

/** Red, green and blue of waits, of memory, and of kinds of frames, as in other flame graphs. */
const HUES = [
	['hot', 'user', (r: number, g: number, b: number) => r > b + 100 && g >= b],
	['io', 'user', (r: number, g: number, b: number) => b > g && b > r],
	['mem', 'user', (r: number, g: number, b: number) => g > r + 50 && g + 10 > b],
	['kind', 'user', (r: number, g: number) => r > g + 80],
	['kind', 'kernel', (r: number, g: number, b: number) => r > g && g > b + 50],
	['kind', 'jit', (r: number, g: number, b: number) => g > r && r > b],
	['kind', 'inlined', (r: number, g: number, b: number) => g > r + 50 && b > r + 50],
	['kind', 'javascript', (r: number, g: number, b: number) => r > g && g > b + 80],
	['kind', 'python', (r: number, g: number, b: number) => b > g && g > r],
] as const;

test('colours mean what they do elsewhere: blue waits, green memory, orange the kernel', () => {
	for (const name of ['main', 'read', 'v8::Call', 'a', 'futex_wait', 'x'.repeat(99)])
		for (const [palette, kind, isHue] of HUES) {
			const colour = colourOf({ name, kind }, palette);
			const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) =>
				Number.parseInt(colour.slice(at, at + 2), 16),
			);
			assert.ok(isHue(r, g, b), `${palette} ${kind} ${name}: ${colour}`);
		}
	assert.match(svgOf({ a: 1 }), /<title>all \(.*?fill="#d8d8d8"/);
});
