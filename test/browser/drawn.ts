/** Reads flame graphs off a page: what is where, as a user would see it. */
import type { Page } from 'playwright-core';

export interface Drawn {
	readonly name: string;
	readonly colour: string;
	/** Less than 1: it stands behind what is zoomed to. */
	readonly opacity: number;
	readonly left: number;
	readonly top: number;
	readonly width: number;
}

/** The boxes in the window's coordinates. */
export function drawn(page: Page): Promise<Drawn[]> {
	return page.evaluate(() =>
		[...document.querySelectorAll('g.frame')].map((box) => {
			const rect = box.querySelector('rect') as SVGRectElement;
			const { left, top } = (rect.ownerSVGElement as SVGSVGElement).getBoundingClientRect();
			const place = (box as SVGGElement).transform.baseVal.consolidate()?.matrix;
			return {
				name: box.getAttribute('name') ?? '',
				colour: getComputedStyle(rect).fill,
				opacity: Number(getComputedStyle(rect).opacity),
				left: left + (place?.e ?? 0),
				top: top + (place?.f ?? 0),
				width: rect.width.baseVal.value,
			};
		}),
	);
}

/** Boxes by their path from the root on, as `boxesOf` has them; by what they lie on. */
export function paths(boxes: readonly Drawn[], rootAtTop = false): Map<string, Drawn> {
	const way = rootAtTop ? 1 : -1;
	const rows = [...boxes].sort((a, b) => way * (a.top - b.top));
	const found = new Map<string, Drawn>();
	const known: { box: Drawn; path: string[] }[] = [];
	const row = rowHeight(boxes);
	for (const box of rows) {
		const middle = box.left + box.width / 2;
		const below = known.find(
			({ box: { left, top, width } }) =>
				Math.abs(box.top - way * row - top) < 1 && left < middle && middle < left + width,
		);
		const path = [...(below?.path ?? []), box.name];
		known.push({ box, path });
		found.set(JSON.stringify(path), box);
	}
	return found;
}

function rowHeight(boxes: readonly Drawn[]): number {
	const tops = [...new Set(boxes.map(({ top }) => Math.round(top)))].sort((a, b) => a - b);
	return Math.min(...tops.slice(1).map((top, index) => top - (tops[index] as number)));
}
