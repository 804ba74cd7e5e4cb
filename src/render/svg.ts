/**
 * A flame graph as SVG: one file, nothing loaded from anywhere. Without JavaScript it is a picture,
 * also inside <img>; with it (src/browser/svg/picture.ts) it fills the window, zooms and searches.
 *
 * A box is an <svg> of its own, and its place is in per cent, so that the boxes follow when the window
 * gets narrower. Names that are too long end in "…": as wide as their characters are likely to be, and
 * with JavaScript, as they are.
 */
import { type Flame, type FlameBox, layoutFlame } from '../aggregate/flame.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { svgScript, svgStyle } from '../generated/browser.js';
import { fittingName, likelyWidth_px, NAME_MARGIN_PX } from './box-labels.js';
import { grouped } from './numbers.js';
import { colourOf, ROOT_COLOUR } from './palettes.js';
import { amountText, type Look, shareText } from './picture-look.js';
import { inPieces } from './pieces.js';
import { printable } from './terminal.js';
import { escapeXml } from './xml.js';

/** A row of boxes, with the gap to the next. */
const ROW_PX = 17;
const MARGIN_PX = 10;
const HEADER_PX = 68;
/** Names of boxes narrower than this many pixels are not written: two letters say nothing. */
const TEXT_FROM_PX = 24;

/** What is drawn: one box for each frame of the flame. */
export interface Drawing {
	readonly flame: Flame;
	/** Of a box: its colour, its name, and what its tooltip says of it, without parentheses. */
	readonly paint: (box: FlameBox) => { colour: string; name: string; detail: string };
}

/** How wide the root's box is. */
export function innerWidth_px({ width_px }: Look): number {
	return width_px - 2 * MARGIN_PX;
}

/** The flame graph of a recording. */
export function renderSvg(profile: StackProfile, look: Look): Generator<string> {
	const { frames, stacks } = profile;
	const flame = layoutFlame(frames, stacks, {
		weights: stacks.values(),
		minShare: look.minWidth_px / innerWidth_px(look),
		order: 'name',
		reverse: look.reverse,
	});
	const total = flame.boxes[0]?.weight ?? 0;
	const paint: Drawing['paint'] = ({ frame, weight }) => {
		const detail = `${amountText(weight, look.countName)}, ${shareText(weight / total)}`;
		if (frame < 0) return { colour: ROOT_COLOUR, name: 'all', detail };
		const each = frames.frame(frame);
		return { colour: colourOf(each, look.palette), name: each.name, detail };
	};
	return drawSvg({ flame, paint }, look);
}

/** Any flame as SVG, in pieces. */
export function* drawSvg({ flame, paint }: Drawing, look: Look): Generator<string> {
	const rows = flame.depth + 1;
	const height = HEADER_PX + rows * ROW_PX + MARGIN_PX;
	const width = look.width_px;
	const inner = innerWidth_px(look);
	const title = escapeXml(look.title);
	yield `<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<svg xmlns="http://www.w3.org/2000/svg" class="tstrace-flame" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" data-root="${look.inverted ? 'top' : 'bottom'}">
<title>${title}</title>
<style>${svgStyle}</style>
<rect class="ground" width="100%" height="100%"/>
<svg class="frames" x="${MARGIN_PX}" y="${HEADER_PX}" width="${inner}" height="${rows * ROW_PX}">
`;
	const total = flame.boxes[0]?.weight ?? 0;
	const percent = (weight: number) => Number(((100 * weight) / total).toFixed(6));
	const boxes = function* () {
		for (const box of flame.boxes) {
			const { colour, name, detail } = paint(box);
			const row = look.inverted ? box.depth : flame.depth - box.depth;
			const label = escapeXml(name);
			const share = percent(box.weight);
			const text = nameElement(name, (share / 100) * inner);
			yield `<svg class="f" x="${percent(box.start)}%" y="${row * ROW_PX}" width="${share}%" height="${ROW_PX - 1}" data-depth="${box.depth}" data-value="${box.weight}">` +
				`<title>${label} (${escapeXml(detail.replace(/[()]/g, ''))})</title>` +
				`<rect width="100%" height="100%" fill="${colour}"/>${text}</svg>\n`;
		}
	};
	yield* inPieces(boxes());
	yield `</svg>
<g class="header">
<rect class="ground" width="100%" height="${HEADER_PX - 4}"/>
<svg class="titles" width="${width}" height="48">
<text class="title" x="${MARGIN_PX}" y="24">${title}</text>
<text class="subtitle" x="${MARGIN_PX}" y="41">${escapeXml(look.subtitle)}</text>
</svg>
<text class="details" x="${MARGIN_PX}" y="58">${leftOutText(flame, look)}</text>
</g>
<script><![CDATA[${svgScript}]]></script>
</svg>
`;
}

/** '' where there is no room for it. */
function nameElement(name: string, box_px: number): string {
	if (box_px < TEXT_FROM_PX) return '';
	const fitting = fittingName(printable(name), box_px - 2 * NAME_MARGIN_PX, likelyWidth_px);
	return fitting === '' ? '' : `<text x="${NAME_MARGIN_PX}" y="12">${escapeXml(fitting)}</text>`;
}

/** What is not in the picture, in words. */
function leftOutText({ left_out }: Flame, { minWidth_px }: Look): string {
	if (left_out === 0) return '';
	const boxes = left_out === 1 ? '1 box' : `${grouped(left_out)} boxes`;
	return `${boxes} narrower than ${minWidth_px} px ${left_out === 1 ? 'is' : 'are'} not drawn (--minwidth)`;
}
