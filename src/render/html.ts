/**
 * Stacks as one page: flame graph, icicle graph and a table of functions, with search. Nothing is
 * loaded from anywhere, and the page's own policy forbids it; src/browser/page/page.ts draws.
 *
 * Names are strangers'. They are in the page as JSON only, in which no tag can begin, and become
 * text there; were one ever taken for a script, the policy would not let it run.
 */
import { createHash } from 'node:crypto';
import { type Flame, layoutFlame } from '../aggregate/flame.js';
import { functionTotals } from '../aggregate/functions.js';
import type { PageReport } from '../aggregate/page-report.js';
import type { FrameKind } from '../aggregate/stack.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { pageScript, pageStyle } from '../generated/browser.js';
import { shareText } from './amounts.js';
import { renderReport } from './html-report.js';
import { grouped } from './numbers.js';
import type { PageData } from './page-data.js';
import { colourOf } from './palettes.js';
import type { Look } from './picture-look.js';
import { printable } from './terminal.js';
import { escapeXml } from './xml.js';

/** Deeper frames are cut off: browsers get slow with them, and nobody looks at so many rows. */
export const MAX_PAGE_DEPTH = 10_000;
/** Functions in the table, the largest ones. */
export const MAX_PAGE_FUNCTIONS = 20_000;
const KIND_DIGITS: Readonly<Record<FrameKind, string>> = {
	user: '0',
	kernel: '1',
	jit: '2',
	inlined: '3',
	javascript: '4',
	python: '5',
};

/** The page of a recording, in pieces; `report`: what it says first. */
export function* renderHtml(
	profile: StackProfile,
	look: Look,
	report?: PageReport,
): Generator<string> {
	const title = escapeXml(look.title);
	const heading = report ? 'h2' : 'h1';
	yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${hashOf(pageScript)}; style-src ${hashOf(pageStyle)}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${report ? escapeXml(report.title) : title}</title>
<style>${pageStyle}</style>
</head>
<body${report ? ' class="report"' : ''}>
`;
	if (report) yield* renderReport(report, profile.origin);
	yield `<header>
<${heading}>${title}</${heading}>
<p class="subtitle">${escapeXml(look.subtitle)}</p>
</header>
<noscript><p>${report ? 'The flame graph' : 'This page'} needs JavaScript, which is off here. An SVG does not: --format svg.</p></noscript>
<script type="application/json" id="data">`;
	yield embedded(pageData(profile, look));
	yield `</script>
<script>${pageScript}</script>
</body>
</html>
`;
}

/** What the page shows. */
export function pageData(profile: StackProfile, look: Look): PageData {
	const { frames, stacks } = profile;
	const values = stacks.values();
	const flame = cut(
		layoutFlame(frames, stacks, {
			weights: values,
			minShare: look.minWidth_px / look.width_px,
			order: 'name',
			reverse: look.reverse,
		}),
	);
	const { self, total } = functionTotals(frames, stacks, values);
	const all = flame.boxes[0]?.weight ?? 0;

	// The page's own numbers of frames: only what it shows, sorted by name.
	const kept = new Set(flame.boxes.flatMap(({ frame }) => (frame < 0 ? [] : frame)));
	const met = [...total.keys()].filter((frame) => (total[frame] as number) > 0);
	met.sort((a, b) => (total[b] as number) - (total[a] as number));
	for (const frame of met.slice(0, MAX_PAGE_FUNCTIONS)) kept.add(frame);
	const shown = [...kept].map((frame) => ({ frame, name: printable(frames.name(frame)) }));
	shown.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.frame - b.frame));
	const numbers = new Map(shown.map(({ frame }, number) => [frame, number]));

	return {
		countName: look.countName,
		inverted: look.inverted,
		notes: notes(flame, { all, functions: met.length - shown.length, look }),
		names: shown.map(({ name }) => name),
		kinds: shown.map(({ frame }) => KIND_DIGITS[frames.kind(frame)]).join(''),
		colours: shown
			.map(({ frame }) => colourOf(frames.frame(frame), look.palette).slice(1))
			.join(''),
		self: shown.map(({ frame }) => self[frame] as number),
		total: shown.map(({ frame }) => total[frame] as number),
		boxes: {
			frame: flame.boxes.map(({ frame }) => numbers.get(frame) ?? -1),
			parent: flame.boxes.map(({ parent }) => parent),
			weight: flame.boxes.map(({ weight }) => weight),
			self: flame.boxes.map(({ self }) => self),
		},
	};
}

/** The flame without what is deeper than a page can show. */
function cut(flame: Flame): Flame & { cut: boolean } {
	if (flame.depth <= MAX_PAGE_DEPTH) return { ...flame, cut: false };
	const places = new Map([[-1, -1]]);
	const boxes = flame.boxes.flatMap((box, index) => {
		if (box.depth > MAX_PAGE_DEPTH) return [];
		places.set(index, places.size - 1);
		return { ...box, parent: places.get(box.parent) as number };
	});
	return { ...flame, boxes, cut: true };
}

function notes(
	flame: Flame & { cut: boolean },
	{ all, functions, look }: { all: number; functions: number; look: Look },
): string[] {
	const said: string[] = [];
	if (look.reverse) said.push('Merged from the leaf: each box stands on the function it called.');
	if (flame.left_out > 0) {
		const least = shareText(look.minWidth_px / look.width_px);
		said.push(
			`${grouped(flame.left_out)} boxes below ${least} are left out, ` +
				`${shareText(all === 0 ? 0 : leftOut(flame) / all)} in all (--minwidth).`,
		);
	}
	if (flame.cut) {
		said.push(`This page shows only the first ${grouped(MAX_PAGE_DEPTH)} frames of a stack.`);
	}
	if (functions > 0) {
		said.push(`The table leaves out the ${grouped(functions)} smallest functions.`);
	}
	return said;
}

/** How much stands on boxes and has no box itself. */
function leftOut({ boxes }: Flame): number {
	let sum = 0;
	for (const { weight, self, parent } of boxes) {
		sum += weight - self;
		if (parent >= 0) sum -= weight;
	}
	return Math.max(0, sum);
}

/** JSON inside <script>: no tag and no comment can begin in it. */
function embedded(data: PageData): string {
	return JSON.stringify(data).replace(
		/[<\u2028\u2029]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
}

/** As a policy names what it lets run. */
function hashOf(text: string): string {
	return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
