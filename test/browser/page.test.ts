/** What `--format html` writes, as its reader meets it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Drawn, drawn, paths } from './drawn.js';
import { box, button, details, matched, open, search } from './page.js';
import { boxesOf, SERVER, type Stacks } from './profiles.js';

/** That each box is as wide as its share of what is counted. */
function assertWidths(boxes: readonly Drawn[], recording: Stacks, rootAtTop = false): void {
	const expected = boxesOf(recording);
	const found = paths(boxes, rootAtTop);
	assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort());
	const all = found.get('["all"]') as Drawn;
	const total = expected.get('["all"]') as number;
	for (const [path, { width }] of found) {
		const share = (expected.get(path) as number) / total;
		assert(Math.abs(width - share * all.width) < 1e-3, `${path} is ${width} px wide`);
	}
}

for (const [view, rootAtTop] of [
	['Flame', false],
	['Icicle', true],
] as const) {
	for (const order of ['By name', 'Left-heavy']) {
		test(`${view}, ${order}: widths are shares of the total`, async (t) => {
			const page = await open(t, SERVER);
			await button(page, view).click();
			await button(page, order).click();
			assertWidths(await drawn(page), SERVER, rootAtTop);
		});
	}
}

test('left-heavy: the widest first; by name otherwise', async (t) => {
	const page = await open(t, SERVER);
	const main = ['accept', 'handle', 'read'];
	const byPlace = async () =>
		(await drawn(page))
			.filter(({ name }) => main.includes(name))
			.sort((a, b) => a.left - b.left)
			.map(({ name }) => name);
	assert.deepEqual(await byPlace(), ['accept', 'handle', 'read']);
	await button(page, 'Left-heavy').click();
	assert.deepEqual(await byPlace(), ['handle', 'read', 'accept']);
});

test('--inverted begins with the root at the top, --reverse with leaves at the root', async (t) => {
	const top = async (page: Page, name: string) =>
		(await drawn(page)).find((each) => each.name === name)?.top ?? 0;
	const page = await open(t, SERVER, { look: { inverted: true } });
	assert((await top(page, 'all')) < (await top(page, 'server')));
	assert.equal(await button(page, 'Icicle').getAttribute('aria-pressed'), 'true');
	await button(page, 'Flame').click();
	assert((await top(page, 'all')) > (await top(page, 'server')));

	const reversed = await open(t, SERVER, { look: { reverse: true } });
	const turned = SERVER.map(([frames, value]) => [[...frames].reverse(), value] as const);
	assertWidths(await drawn(reversed), turned);
});

test('a click zooms, what it stands on too; reset and Escape go back', async (t) => {
	const page = await open(t, SERVER);
	const before = await drawn(page);
	assert(await button(page, 'Reset zoom').isDisabled());
	await box(page, 'handle').click();
	const zoomed = await drawn(page);
	const { width } = before.find(({ name }) => name === 'all') as Drawn;
	for (const name of ['all', 'server', 'main', 'handle']) {
		assert.equal(zoomed.find((each) => each.name === name)?.width, width, name);
	}
	const faded = zoomed.flatMap(({ name, opacity }) => (opacity < 1 ? name : []));
	assert.deepEqual(faded.toSorted(), ['all', 'main', 'server']);
	const regex = zoomed.find(({ name }) => name === 'Regex');
	assert(Math.abs((regex?.width ?? 0) - (width * 88) / 460) < 1e-3);
	assert(!zoomed.some(({ name }) => ['read', 'idle', 'other', 'accept'].includes(name)));
	// Back by half the way.
	await box(page, 'server').click();
	assert((await drawn(page)).some(({ name }) => name === 'idle'));
	await button(page, 'Reset zoom').click();
	assert.deepEqual(await drawn(page), before);
	await box(page, 'read').click();
	await page.keyboard.press('Escape');
	assert.deepEqual(await drawn(page), before);
});

