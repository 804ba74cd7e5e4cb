/** What a tool says on its page above the graph, as its reader meets it. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { profileOf as stacksOf } from '../../src/aggregate/stack-profile.js';
import { renderHtml } from '../../src/render/html.js';
import { suitableLook } from '../../src/render/picture-look.js';
import { partsOf } from '../../src/tools/why/parts.js';
import { windowRows } from '../../src/tools/why/window-rows.js';
import { evidence, NOBODY, reportOf } from '../unit/tools/why/answers.js';
import { drawn } from './drawn.js';
import { box, button, matched, search } from './page.js';
import { openPage, type Window, written } from './support.js';

const ORIGIN = {
	...{ host: 'db1', kernel: '6.1.0-deb12', unit: 'ns', start: '2025-07-01T12:00:00.000Z' },
	command: ['tstrace', 'why', '-p', '11', '-o', 'incident.html', '2'],
};

/** Opens the page of what a test made up. */
async function open(t: TestContext, given = evidence(), window: Window = {}): Promise<Page> {
	const profile = stacksOf(windowRows(partsOf(given)), ORIGIN);
	const pieces = renderHtml(profile, suitableLook(profile), reportOf(given));
	return (await openPage(t, written('report.html', pieces), window)).page;
}

interface Place {
	readonly left: number;
	readonly right: number;
	readonly width: number;
	readonly text: string;
}

const placesOf = (page: Page, selector: string): Promise<Place[]> =>
	page.$$eval(selector, (all) =>
		all.map((each) => {
			const { left, right, width } = each.getBoundingClientRect();
			return { left, right, width, text: each.querySelector('title')?.textContent ?? '' };
		}),
	);

test('the verdict is the largest text; what it is about is below it', async (t) => {
	const page = await open(t);
	const statement = page.locator('.statement');
	assert.match((await statement.textContent()) ?? '', /runs on a CPU for 48 % of its working time/);
	const size = (selector: string) =>
		page
			.locator(selector)
			.first()
			.evaluate((each) => Number.parseFloat(getComputedStyle(each).fontSize));
	for (const other of ['h1', 'h2', 'h3', '.remark', 'td', 'dd'])
		assert((await size('.statement')) > (await size(other)), other);
	const facts = (await page.locator('.facts').innerText()).replace(/\s+/g, ' ');
	for (const fact of [
		'window 2.00 s, 2 threads',
		'host db1',
		'kernel 6.1.0-deb12',
		'start 2025-07-01 12:00:00 UTC',
		'command tstrace why -p 11 -o incident.html 2',
	])
		assert(facts.includes(fact), fact);
});

for (const width of [1280, 360]) {
	test(`the bar: as wide as the page of ${width} px, each part as its share`, async (t) => {
		const page = await open(t, evidence(), { width });
		const [whole] = await placesOf(page, '.shares');
		const boxes = await placesOf(page, '.shares .box > rect');
		assert(whole && boxes.length === 5);
		const sum = boxes.reduce((all, { width }) => all + width, 0);
		assert(Math.abs(sum / whole.width - 1) < 1e-3, `${sum} of ${whole.width}`);
		for (const [i, share] of [0.2375, 0.0125, 0.175, 0.075, 0.5].entries())
			assert(Math.abs((boxes[i]?.width ?? 0) / whole.width - share) < 1e-3, `${i}`);
		for (const [i, { right }] of boxes.slice(0, -1).entries())
			assert(Math.abs((boxes[i + 1]?.left ?? 0) - right) < 0.1);
	});

	test(`nothing is wider than a page of ${width} px, whatever its names are`, async (t) => {
		const long = 'x'.repeat(300);
		for (const given of [evidence(), evidence({ comm: long, path: `/${long}`, function: long })]) {
			const page = await open(t, given, { width, height: 740 });
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
			// What is in a picture is cut off at its edge.
			for (const { right } of await placesOf(page, 'article *:not(svg *)'))
				assert(right <= width + 0.5, `${right}`);
			const long = await page.$$eval('.long', (all) =>
				all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
			);
			assert(long.every((more) => more === 0));
		}
	});
}

