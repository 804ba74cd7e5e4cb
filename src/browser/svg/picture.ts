/**
 * What makes src/render/svg.ts's picture interactive: it fills the window, a click or Enter zooms,
 * arrows move from box to box, Ctrl-F or / searches, Escape goes back.
 *
 * Runs in the picture itself, from a file anywhere; names are strangers', and are only ever text.
 */
import { fittingName, likelyWidth_px, NAME_MARGIN_PX } from '../../render/box-labels.js';
import { matcher } from '../search.js';
import { type Box, carries, covered, neighbour, readBoxes } from './boxes.js';
import { Header } from './header.js';

const SVG = 'http://www.w3.org/2000/svg';
const XHTML = 'http://www.w3.org/1999/xhtml';
const MARGIN_PX = 10;
/** As src/render/svg.ts has it. */
const TEXT_FROM_PX = 24;
const HEADER_PX = 68;

class Picture {
	readonly #svg: SVGSVGElement;
	readonly #frames: SVGSVGElement;
	readonly #header: Header;
	readonly #boxes: readonly Box[];
	readonly #byElement: ReadonlyMap<Element, Box>;
	readonly #root: Box;
	/** Not in a page. */
	readonly #isAlone: boolean;
	readonly #width_px: (character: string) => number;
	#zoomed: Box;
	#focused: Box;

	constructor(svg: SVGSVGElement, frames: SVGSVGElement, boxes: readonly [Box, ...Box[]]) {
		this.#svg = svg;
		this.#isAlone = (document.documentElement as Element) === svg;
		this.#frames = frames;
		this.#width_px = widthsIn(frames);
		this.#boxes = boxes;
		this.#byElement = new Map(boxes.map((box) => [box.element, box]));
		this.#root = boxes[0];
		this.#zoomed = this.#root;
		this.#focused = this.#root;
		this.#header = new Header(svg.querySelector('.header') as SVGGElement, {
			resetZoom: () => this.zoom(this.#root),
			search: (term) => this.#search(term),
			leave: () => this.#focused.element.focus(),
		});
		svg.addEventListener('keydown', (event) => this.#onKey(event));
		frames.addEventListener('click', ({ target }) => {
			const box = this.#boxAt(target);
			if (box) this.zoom(box);
		});
		for (const type of ['pointerover', 'focusin'] as const) {
			frames.addEventListener(type, ({ target }) => this.#details(this.#boxAt(target)));
		}
		this.#followWindow();
		this.zoom(this.#root);
	}

	/** Gives the box the whole width, and so what it stands on. */
	zoom(box: Box): void {
		this.#zoomed = box;
		for (const each of this.#boxes) this.#place(each);
		this.#header.showReset(box !== this.#root);
		this.#focus(box);
	}

	#place(box: Box): void {
		const { element, x, width } = box;
		const inside = carries(this.#zoomed, box);
		const below = !inside && carries(box, this.#zoomed);
		const scale = 100 / this.#zoomed.width;
		const percent = below ? 100 : width * scale;
		element.style.display = inside || below ? '' : 'none';
		element.classList.toggle('below', below);
		element.setAttribute('x', `${below ? 0 : (x - this.#zoomed.x) * scale}%`);
		element.setAttribute('width', `${percent}%`);
		if (inside || below) this.#name(box, percent);
	}

	/** Writes as much of a name as there is room for now. */
	#name({ element, name }: Box, percent: number): void {
		const box_px = (percent / 100) * Number(this.#frames.getAttribute('width'));
		const room_px = box_px - 2 * NAME_MARGIN_PX;
		const fitting = box_px < TEXT_FROM_PX ? '' : fittingName(name, room_px, this.#width_px);
		const last = element.lastElementChild;
		const text = last?.tagName === 'text' ? last : undefined;
		if (fitting === '') text?.remove();
		else if (text === undefined) element.append(nameElement(fitting));
		else if (text.textContent !== fitting) text.textContent = fitting;
	}

	#search(term: string): string {
		const matches = matcher(term);
		const found = this.#boxes.filter((box) => {
			const match = term !== '' && box !== this.#root && matches(box.name);
			box.element.classList.toggle('match', match);
			return match;
		});
		this.#scrollTo(found);
		const share = (100 * covered(found)) / this.#root.value;
		return term === '' ? '' : `Matched: ${share.toFixed(1)} %`;
	}

	/** Brings the first of these into sight, if none is. */
	#scrollTo(boxes: readonly Box[]): void {
		const rows = boxes
			.filter(({ element }) => element.style.display !== 'none')
			.map(({ element }) => element.getBoundingClientRect().top);
		const [first] = rows;
		if (first === undefined || rows.some((top) => top > HEADER_PX && top < window.innerHeight))
			return;
		window.scrollBy(0, first - window.innerHeight / 2);
		// Now, not at the next frame: a key typed meanwhile would scroll back to where its field was.
		if (this.#isAlone) this.#header.follow(window.scrollY);
	}

	#onKey(event: KeyboardEvent): void {
		const typing = event.target === this.#header.input;
		const find = event.key === 'f' && (event.ctrlKey || event.metaKey);
		const modified = event.ctrlKey || event.metaKey || event.altKey;
		if (modified && !find) return; // the browser's: Alt-Left goes back
		const action = find ? () => this.#header.openSearch() : this.#actionOf(event.key, typing);
		if (!action) return;
		event.preventDefault();
		action();
	}

	#actionOf(key: string, typing: boolean): (() => void) | undefined {
		if (key === 'Escape') return () => this.#goBack();
		if (typing) return undefined;
		if (key === '/') return () => this.#header.openSearch();
		if (key === 'Enter') return () => this.zoom(this.#focused);
		if (!key.startsWith('Arrow')) return undefined;
		return () => {
			const next = neighbour(this.#boxes, this.#focused, key) ?? this.#focused;
			this.#focus(next);
			next.element.focus();
		};
	}

	#goBack(): void {
		if (this.#header.searching) this.#header.closeSearch();
		else this.zoom(this.#root);
	}

	/** Tab leads to this one. */
	#focus(box: Box): void {
		this.#focused.element.setAttribute('tabindex', '-1');
		this.#focused = box;
		box.element.setAttribute('tabindex', '0');
	}

	#boxAt(target: EventTarget | null): Box | undefined {
		const element = target instanceof Element ? target.closest('.f') : null;
		return element ? this.#byElement.get(element) : undefined;
	}

	#details(box: Box | undefined): void {
		const title = box?.element.querySelector('title')?.textContent;
		if (title) this.#header.showDetails(title);
	}

