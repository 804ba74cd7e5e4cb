/**
 * What makes src/render/svg.ts's picture interactive: it fills the window, a click or Enter zooms,
 * arrows move from box to box, Ctrl-F or / searches, Escape goes back.
 *
 * Runs in the picture itself, from a file anywhere; names are strangers', and are only ever text.
 */
export {};

const SVG = 'http://www.w3.org/2000/svg';
const XHTML = 'http://www.w3.org/1999/xhtml';
const MARGIN_PX = 10;
const TEXT_FROM_PX = 8;
/** A millionth of a per cent is how finely places are written. */
const ROUNDING = 2e-6;

interface Box {
	readonly element: SVGSVGElement;
	readonly x: number;
	readonly width: number;
	readonly y: number;
	/** From the root, which is 0. */
	readonly depth: number;
	readonly value: number;
	readonly name: string;
}

const root = (document.currentScript as SVGScriptElement | null)?.ownerSVGElement;
if (root) start(root);

function start(root: SVGSVGElement): void {
	const find = <T extends Element>(selector: string) =>
		root.querySelector<T & Element>(selector) as T;
	const frames = find<SVGSVGElement>('.frames');
	const header = find<SVGGElement>('.header');
	const details = find<SVGTextElement>('.details');
	const height = Number(root.getAttribute('height'));
	const boxes = [...frames.querySelectorAll<SVGSVGElement>('.f')].map(readBox);
	const byElement = new Map(boxes.map((box) => [box.element, box]));
	const all = boxes[0];
	if (!all) return;
	let zoomed = all;
	let focused = all;

	/* The header: what is pointed at, and two buttons. */

	const reset = button('Reset zoom', () => zoom(all as Box));
	const search = button('Search', openSearch);
	const matched = document.createElementNS(SVG, 'text');
	matched.setAttribute('class', 'matched');
	matched.setAttribute('text-anchor', 'end');
	matched.setAttribute('y', '41');
	header.append(matched);
	const field = searchField();
	const input = field.querySelector('input') as HTMLInputElement;

	function button(label: string, action: () => void): SVGTextElement {
		const text = document.createElementNS(SVG, 'text');
		text.textContent = label;
		text.setAttribute('class', 'button');
		text.setAttribute('role', 'button');
		text.setAttribute('tabindex', '0');
		text.setAttribute('text-anchor', 'end');
		text.setAttribute('y', '22');
		text.addEventListener('click', action);
		text.addEventListener('keydown', (event) => {
			if (event.key !== 'Enter' && event.key !== ' ') return;
			event.preventDefault();
			action();
		});
		header.append(text);
		return text;
	}

	function searchField(): SVGForeignObjectElement {
		const field = document.createElementNS(SVG, 'foreignObject');
		field.setAttribute('y', '4');
		field.setAttribute('height', '26');
		field.style.display = 'none';
		const input = document.createElementNS(XHTML, 'input') as HTMLInputElement;
		input.setAttribute('type', 'search');
		input.setAttribute('placeholder', 'text or regular expression');
		input.setAttribute('aria-label', 'search');
		input.addEventListener('input', () => showMatches(input.value));
		field.append(input);
		header.append(field);
		return field;
	}

	/* Zoom: what is clicked gets the whole width, and so does what it stands on. */

	function zoom(box: Box): void {
		zoomed = box;
		for (const each of boxes) place(each);
		reset.style.display = box === all ? 'none' : '';
		moveFocus(box, false);
	}

	function place({ element, x, width, depth }: Box): void {
		const below =
			depth < zoomed.depth &&
			x <= zoomed.x + ROUNDING &&
			x + width >= zoomed.x + zoomed.width - ROUNDING;
		const inside =
			depth >= zoomed.depth &&
			x >= zoomed.x - ROUNDING &&
			x + width <= zoomed.x + zoomed.width + ROUNDING;
		element.style.display = below || inside ? '' : 'none';
		element.classList.toggle('below', below);
		const scale = 100 / zoomed.width;
		element.setAttribute('x', below ? '0' : `${(x - zoomed.x) * scale}%`);
		element.setAttribute('width', below ? '100%' : `${width * scale}%`);
		if (below || inside) name(element, below ? 100 : width * scale);
	}

	/** Writes a box's name where there is room for it, which there was not when it was drawn. */
	function name(element: SVGSVGElement, percent: number): void {
		if (element.lastElementChild?.tagName === 'text') return;
		if ((percent / 100) * frames.width.baseVal.value < TEXT_FROM_PX) return;
		const text = document.createElementNS(SVG, 'text');
		text.setAttribute('x', '3');
		text.setAttribute('y', '12');
		text.textContent = byElement.get(element)?.name ?? '';
		element.append(text);
	}

	/* Search: a text, or a regular expression; capitals matter if there are any. */

	function openSearch(): void {
		field.style.display = '';
		search.style.display = 'none';
		input.focus();
		input.select();
	}

	function closeSearch(): void {
		field.style.display = 'none';
		search.style.display = '';
		input.value = '';
		showMatches('');
		focused.element.focus();
	}

	function showMatches(term: string): void {
		const matches = matcher(term);
		const found = boxes.filter((box) => {
			const match = box !== all && term !== '' && matches(box.name);
			box.element.classList.toggle('match', match);
			return match;
		});
		const share = (100 * covered(found)) / (all as Box).value;
		matched.textContent = term === '' ? '' : `Matched: ${share.toFixed(1)} %`;
	}

	/* Keyboard. */

	function moveFocus(box: Box, really = true): void {
		focused.element.setAttribute('tabindex', '-1');
		focused = box;
		box.element.setAttribute('tabindex', '0');
		if (really) box.element.focus();
	}

	/** The box that an arrow leads to, among those that can be seen. */
	function neighbour(key: string): Box | undefined {
		const here = focused.element.getBoundingClientRect();
		const seen = boxes
			.filter(({ element }) => element.style.display !== 'none')
			.map((box) => ({ box, at: box.element.getBoundingClientRect() }));
		const way = { ArrowUp: -1, ArrowDown: 1 }[key];
		if (way === undefined) {
			const side = key === 'ArrowLeft' ? -1 : 1;
			const row = seen.filter(
				({ box, at }) => box.y === focused.y && Math.sign(at.left - here.left) === side,
			);
			return nearest(row, ({ at }) => Math.abs(at.left - here.left))?.box;
		}
		const touching = seen.filter(
			({ box, at }) =>
				Math.sign(box.y - focused.y) === way && at.right > here.left && at.left < here.right,
		);
		const row = nearest(touching, ({ box }) => Math.abs(box.y - focused.y))?.box.y;
		return nearest(
			touching.filter(({ box }) => box.y === row),
			({ at }) => -overlap(at, here),
		)?.box;
	}

	root.addEventListener('keydown', (event) => {
		const typing = event.target === input;
		const find = event.key === 'f' && (event.ctrlKey || event.metaKey);
		let done = true;
		if (find || (event.key === '/' && !typing)) openSearch();
		else if (event.key === 'Escape') goBack();
		else if (event.key === 'Enter' && event.target === focused.element) zoom(focused);
		else if (event.key.startsWith('Arrow') && !typing) moveFocus(neighbour(event.key) ?? focused);
		else done = false;
		if (done) event.preventDefault();
	});

	function goBack(): void {
		if (field.style.display === 'none') zoom(all as Box);
		else closeSearch();
	}

	/* Mouse. */

	const boxOf = (target: EventTarget | null) =>
		byElement.get((target as Element).closest('.f') as SVGSVGElement);
	frames.addEventListener('click', (event) => {
		const box = boxOf(event.target);
		if (box) zoom(box);
	});
	for (const type of ['pointerover', 'focusin'] as const) {
		frames.addEventListener(type, (event) => {
			const title = boxOf(event.target)?.element.querySelector('title')?.textContent;
			if (title) details.textContent = title;
		});
	}

	/* The window: boxes follow its width, the header stays in sight. */

	const alone = (document.documentElement as Element) === root;
	function fit(): void {
		const parent = root.parentElement;
		const width = alone ? window.innerWidth : (parent?.clientWidth ?? window.innerWidth);
		root.removeAttribute('viewBox');
		root.setAttribute('width', `${width}`);
		root.setAttribute('height', `${height}`);
		frames.setAttribute('width', `${Math.max(1, width - 2 * MARGIN_PX)}`);
		const right = width - MARGIN_PX;
		search.setAttribute('x', `${right}`);
		reset.setAttribute('x', `${right - 60}`);
		matched.setAttribute('x', `${right}`);
		const room = Math.min(260, right - MARGIN_PX);
		field.setAttribute('x', `${right - room}`);
		field.setAttribute('width', `${room}`);
		for (const box of boxes) place(box);
	}
	function follow(): void {
		if (alone) header.setAttribute('transform', `translate(0 ${window.scrollY})`);
	}
	window.addEventListener('resize', fit);
	window.addEventListener('scroll', follow, { passive: true });
	fit();
	zoom(all);
	if (alone && root.dataset.root === 'bottom') window.scrollTo(0, height);
	follow();

	function readBox(element: SVGSVGElement): Box {
		const title = element.querySelector('title')?.textContent ?? '';
		return {
			element,
			x: Number.parseFloat(element.getAttribute('x') ?? '0'),
			width: Number.parseFloat(element.getAttribute('width') ?? '0'),
			y: Number(element.getAttribute('y')),
			depth: Number(element.dataset.depth),
			value: Number(element.dataset.value),
			// What the last parenthesis says was added to it.
			name: title.replace(/ \([^()]*\)$/, ''),
		};
	}
}

/** How many pixels two boxes have above each other. */
function overlap(a: DOMRect, b: DOMRect): number {
	return Math.min(a.right, b.right) - Math.max(a.left, b.left);
}

/** How much the boxes cover together; what stands on another one is in it already. */
function covered(boxes: readonly Box[]): number {
	let value = 0;
	let end = -1;
	// Wider ones first where several begin together: these are the lower ones.
	for (const box of [...boxes].sort((a, b) => a.x - b.x || b.width - a.width)) {
		if (box.x < end - ROUNDING) continue;
		value += box.value;
		end = box.x + box.width;
	}
	return value;
}

function matcher(term: string): (name: string) => boolean {
	const flags = /\p{Lu}/u.test(term) ? 'u' : 'iu';
	try {
		const pattern = new RegExp(term, flags);
		return (name) => pattern.test(name);
	} catch {
		return (name) => name.includes(term);
	}
}

function nearest<T>(all: readonly T[], distance: (each: T) => number): T | undefined {
	let best: T | undefined;
	for (const each of all) {
		if (best === undefined || distance(each) < distance(best)) best = each;
	}
	return best;
}
