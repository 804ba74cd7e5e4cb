/** What is hostile, huge, deep or missing: the page stays right, or says what is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawn } from './drawn.js';
import { box, button, matched, open, search } from './page.js';
import { SERVER, type Stacks } from './profiles.js';

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
		assert.equal(/shows only the first 10,000 frames/.test(notes ?? ''), depth > rows);
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
		/^10 boxes below 0\.08 % are left out, 0\.1 % in all/,
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