	/** Boxes follow the window's width, the header stays in sight; in a page, its parent's width. */
	#followWindow(): void {
		const height = Number(this.#svg.getAttribute('height'));
		const fit = () => {
			const width = this.#isAlone ? window.innerWidth : this.#svg.parentElement?.clientWidth;
			if (!width) return;
			this.#svg.removeAttribute('viewBox');
			this.#svg.setAttribute('width', `${width}`);
			if (this.#isAlone)
				this.#svg.setAttribute('height', `${Math.max(height, window.innerHeight)}`);
			this.#frames.setAttribute('width', `${Math.max(1, width - 2 * MARGIN_PX)}`);
			this.#header.fit(width);
			for (const box of this.#boxes) this.#place(box);
		};
		window.addEventListener('resize', fit);
		fit();
		if (!this.#isAlone) return;
		const follow = () => this.#header.follow(window.scrollY);
		window.addEventListener('scroll', follow, { passive: true });
		if (this.#svg.dataset.root === 'bottom') window.scrollTo(0, height);
		follow();
	}
}

function nameElement(name: string): SVGTextElement {
	const text = document.createElementNS(SVG, 'text');
	text.setAttribute('x', `${NAME_MARGIN_PX}`);
	text.setAttribute('y', '12');
	text.textContent = name;
	return text;
}

/** How wide each character is in the font of an element; it is asked for once. */
function widthsIn(element: Element): (character: string) => number {
	const canvas = document.createElementNS(XHTML, 'canvas') as HTMLCanvasElement;
	const context = canvas.getContext('2d');
	if (!context) return likelyWidth_px;
	const { fontSize, fontFamily } = getComputedStyle(element);
	context.font = `${fontSize} ${fontFamily}`;
	const widths = new Map<string, number>();
	return (character) => {
		const known = widths.get(character);
		if (known !== undefined) return known;
		const { width } = context.measureText(character);
		widths.set(character, width);
		return width;
	};
}

const svg = (document.currentScript as SVGScriptElement | null)?.ownerSVGElement;
const frames = svg?.querySelector<SVGSVGElement>('.frames');
if (svg && frames) {
	const [root, ...others] = readBoxes(frames);
	if (root) new Picture(svg, frames, [root, ...others]);
}