test('the timeline: each wait where it was, told when it is pointed at, and in the table', async (t) => {
	const page = await open(t);
	const [whole] = await placesOf(page, '.timeline');
	assert(whole);
	const bars = await placesOf(page, '.timeline .box');
	const rects = await placesOf(page, '.timeline .box > rect');
	assert.deepEqual(
		bars.map(({ text }) => text),
		[
			'1: server (12), 350 ms from 0 s on: disk write /srv/journal',
			'2: server (12), 300 ms from 800 ms on: sleep',
			'3: server (12), 200 ms from 100 ms on: disk write /srv/journal',
			'4: server (12), 100 ms from 600 ms on: disk write /srv/journal',
			'5: server (12), 30.0 ms from 1.20 s on: runnable: run queue',
			'6: server (12), 20.0 ms from 1.30 s on: runnable: run queue',
		],
	);
	for (const [i, [from, length]] of [
		[0, 0.175],
		[0.4, 0.15],
		[0.05, 0.1],
		[0.3, 0.05],
		[0.6, 0.015],
		[0.65, 0.01],
	].entries()) {
		const { left = 0, width = 0 } = rects[i] ?? {};
		assert(Math.abs((left - whole.left) / whole.width - (from ?? 0)) < 1e-3, `${i}`);
		assert(Math.abs(width / whole.width - (length ?? 0)) < 1e-3, `${i}`);
	}
	const labels = await page.$$eval('.timeline .box > text', (all) =>
		all.map(({ textContent }) => textContent),
	);
	// What is too narrow has none.
	assert.deepEqual(labels, [
		'1 disk write /srv/journal',
		'2 sleep',
		'3 disk write /srv/journal',
		'4 disk write /srv/journal',
	]);
	assert.equal(await page.locator('.timeline .lane').textContent(), 'server (12)');
	await page.locator('.timeline a').nth(2).click();
	assert.equal(new URL(page.url()).hash, '#row-3');
	const row = await page.locator('tr:target').innerText();
	assert.match(
		row.replace(/\s+/g, ' '),
		/^3 100 ms 200 ms server \(12\) disk write \/srv\/journal/,
	);
});

test('without JavaScript all of it is there but the flame graph', async (t) => {
	const page = await open(t, evidence(), { scripts: false });
	assert.match(await page.locator('.statement').innerText(), /CPU profile is the answer/);
	assert.equal(await page.locator('.timeline .box').count(), 6);
	assert.equal(await page.locator('article tbody tr').count(), 5 + 6);
	assert.match(await page.locator('noscript').innerText(), /^The flame graph needs JavaScript/);
});

test('the flame graph is the last: its root is the place, search and zoom work', async (t) => {
	const page = await open(t);
	const below = await page.locator('main').evaluate((each) => each.getBoundingClientRect().top);
	const end = await page.locator('article').evaluate((each) => each.getBoundingClientRect().bottom);
	assert(below > end);
	const names = (await drawn(page)).map(({ name }) => name);
	for (const place of ['running: in its own code', 'waiting: disk write', 'idle: socket accept'])
		assert(names.includes(place), place);
	await search(page, '^waiting: disk write$');
	assert.equal(await matched(page), 'Matched: 17.5 %');
	await box(page, 'waiting: disk write').click();
	assert(!(await drawn(page)).some(({ name }) => name === 'idle: socket accept'));
	await button(page, 'Reset zoom').click();
	assert((await drawn(page)).some(({ name }) => name === 'idle: socket accept'));
	await button(page, 'Table').click();
	assert(await page.locator('main tbody tr').first().isVisible());
});

test('in a long page arrows and Ctrl-F are the browser’s', async (t) => {
	const page = await open(t);
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Control+f');
	assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
	await page.keyboard.press('/');
	assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'INPUT');
});

test('names of strangers are text, and ask for nothing', async (t) => {
	const comm = '"><img src=//example.org/x onerror=alert(1)>';
	const path = '</script><script>alert(2)</script>';
	const page = await open(t, evidence({ comm, path, waker: comm, function: path }));
	assert.equal(await page.locator('img').count(), 0);
	assert.equal(await page.locator('.timeline .lane').textContent(), `${comm} (12)`);
	assert((await page.locator('.statement').textContent())?.includes(path));
	assert(
		(await page.locator('.entry').nth(1).textContent())?.includes(`${comm} (31) ran on a CPU`),
	);
});

test('nobody was there: the page says so', async (t) => {
	const page = await open(t, NOBODY, { width: 360 });
	assert.match(await page.locator('.statement').innerText(), /^No thread of the target was there/);
	assert.equal(await page.locator('article svg, article table').count(), 0);
	assert.equal(await page.locator('main').textContent(), 'Nothing was recorded.');
	assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
});

test('text on each colour can be read, in light and in dark', async (t) => {
	for (const dark of [false, true]) {
		const page = await open(t, evidence(), { dark });
		const pairs = await page.$$eval('.shares .box', (all) =>
			all.flatMap((each) => {
				const [ground, ink] = [each.querySelector('rect'), each.querySelector('text')];
				return ground && ink ? [[getComputedStyle(ground).fill, getComputedStyle(ink).fill]] : [];
			}),
		);
		assert.equal(pairs.length, 4);
		for (const [ground = '', ink = ''] of pairs) assert(contrast(ground, ink) >= 4.5, ground);
	}
});

/** As WCAG 2.1 has it, of two "rgb(…)". */
function contrast(one: string, other: string): number {
	const luminance = (colour: string) => {
		const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map((part) => {
			const value = Number(part) / 255;
			return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
	return (high + 0.05) / (low + 0.05);
}
