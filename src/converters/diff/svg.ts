/** A differential flame graph: https://www.brendangregg.com/blog/2014-11-09/differential-flame-graphs.html */

import { hex } from '../../render/palettes.js';
import type { Look } from '../../render/picture-look.js';
import { type Drawing, drawSvg, innerWidth_px } from '../../render/svg.js';
import { changeOf, type Difference, type Sides } from './difference.js';
import { layoutDifference } from './flame.js';
import { Amounts, factorText, sidesText } from './words.js';

/** Everybody can distinguish red and blue, and black is readable on all three. After ColorBrewer's RdBu. */
const GREW = [244, 120, 90];
const SAME = [228, 228, 228];
const SHRANK = [95, 165, 225];

/** In pieces. */
export function renderDifferenceSvg(difference: Difference, look: Look): Generator<string> {
	const { flame, values } = layoutDifference(difference, {
		minShare: look.minWidth_px / innerWidth_px(look),
		order: 'name',
		reverse: look.reverse,
	});
	const valuesOf = new Map(
		flame.boxes.map((box, index) => [
			box,
			{ before: values.before[index] as number, after: values.after[index] as number },
		]),
	);
	const amounts = new Amounts(difference);
	const paint: Drawing['paint'] = (box) => {
		const sides = valuesOf.get(box) ?? { before: 0, after: 0 };
		const detail = sidesText(sides, difference, amounts);
		return {
			colour: differenceColour(sides),
			name: box.frame < 0 ? 'all' : difference.frames.name(box.frame),
			detail: box.frame < 0 ? `${detail}; ${factorText(difference)}` : detail,
		};
	};
	return drawSvg({ flame, paint }, look);
}

/** From full blue, gone, over grey, the same, to full red, new. */
export function differenceColour(sides: Sides<number>): string {
	const strength = changeOf(sides) / Math.max(sides.before, sides.after, Number.MIN_VALUE);
	const end = strength > 0 ? GREW : SHRANK;
	return hex(
		SAME.map((same, i) => Math.round(same + Math.abs(strength) * ((end[i] as number) - same))),
	);
}

/** What suits a difference, where the user says nothing. */
export function differenceTitles(difference: Difference): Pick<Look, 'title' | 'subtitle'> {
	const { before, after } = difference.sides;
	return {
		title: `Differential Flame Graph: ${fileName(before.name)} → ${fileName(after.name)}`,
		subtitle:
			'red: more after, full red: new · blue: less, full blue: gone · ' +
			`width: the larger of both · ${factorText(difference)}`,
	};
}

const fileName = (path: string): string => path.replace(/^.*\/(?=.)/, '');
