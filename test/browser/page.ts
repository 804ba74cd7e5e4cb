/** The page that `--format html` writes, for its tests. */
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { Origin } from '../../src/aggregate/stack-profile.js';
import { renderHtml } from '../../src/render/html.js';
import { type Look, suitableLook } from '../../src/render/picture-look.js';
import { profileOf } from '../unit/profiles.js';
import type { Stacks } from './profiles.js';
import { openPage, type Window, written } from './support.js';

/** Writes the page of a recording and opens it. */
export async function open(
	t: TestContext,
	recording: Stacks,
	settings: { look?: Partial<Look>; origin?: Origin; window?: Window } = {},
): Promise<Page> {
	const profile = profileOf(recording, settings.origin);
	const look = { ...suitableLook(profile), ...settings.look };
	const file = written('page.html', renderHtml(profile, look));
	return (await openPage(t, file, settings.window)).page;
}

/** Parts of the page, and what it says. */
export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
export const box = (page: Page, name: string) => page.locator(`g.frame[name="${name}"]`);
export const matched = (page: Page) => page.locator('output').textContent();
export const search = (page: Page, term: string) => page.getByRole('searchbox').fill(term);
export const details = (page: Page) => page.locator('.details').textContent();
