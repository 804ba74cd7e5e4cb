/** What `--format html` writes, as its reader meets it. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Origin } from '../../src/aggregate/stack-profile.js';
import { renderHtml } from '../../src/render/html.js';
import { type Look, suitableLook } from '../../src/render/look.js';
import { profileOf } from '../unit/profiles.js';
import { type Drawn, drawn, paths } from './drawn.js';
import { boxesOf, SERVER, type Stacks } from './profiles.js';
import { openPage, type Window, written } from './support.js';

async function open(
	t: TestContext,
	recording: Stacks,
	settings: { look?: Partial<Look>; origin?: Origin; window?: Window } = {},
): Promise<Page> {
	const profile = profileOf(recording, settings.origin);
	const look = { ...suitableLook(profile), ...settings.look };
	const file = written('page.html', renderHtml(profile, look));
	return (await openPage(t, file, settings.window)).page;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const box = (page: Page, name: string) => page.locator(`g.frame[name="${name}"]`);
const matched = (page: Page) => page.locator('output').textContent();
const search = (page: Page, term: string) => page.getByRole('searchbox').fill(term);
const details = (page: Page) => page.locator('.details').textContent();

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
		for (const { right } of await page.$$eval('button, input, rect, td', (all) =>
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

const TAGS = '</script></title><script>alert(2)</script>';

test('names are only ever text, whatever is in them', async (t) => {
	const names = [
		'<script>alert(1)</script>',
		TAGS,
		'<!--<script>',
		'<img src=x onerror=alert(3)>',
		'"><svg onload=alert(4)>',
		'it\'s `quoted` "twice" & \\u003cb>',
		'javascript:alert(5)',
		'$' + '{alert(6)}',
		'__proto__',
		'constructor',
		'two\nlines\u2028three',
		'\u202egnp.exe',
		'💥 ünï',
		'',
		`${'long'.repeat(2500)}!`,
	];
	const recording: Stacks = names.map((name, index) => [['main', name], index + 1]);
	const page = await open(t, recording, { look: { title: TAGS, subtitle: TAGS } });
	const escaped = new Map([
		['two\nlines\u2028three', 'two\\x0alines\\u2028three'],
		['\u202egnp.exe', '\\u202egnp.exe'],
		['', '(no name)'],
	]);
	const shown = names.map((name) => escaped.get(name) ?? name);
	const found = (await drawn(page)).map(({ name }) => name);
	assert.deepEqual(found.sort(), ['all', 'main', ...shown].sort());
	assert.equal(await page.title(), TAGS);
	await button(page, 'Table').click();
	const rows = await page.$$eval('td.name button', (all) => all.map((each) => each.textContent));
	assert.deepEqual(rows.sort(), ['main', ...shown].sort());
	// One that is long has a row of ordinary height, and is found by its end.
	for (const { height } of await page.$$eval('tr', (all) =>
		all.map((each) => each.getBoundingClientRect().toJSON()),
	)) {
		assert(height < 100);
	}
	await search(page, 'long!$');
	assert.equal(await page.locator('tbody tr').count(), 1);
	for (const [index, name] of shown.entries()) {
		await search(page, '');
		await button(page, 'Table').click();
		await page
			.locator('tbody button')
			.nth(names.length - 1 - index)
			.click();
		assert.match((await matched(page)) ?? '', /Matched: \d/, name);
	}
	await page.mouse.move(600, 600);
});

for (const depth of [5000, 12_000]) {
	test(`${depth} frames deep`, async (t) => {
		const frames = Array.from({ length: depth }, (_, index) => `f${index}`);
		const page = await open(t, [
			[frames, 3],
			[frames.slice(0, 100), 1],
		]);
		const rows = Math.min(depth, 10_000);
		assert.equal(await page.locator('g.frame').count(), rows + 1);
		const notes = await page.locator('footer').textContent();
		assert.equal(/cut off above their first 10,000 frames/.test(notes ?? ''), depth > rows);
		// In sight is the root; zoomed to the last one, that is.
		assert(await box(page, 'all').isVisible());
		await box(page, `f${rows - 1}`).dispatchEvent('click');
		assert.equal(await page.locator('g.frame').count(), rows + 1);
		await search(page, '^f4999$');
		assert.equal(await matched(page), 'Matched: 75.0 %');
		await button(page, 'Reset zoom').click();
		await button(page, 'Icicle').click();
		await button(page, 'Table').click();
		assert.equal(await page.locator('tbody tr').count(), 1);
	});
}

test('what is too narrow is left out, and the page says how much that is', async (t) => {
	const recording: Stacks = [
		[['main', 'large'], 9990],
		...Array.from({ length: 10 }, (_, index) => [['main', `small${index}`], 1] as const),
	];
	const page = await open(t, recording, { look: { minWidth_px: 1 } });
	assert.match(
		(await page.locator('.notes').textContent()) ?? '',
		/^10 boxes of less than 0\.08 % are left out, 0\.1 % in all/,
	);
	await button(page, 'Table').click();
	assert.equal(await page.locator('tbody tr').count(), 12);
	// A function's own total is known, also where no box is.
	await search(page, 'small3');
	assert.equal(await matched(page), 'Matched: 0.01 %');
	const whole = await open(t, recording, { look: { minWidth_px: 0 } });
	assert.equal(await whole.locator('.notes').count(), 0);
});

test('100,000 boxes open; what cannot be seen is drawn when it is zoomed to', async (t) => {
	const recording: Stacks = Array.from({ length: 100_000 }, (_, index) => [
		[`a${index % 10}`, `b${index % 1000}`, `c${index}`],
		1,
	]);
	const page = await open(t, recording, { look: { minWidth_px: 0 } });
	const count = await page.locator('g.frame').count();
	assert(count > 1000 && count <= 20_000, `${count}`);
	await search(page, '^a7$');
	assert.equal(await matched(page), 'Matched: 10.0 %');
	await box(page, 'a7').click();
	await box(page, 'b7').click();
	assert(await box(page, 'c7').isVisible());
	await search(page, '');
	await button(page, 'Table').click();
	assert.equal(await page.locator('tbody tr').count(), 300);
	await page.getByRole('button', { name: /^Show 300 more of / }).click();
	assert.equal(await page.locator('tbody tr').count(), 600);
});

test('nothing recorded: the page says so', async (t) => {
	const page = await open(t, []);
	assert.equal(await page.locator('main').textContent(), 'Nothing was recorded.');
});

test('without JavaScript the page says what to do', async (t) => {
	const page = await open(t, SERVER, { window: { scripts: false } });
	assert.match(await page.locator('body').innerText(), /--format svg/);
});

test('the policy holds: no other script, style or request', async (t) => {
	const page = await open(t, SERVER, { window: { expected: /Content Security Policy/ } });
	const refused = await page.evaluate(async () => {
		const events: string[] = [];
		document.addEventListener('securitypolicyviolation', (event) =>
			events.push(event.effectiveDirective),
		);
		const script = document.createElement('script');
		script.textContent = 'document.title = "executed"';
		document.body.append(script);
		document.body.insertAdjacentHTML('beforeend', '<p onclick="x" style="color: red">');
		await fetch('data:,x').catch(() => {});
		await new Promise((resolve) => setTimeout(resolve));
		return events;
	});
	assert(refused.includes('script-src-elem'));
	assert(refused.includes('connect-src'));
	assert.notEqual(await page.title(), 'executed');
});
