/** The SVG as its users meet it: in a browser, with a mouse, a keyboard, and a narrow window. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { suitableLook } from '../../src/render/picture-look.js';
import { renderSvg } from '../../src/render/svg.js';
import { profileOfStacks } from '../unit/profiles.js';
import { HOSTILE } from '../unit/support.js';
import { openPage, written } from './support.js';

const STACKS = {
	'app;main;parse;read_line': 30,
	'app;main;parse': 10,
	'app;main;render;read_line': 15,
	'app;main;render;draw;draw': 25,
	'db;query': 20,
};
const TOTAL = 100;

function pictureOf(stacks: Readonly<Record<string, number>>, look = {}): string {
	const profile = profileOfStacks(stacks);
	return written('flame.svg', renderSvg(profile, { ...suitableLook(profile), ...look }));
}

interface Seen {
	readonly name: string;
	readonly value: number;
	readonly depth: number;
	readonly left: number;
	readonly top: number;
	readonly width: number;
}

/** The boxes that can be seen, as the browser has laid them out, in pixels. */
function seen(page: Page): Promise<Seen[]> {
	return page.locator('svg.f').evaluateAll((elements) =>
		elements
			.filter((element) => (element as SVGSVGElement).style.display !== 'none')
			.map((element) => {
				const { left, top, width } = element.getBoundingClientRect();
				const { value, depth } = (element as SVGSVGElement).dataset;
				return {
					name: element.querySelector('title')?.textContent?.split(' (')[0] ?? '',
					value: Number(value),
					depth: Number(depth),
					left,
					top,
					width,
				};
			}),
	);
}

const named = (boxes: readonly Seen[], name: string): Seen =>
	boxes.find((box) => box.name === name) ?? assert.fail(`${name} cannot be seen`);

const near = (a: number, b: number, what: string): void =>
	assert.ok(Math.abs(a - b) < 0.6, `${what}: ${a} is not ${b}`);

const boxNamed = (page: Page, name: string) =>
	page.locator(`svg.f:has(> title:text-matches("^${name} \\\\(")) > rect`).first();

const focusedName = (page: Page) =>
	page.evaluate(() => document.activeElement?.querySelector('title')?.textContent?.split(' (')[0]);

test('widths add up to the totals of the input', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS));
	const boxes = await seen(page);
	const all = named(boxes, 'all');
	assert.equal(all.value, TOTAL);
	for (const { name, value, width } of boxes) near(width, (all.width * value) / TOTAL, name);
	const sum = (depth: number) =>
		boxes.filter((box) => box.depth === depth).reduce((total, { value }) => total + value, 0);
	assert.deepEqual([0, 1, 2, 3, 4, 5].map(sum), [100, 100, 100, 80, 70, 25]);
	for (const box of boxes) {
		near(box.top, all.top - 17 * box.depth, `${box.name} stands on its caller`);
	}
});

test('a click zooms; what it stands on fades, the rest goes; reset brings all back', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS));
	const before = await seen(page);
	await boxNamed(page, 'render').click();
	const zoomed = await seen(page);
	assert.deepEqual(zoomed.map(({ name }) => name).sort(), [
		'all',
		'app',
		'draw',
		'draw',
		'main',
		'read_line',
		'render',
	]);
	const { width } = named(before, 'all');
	for (const name of ['all', 'app', 'main', 'render']) near(named(zoomed, name).width, width, name);
	near(named(zoomed, 'draw').width, (width * 25) / 40, 'draw');
	await page.getByText('Reset zoom').click();
	assert.deepEqual(await seen(page), before);
});

test('names appear where there is room for them', async (t) => {
	const { page } = await openPage(t, pictureOf({ 'wide;a': 1000, 'narrow;tiny': 1 }));
	const shown = () => page.locator('svg.f > text').allTextContents();
	assert.deepEqual((await shown()).sort(), ['a', 'all', 'wide']);
	await boxNamed(page, 'narrow').click();
	assert.deepEqual((await shown()).sort(), ['a', 'all', 'narrow', 'tiny', 'wide']);
});

/** Names as they are written in boxes, with how much room is left to the right of each. */
function names(page: Page): Promise<{ name: string; text: string; room: number }[]> {
	return page.locator('svg.f > text').evaluateAll((texts) =>
		texts.map((text) => {
			const box = text.parentElement as Element;
			return {
				name: box.querySelector('title')?.textContent?.split(' (')[0] ?? '',
				text: text.textContent ?? '',
				room:
					box.getBoundingClientRect().right -
					text.getBoundingClientRect().left -
					(text as SVGTextElement).getComputedTextLength(),
			};
		}),
	);
}