test('search says the share of what matches, what calls itself counted once', async (t) => {
	const page = await open(t, SERVER);
	for (const [term, share] of [
		['json', '31.2 %'],
		['JSON', '0.0 %'],
		['regex', '8.8 %'],
		['^Regex$', '8.8 %'],
		['json::value|vfs', '36.2 %'],
		['malloc', '5.2 %'],
		['nothing', '0.0 %'],
		['(', '0.0 %'],
		['all', '25.2 %'],
	]) {
		await search(page, term as string);
		assert.equal(await matched(page), `Matched: ${share}`, term);
	}
	await search(page, 'json::parse');
	const colours = (await drawn(page)).map(({ name, colour }) => [name, colour]);
	for (const [name, colour] of colours) {
		assert.equal(colour === 'rgb(176, 0, 176)', name === 'json::parse', name);
	}
	await search(page, '');
	assert.equal(await matched(page), '');
});

test('the table: self adds up, total counts a stack once; sorted, searched, chosen', async (t) => {
	const page = await open(t, SERVER);
	await button(page, 'Table').click();
	const rows = () =>
		page.$$eval('tbody tr', (all) =>
			all.map((row) =>
				[...row.querySelectorAll('td button, .value, .share')].map((each) => each.textContent),
			),
		);
	const all = await rows();
	assert.deepEqual(all.slice(0, 3), [
		['json::parse', '260', '26.0 %', '312', '31.2 %'],
		['idle', '200', '20.0 %', '200', '20.0 %'],
		['vfs_read', '200', '20.0 %', '200', '20.0 %'],
	]);
	assert.equal(
		all.reduce((sum, row) => sum + Number(row[1]), 0),
		1000,
	);
	const first = async () => (await rows())[0]?.[0];
	await button(page, 'Total').click();
	assert.equal(await first(), 'server');
	await button(page, 'Total').click();
	assert.equal(await first(), 'accept');
	await button(page, 'Function').click();
	assert.equal(await first(), 'Regex');
	await search(page, 'json');
	assert.deepEqual(
		(await rows()).map(([name]) => name),
		['json::parse', 'json::value'],
	);
	await search(page, 'no such');
	assert.equal(await page.locator('tbody').textContent(), 'No function matches.');
	await search(page, '');
	await button(page, 'json::value').click();
	assert.equal(await matched(page), 'Matched: 16.2 %');
	assert(await box(page, 'json::value').isVisible());
});

test('the table of times has them in units', async (t) => {
	const page = await open(t, [[['main', 'sleep'], 1_500_000]], { origin: { unit: 'ns' } });
	await button(page, 'Table').click();
	const values = await page.locator('tbody tr').first().locator('.value').allTextContents();
	assert.deepEqual(values, ['1.50 ms', '1.50 ms']);
});

test('a function that is chosen in the table is found alone, and so it is by what is then searched for', async (t) => {
	// Each name is in the others, at their beginning, their end, or both; of 1,000 in all.
	const page = await open(t, [
		[['main', 'read'], 110],
		[['main', 'read_all'], 230],
		[['main', 'do_read'], 70],
		[['main', 'read(int*)'], 90],
		[['main', 'Read'], 130],
		[['main', 'pread(int*)[2]'], 370],
	]);
	for (const [name, share] of [
		['read_all', '23.0 %'],
		['read(int*)', '9.0 %'],
		['Read', '13.0 %'],
		['pread(int*)[2]', '37.0 %'],
		['do_read', '7.0 %'],
	] as const) {
		await button(page, 'Table').click();
		await search(page, '');
		await button(page, name).click();
		assert.equal(await matched(page), `Matched: ${share}`, name);
		// As somebody does who types on in the field, and takes it back.
		const term = await page.getByRole('searchbox').inputValue();
		await search(page, `${term}x`);
		assert.equal(await matched(page), 'Matched: 0.0 %', name);
		await search(page, term);
		assert.equal(await matched(page), `Matched: ${share}`, name);
		for (const { name: each, colour } of await drawn(page))
			assert.equal(colour === 'rgb(176, 0, 176)', each === name, `${each}, of ${name}`);
	}
	// Capitals do not matter where there are none.
	await button(page, 'Table').click();
	await search(page, '');
	await button(page, 'read').click();
	assert.equal(await matched(page), 'Matched: 11.0 %');
	await search(page, await page.getByRole('searchbox').inputValue());
	assert.equal(await matched(page), 'Matched: 24.0 %');
});

