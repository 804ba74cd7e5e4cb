import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage, written } from './support.js';

const PAGE = (script: string) => [
	'<!doctype html><meta charset="utf-8"><title>page</title>',
	`<p>text</p><script>${script}</script>`,
];

test('a page is opened at a size and in a colour scheme', async (t) => {
	const script =
		'document.title = [innerWidth, innerHeight, matchMedia("(prefers-color-scheme: dark)").matches]';
	const { page } = await openPage(t, written('page.html', PAGE(script)), {
		width: 390,
		height: 844,
		dark: true,
	});
	assert.equal(await page.title(), '390,844,true');
});

function problems(quiet: () => void): string {
	try {
		quiet();
		return '';
	} catch (error) {
		return `${error}`;
	}
}

/** What a page must not do, and what is said of it. */
const MISDEEDS: Readonly<Record<string, RegExp>> = {
	'new Image().src = "http://127.0.0.1:9/x.png"': /request: http/,
	'fetch("other.txt").catch(() => {})': /other\.txt/,
	'throw new Error("oops")': /oops/,
	'console.error("bad")': /bad/,
	'alert(1)': /dialog: 1/,
};

for (const [script, problem] of Object.entries(MISDEEDS)) {
	test(`noticed: ${script}`, { timeout: 30_000 }, async (t) => {
		// A context of its own for what is to fail: only its problems are looked at.
		const afters: (() => Promise<void>)[] = [];
		const inner = { after: (each: () => Promise<void>) => afters.push(each) };
		const { page, quiet } = await openPage(inner as never, written('bad.html', PAGE(script)));
		t.after(() => page.context().close());
		// The browser reports in its own time.
		while (!problems(quiet).match(problem)) await page.evaluate(() => 0);
	});
}