/** Names that are whole in some windows and cut in others, side by side; as wide as characters get. */
const NEIGHBOURS = {
	'entry_SYSCALL_64_after_hwframe;do_syscall_64': 190,
	'schedule_hrtimeout_range;ep_poll': 100,
	'std::vector<std::basic_string<char>>::emplace_back;x': 80,
	'WWWWWWWWMMMMMMMMWWWWWWWW;x': 60,
	'iiiiiiiilllllllliiiiiiiilllllll;x': 60,
	'\u95a2\u6570\u306e\u540d\u524d\u{1f4a5}\u{1f4a5}\u{1f4a5}\u{1f4a5}\u{1f4a5};x': 60,
	schedule: 30,
};

for (const [scripts, windows] of [
	[true, [390, 700, 1280, 1900]],
	[false, [1280]],
] as const) {
	test(`names do not run into their neighbours, ${scripts ? 'in any window' : 'without JavaScript'}`, async (t) => {
		for (const width of windows) {
			const file = pictureOf(NEIGHBOURS, { palette: 'io' });
			const { page } = await openPage(t, file, { width, scripts });
			const all = await names(page);
			assert.ok(all.length >= 8, `${all.length}`);
			for (const { name, text, room } of all) {
				assert.ok(room >= 2.5, `${text}: ${room} px to its neighbour, window ${width}`);
				if (text === name) continue;
				assert.ok(text.endsWith('…') && name.startsWith(text.slice(0, -1)), text);
				// Nothing is cut that has room.
				if (scripts) assert.ok(room < 40, `${text}: ${room}`);
			}
			assert.ok(width > 1280 || all.some(({ text }) => text.endsWith('…')));
		}
	});
}

test('a name that was cut is whole where a zoom gives it room, and cut again after it', async (t) => {
	const { page } = await openPage(t, pictureOf(NEIGHBOURS), { width: 700 });
	const texts = async () => (await names(page)).map(({ text }) => text);
	const before = await texts();
	assert.ok(!before.includes('schedule_hrtimeout_range'));
	await boxNamed(page, 'schedule_hrtimeout_range').click();
	assert.ok((await texts()).includes('schedule_hrtimeout_range'));
	await page.getByText('Reset zoom').click();
	assert.deepEqual(await texts(), before);
});

test('search: what matches is marked, its share is said; Escape ends it', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS));
	const matches = () => page.locator('svg.f.match').count();
	await page.keyboard.press('Control+f');
	await page.keyboard.type('read_line|render');
	// All of render, and read_line outside of it.
	assert.equal(await page.locator('.matched').textContent(), 'Matched: 70.0 %');
	assert.equal(await matches(), 3);
	await page.keyboard.press('Control+A');
	await page.keyboard.type('DRAW');
	assert.equal(await matches(), 0, 'capitals matter if there are any');
	await page.keyboard.press('Control+A');
	await page.keyboard.type('draw');
	assert.equal(await page.locator('.matched').textContent(), 'Matched: 25.0 %');
	await page.keyboard.press('Control+A');
	await page.keyboard.type('(');
	assert.equal(await page.locator('.matched').textContent(), 'Matched: 0.0 %', 'no pattern: text');
	await page.keyboard.press('Escape');
	assert.equal(await matches(), 0);
	assert.equal(await page.locator('.matched').textContent(), '');
});

test('search: boxes side by side all count, whichever way their places were rounded', async (t) => {
	// 16.666667 % wide: the first ends at 33.333334 %, and the one beside it begins at 33.333333 %.
	const names = ['a1', 'b1', 'b2', 'b3', 'a2', 'a3'];
	const { page } = await openPage(t, pictureOf(Object.fromEntries(names.map((name) => [name, 1]))));
	await page.keyboard.press('Control+f');
	for (const [term, share] of [
		['^a', '50.0'],
		['^b', '50.0'],
		['^[ab]', '100.0'],
		['^b[12]', '33.3'],
	] as const) {
		await page.keyboard.press('Control+A');
		await page.keyboard.type(term);
		assert.equal(await page.locator('.matched').textContent(), `Matched: ${share} %`, term);
	}
});

