/** What speedscope itself shows of the files that are written for it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import type { Origin } from '../../src/aggregate/stack-profile.js';
import { withStackTool } from '../../src/converters/flamegraph/stack-tools.js';
import { renderSpeedscope } from '../../src/render/speedscope.js';
import { profileOfText } from '../unit/input/formats.js';
import { launch } from './support.js';

const APP = pathToFileURL(resolve('node_modules/speedscope/dist/release/index.html')).href;

/** The app with the file opened, at its table of frames. */
async function opened(t: TestContext, folded: string, origin: Origin): Promise<Page> {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-speedscope-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const file = join(folder, 'stacks.speedscope.json');
	const profile = await withStackTool({ ...(await profileOfText(folded)), origin });
	writeFileSync(file, [...renderSpeedscope(profile)].join(''));
	const browser = await launch();
	t.after(() => browser.close());
	const page = await browser.newPage();
	const problems: string[] = [];
	page.on('pageerror', ({ message }) => problems.push(message));
	page.on('dialog', (dialog) => problems.push(dialog.message()));
	t.after(() => assert.deepEqual(problems, []));
	await page.goto(APP);
	await page.locator('input[type=file]').first().setInputFiles(file);
	await page.getByText('Sandwich').click();
	await page.getByText('Symbol Name').waitFor();
	return page;
}

/** The table's rows by name: total and self, as they are written. */
async function rowsOf(page: Page): Promise<Map<string, [total: string, self: string]>> {
	const rows = await page.locator('tr').allInnerTexts();
	const cells = rows.map((row) =>
		row
			.split(/[\t\n]+/)
			.map((cell) => cell.trim())
			.filter((cell) => cell !== ''),
	);
	return new Map(
		cells.flatMap(([total = '', self = '', name = '']) =>
			name === 'Symbol Name' ? [] : [[name, [total, self]] as const],
		),
	);
}

test('frames, with their totals and what is their own, in the unit of the recording', async (t) => {
	const folded = 'sh;main;sys_read_[k] 5000000\nsh;main;parse_[i] 2000000\nsh 3000000\n';
	const page = await opened(t, folded, { tool: 'offcputime', unit: 'ns' });
	assert.deepEqual(
		await rowsOf(page),
		new Map([
			['sys_read', ['5.00ms (50%)', '5.00ms (50%)']],
			['parse', ['2.00ms (20%)', '2.00ms (20%)']],
			['sh', ['10.00ms (100%)', '3.00ms (30%)']],
			['main', ['7.00ms (70%)', '0.00ns (<0.01%)']],
		]),
	);
	assert.match(await page.title(), /Off-CPU Time Flame Graph/);
});

test('names that are markup, quotes and other scripts are shown as they are', async (t) => {
	const names = ['<b>bold</b>', '"quoted\\"', 'ünï💥', 'std::map<int, char>::at'];
	const page = await opened(t, names.map((name, i) => `${name} ${i + 1}\n`).join(''), {});
	assert.deepEqual([...(await rowsOf(page)).keys()].sort(), [...names].sort());
});
