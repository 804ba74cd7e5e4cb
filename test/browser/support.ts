/** Opens pictures and pages as a user does: in a real browser, from a file. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where distributions put it. */
const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export interface Window {
	readonly width?: number;
	readonly height?: number;
	/** prefers-color-scheme */
	readonly dark?: boolean;
	/** Problems that the test itself brings about. */
	readonly expected?: RegExp;
	/** Whether JavaScript runs. */
	readonly scripts?: boolean;
}

/** One browser for all tests of a file: it takes half a second to start. */
let browser: Promise<Browser> | undefined;
const folder = mkdtempSync(join(tmpdir(), 'tstrace-browser-'));
after(async () => {
	await (await browser)?.close();
	rmSync(folder, { recursive: true });
});

export function launch(): Promise<Browser> {
	const executablePath = EXECUTABLES.find((path) => existsSync(path));
	assert(executablePath, 'no Chromium: run scripts/setup.sh browser');
	// Its sandbox refuses root, and what is opened here was written here.
	return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Writes what a renderer yields to a file of its own; returns its path. */
export function written(name: string, pieces: Iterable<string | Uint8Array>): string {
	const path = join(mkdtempSync(join(folder, 'file-')), name);
	writeFileSync(path, Buffer.concat([...pieces].map((piece) => Buffer.from(piece))));
	return path;
}

/**
 * Opens a file in a window. The test fails if the file asks for anything but itself, or reports an
 * error, or opens a dialog or another window; checked when the test ends, and by `quiet`.
 */
export async function openPage(
	t: TestContext,
	file: string,
	{ width = 1280, height = 800, dark = false, scripts = true, expected }: Window = {},
): Promise<{ page: Page; quiet: () => void }> {
	browser ??= launch();
	const context = await (await browser).newContext({
		viewport: { width, height },
		colorScheme: dark ? 'dark' : 'light',
		offline: true,
		javaScriptEnabled: scripts,
	});
	const url = pathToFileURL(file).href;
	const problems: string[] = [];
	context.on('request', (request) => {
		if (request.url() !== url) problems.push(`request: ${request.url().slice(0, 200)}`);
	});
	context.on('console', (message) => {
		if (['error', 'warning', 'assert'].includes(message.type())) problems.push(message.text());
	});
	context.on('weberror', (error) => problems.push(`${error.error()}`));
	context.on('dialog', (dialog) => {
		problems.push(`dialog: ${dialog.message()}`);
		void dialog.dismiss();
	});
	const page = await context.newPage();
	context.on('page', (other) => problems.push(`opened ${other.url()}`));
	page.on('websocket', (socket) => problems.push(`socket: ${socket.url()}`));
	page.on('worker', (worker) => problems.push(`worker: ${worker.url()}`));
	page.on('crash', () => problems.push('the page crashed'));
	const quiet = () =>
		assert.deepEqual(
			problems.filter((problem) => !expected?.test(problem)),
			[],
		);
	t.after(async () => {
		await context.close();
		quiet();
	});
	await page.goto(url);
	return { page, quiet };
}