test('keyboard: Tab to the boxes, arrows between them, Enter zooms, Escape goes back', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS));
	await page.keyboard.press('Tab');
	assert.equal(await focusedName(page), 'all');
	for (const [key, name] of [
		['ArrowUp', 'app'],
		['ArrowRight', 'db'],
		['ArrowUp', 'query'],
		['ArrowDown', 'db'],
		['ArrowLeft', 'app'],
		['ArrowLeft', 'app'],
	] as const) {
		await page.keyboard.press(key);
		assert.equal(await focusedName(page), name, key);
	}
	// The browser's own: back.
	const isTaken = await page.evaluate(() => {
		const pressed = { key: 'ArrowRight', altKey: true, bubbles: true, cancelable: true };
		return !document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', pressed));
	});
	assert.equal(isTaken, false);
	assert.equal(await focusedName(page), 'app');
	await page.keyboard.press('Enter');
	assert.ok(!(await seen(page)).some(({ name }) => name === 'db'));
	assert.match((await page.locator('.details').textContent()) ?? '', /^80, 80\.0 % {2}app$/);
	await page.keyboard.press('Escape');
	assert.ok((await seen(page)).some(({ name }) => name === 'db'));
});

test('what is pointed at is said in full', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS, { countName: 'us' }));
	await boxNamed(page, 'query').hover();
	assert.equal(await page.locator('.details').textContent(), '20.0 us, 20.0 %  query');
});

test('a narrow window, and back: boxes follow, nothing is outside', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS));
	for (const width of [390, 1600]) {
		await page.setViewportSize({ width, height: 844 });
		await page.waitForFunction(
			(expected) => document.documentElement.getAttribute('width') === `${expected}`,
			width,
		);
		const boxes = await seen(page);
		near(named(boxes, 'all').width, width - 20, 'all');
		for (const box of boxes) assert.ok(box.left >= 9.5 && box.left + box.width <= width - 9.5);
		const right = await page
			.locator('.button:visible')
			.evaluateAll((each) => each.map((button) => button.getBoundingClientRect().right));
		assert.ok(right.every((edge) => edge <= width));
	}
});

test('without JavaScript, as in <img>: boxes, names and tooltips are there', async (t) => {
	const { page } = await openPage(t, pictureOf(STACKS), { scripts: false, width: 1200 });
	const boxes = await seen(page);
	near(named(boxes, 'db').width, named(boxes, 'all').width / 5, 'db');
	assert.equal(await page.locator('svg.f > text').count(), boxes.length);
	assert.equal(await page.locator('svg.f > title').count(), boxes.length);
	assert.equal(await page.getByText('Search').count(), 0, 'no button that does nothing');
});

test('search scrolls to what it finds', async (t) => {
	const deep = Array.from({ length: 100 }, (_, i) => `f${i}`).join(';');
	const { page } = await openPage(t, pictureOf({ [`${deep};leaf`]: 1 }));
	await page.keyboard.press('/');
	await page.keyboard.type('leaf');
	const { top } = named(await seen(page), 'leaf');
	assert.ok(top > 60 && top < 800, `${top}`);
});

test('a long title ends before the buttons', async (t) => {
	const title = 'A long title '.repeat(30);
	const { page } = await openPage(t, pictureOf(STACKS, { title }), { width: 390 });
	const ends = Number(await page.locator('.titles').getAttribute('width'));
	const left = await page
		.locator('.button:visible')
		.evaluateAll((each) => Math.min(...each.map((button) => button.getBoundingClientRect().left)));
	assert.ok(ends > 200 && left >= ends, `${ends}, ${left}`);
});

test('dark and light', async (t) => {
	const ground = async (dark: boolean) => {
		const { page } = await openPage(t, pictureOf(STACKS), { dark });
		return page
			.locator('.ground')
			.first()
			.evaluate((rect) => getComputedStyle(rect).fill);
	};
	assert.equal(await ground(false), 'rgb(255, 255, 255)');
	assert.equal(await ground(true), 'rgb(22, 24, 28)');
});

test("strangers' names are text, and nothing else", async (t) => {
	const hostile = [...HOSTILE, ']]><script>alert(2)</script>', '<img src=x onerror=alert(3)>'];
	const stacks = Object.fromEntries(hostile.map((name) => [name.replaceAll(';', ':'), 10]));
	const { page } = await openPage(t, pictureOf(stacks, { title: hostile.at(-1) }));
	assert.equal((await seen(page)).length, hostile.length + 1);
	assert.equal(await page.locator('script').count(), 1);
	await page.locator('svg.f > rect').last().click();
	await page.keyboard.press('/');
	await page.keyboard.type('script');
	assert.ok((await page.locator('svg.f.match').count()) >= 2);
});

test('a name of ten thousand characters, depth 5,000', async (t) => {
	const deep = Array.from({ length: 5000 }, (_, i) => `f${i}`).join(';');
	const { page } = await openPage(t, pictureOf({ [deep]: 3, ['n'.repeat(10_000)]: 1 }));
	assert.equal((await seen(page)).length, 5002);
	await page.locator('svg.f[data-depth="11"] > rect').click();
	assert.equal((await seen(page)).length, 5001);
});
