/** The boxes of a picture: where they are, and which is beside which. */

/** A millionth of a per cent is how finely places are written. */
const ROUNDING = 2e-6;

export interface Box {
	readonly element: SVGSVGElement;
	readonly name: string;
	/** Where it begins and how wide it is, in per cent of the root. */
	readonly x: number;
	readonly width: number;
	readonly y: number;
	/** 0 for the root. */
	readonly depth: number;
	readonly value: number;
}

/** All boxes, the root first. */
export function readBoxes(frames: SVGSVGElement): Box[] {
	return [...frames.querySelectorAll<SVGSVGElement>('.f')].map((element) => ({
		element,
		name: nameOf(element),
		x: Number.parseFloat(element.getAttribute('x') ?? '0'),
		width: Number.parseFloat(element.getAttribute('width') ?? '0'),
		y: Number(element.getAttribute('y')),
		depth: Number(element.dataset.depth),
		value: Number(element.dataset.value),
	}));
}

/** The tooltip without its last parenthesis, which says how much it is. */
function nameOf(element: SVGSVGElement): string {
	return (element.querySelector('title')?.textContent ?? '').replace(/ \([^()]*\)$/, '');
}

/** Whether `lower` carries `upper`, or is it. */
export function carries(lower: Box, upper: Box): boolean {
	return (
		lower.depth <= upper.depth &&
		lower.x <= upper.x + ROUNDING &&
		lower.x + lower.width >= upper.x + upper.width - ROUNDING
	);
}

/** How much these cover together; what stands on another one is in it already. */
export function covered(boxes: readonly Box[]): number {
	let value = 0;
	let end = -1;
	// Lower ones first where several begin together.
	for (const box of [...boxes].sort((a, b) => a.x - b.x || a.depth - b.depth)) {
		if (box.x < end - ROUNDING) continue;
		value += box.value;
		end = box.x + box.width;
	}
	return value;
}

/** The box that an arrow key leads to from `here`, among those that can be seen. */
export function neighbour(boxes: readonly Box[], here: Box, key: string): Box | undefined {
	const from = here.element.getBoundingClientRect();
	const seen = boxes
		.filter(({ element }) => element.style.display !== 'none')
		.map((box) => ({ box, at: box.element.getBoundingClientRect() }));
	const way = { ArrowUp: -1, ArrowDown: 1 }[key];
	if (way === undefined) {
		const side = key === 'ArrowLeft' ? -1 : 1;
		const beside = seen.filter(
			({ box, at }) => box.y === here.y && Math.sign(at.left - from.left) === side,
		);
		return least(beside, ({ at }) => Math.abs(at.left - from.left))?.box;
	}
	const touching = seen.filter(
		({ box, at }) => Math.sign(box.y - here.y) === way && overlap(at, from) > 0,
	);
	const row = least(touching, ({ box }) => Math.abs(box.y - here.y))?.box.y;
	const next = touching.filter(({ box }) => box.y === row);
	return least(next, ({ at }) => -overlap(at, from))?.box;
}

/** How many pixels two have above each other. */
function overlap(a: DOMRect, b: DOMRect): number {
	return Math.min(a.right, b.right) - Math.max(a.left, b.left);
}

function least<T>(all: readonly T[], measure: (each: T) => number): T | undefined {
	let best: T | undefined;
	for (const each of all) if (best === undefined || measure(each) < measure(best)) best = each;
	return best;
}