test('keys: / and Ctrl-F search, arrows move, Enter zooms, Escape goes back', async (t) => {
	const page = await open(t, SERVER);
	await page.keyboard.press('/');
	await page.keyboard.type('json');
	assert.equal(await matched(page), 'Matched: 31.2 %');
	await page.keyboard.press('Escape');
	assert.equal(await matched(page), '');
	await page.keyboard.press('Control+f');
	assert(await page.getByRole('searchbox').evaluate((field) => field === document.activeElement));
	await page.keyboard.press('Escape');

	const focused = () => page.evaluate(() => document.activeElement?.getAttribute('name'));
	for (const [key, name] of [
		['ArrowUp', 'server'],
		['ArrowUp', 'main'],
		['ArrowLeft', 'idle'],
		['ArrowRight', 'main'],
		['ArrowUp', 'handle'],
		['ArrowRight', 'read'],
		['ArrowDown', 'main'],
		['ArrowUp', 'handle'],
	] as const) {
		await page.keyboard.press(key);
		assert.equal(await focused(), name, key);
	}
	assert.equal(await details(page), 'handle (460, 46.0 %; 6.0 % itself)');
	await page.keyboard.press('Enter');
	assert(!(await drawn(page)).some(({ name }) => name === 'read'));
	assert.equal(await focused(), 'handle');
	await page.keyboard.press('Escape');
	assert((await drawn(page)).some(({ name }) => name === 'read'));
});

test('Tab leads to everything: buttons, search, the graph', async (t) => {
	const page = await open(t, SERVER);
	const reached: (string | null | undefined)[] = [];
	for (let i = 0; i < 7; i++) {
		await page.keyboard.press('Tab');
		reached.push(
			await page.evaluate(() => {
				const at = document.activeElement;
				return at?.getAttribute('name') ?? at?.getAttribute('aria-label') ?? at?.textContent;
			}),
		);
	}
	assert.deepEqual(reached, ['Flame', 'Icicle', 'Table', 'By name', 'Left-heavy', 'Search', 'all']);
});

test('what is pointed at is told in full, with its unit and kind', async (t) => {
	const page = await open(t, SERVER, { origin: { unit: 'samples' } });
	const text = 'do_syscall_64 [kernel] (200 samples, 20.0 %)';
	await box(page, 'do_syscall_64').hover();
	assert.equal(await details(page), text);
	assert.equal(await box(page, 'do_syscall_64').locator('title').textContent(), text);
	await page.getByRole('heading').hover();
	assert.equal(await details(page), '1,000 samples in all, 13 functions');
});

test('follows the window down to a phone, and nothing is wider than it', async (t) => {
	const page = await open(t, SERVER);
	await page.setViewportSize({ width: 390, height: 844 });
	await page.waitForFunction(() => (document.querySelector('svg')?.clientWidth ?? 999) <= 390);
	for (const view of ['Flame', 'Icicle', 'Table']) {
		await button(page, view).click();
		assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, view);
		for (const { right } of await page.$$eval('button, input, rect, td, .value', (all) =>
			all.map((each) => each.getBoundingClientRect().toJSON()),
		)) {
			assert(right <= 390);
		}
	}
	await button(page, 'Flame').click();
	assertWidths(await drawn(page), SERVER);
});

test('dark where dark is wished for', async (t) => {
	const ground = (page: Page) =>
		page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	assert.equal(await ground(await open(t, SERVER)), 'rgb(255, 255, 255)');
	const page = await open(t, SERVER, { window: { dark: true } });
	assert.equal(await ground(page), 'rgb(22, 24, 28)');
});
