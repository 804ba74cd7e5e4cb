/** The flame or icicle graph: d3-flame-graph draws it; zoom, search and focus are told to it. */
import flamegraph, { type FlameNode } from 'd3-flame-graph';
import { select } from 'd3-selection';
import type { PageBox, Recording } from './data.js';
import { make } from './elements.js';

type Node = FlameNode<PageBox>;

const ROW_PX = 18;
/** Narrower boxes cannot be seen; zooming shows them. */
const LEAST_PX = 0.5;
/** More are not drawn at a time: the narrowest are left for zooming. A browser manages these in a second. */
const MAX_DRAWN = 20_000;
/** Names of narrower boxes are not written: d3-flame-graph's choice. */
const NAME_FROM_PX = 35;
/** Nothing would be seen of narrower boxes but their edges. */
const FRAMED_FROM_PX = 3;
const MATCH_COLOUR = '#b000b0';
const ROOT_COLOUR = '#d8d8d8';

interface GraphEvents {
	/** A box is pointed at, or has the focus; undefined: none any more. */
	pointed(text: string | undefined): void;
	zoomed(isZoomed: boolean): void;
}

/** d3-flame-graph's own zoom and search call themselves for each row: too deep for deep stacks. */
export class Graph {
	readonly element = make('div', { class: 'graph' });
	rootAtTop: boolean;
	order: 'name' | 'weight' = 'name';
	/** Whether a function is highlighted, by its number. */
	matches: readonly boolean[] = [];
	readonly #recording: Recording;
	readonly #events: GraphEvents;
	readonly #chart = flamegraph<PageBox>();
	#nodes: readonly Node[] = [];
	#elements = new Map<Node, SVGGElement>();
	#zoomed: Node | undefined;
	#focused: Node | undefined;

	constructor(recording: Recording, events: GraphEvents) {
		this.#recording = recording;
		this.#events = events;
		this.rootAtTop = recording.inverted;
		this.#chart
			.cellHeight(ROW_PX)
			.getName(({ data }) => recording.name(data.frame))
			.getValue((data) => data.weight)
			.getChildren((data) => data.children)
			.setLabelHandler(({ data }) => this.#text(data))
			.setDetailsHandler((label) => events.pointed(label ?? undefined))
			.setColorMapper(({ data }) => this.#colour(data));
		// Before d3-flame-graph hears of it.
		this.element.addEventListener('click', (event) => this.#clicked(event), { capture: true });
		this.element.addEventListener('focusin', ({ target }) => {
			const node = this.#nodeOf(target);
			if (node) events.pointed(this.#text(node.data));
		});
	}

	/** Draws, when something has changed; `element` is in the document. */
	draw(): void {
		const width = this.element.clientWidth;
		if (width === 0) return;
		if (this.#nodes.length === 0) this.#lay();
		this.#prepare(width);
		this.#chart.update();
		this.#finish(width);
	}

	/** Gives a box the whole width, and what it stands on. */
	zoom(node = this.#nodes[0]): void {
		if (!node) return;
		for (const { data } of this.#nodes) {
			data.hide = false;
			data.fade = false;
		}
		for (let child = node; child.parent; child = child.parent) {
			child.parent.data.fade = true;
			for (const sibling of child.parent.children ?? []) sibling.data.hide = sibling !== child;
		}
		const hasFocus = this.element.contains(document.activeElement);
		this.#zoomed = node;
		this.#focused = node;
		this.draw();
		if (hasFocus) this.#focus(node);
		this.#elements.get(node)?.scrollIntoView({ block: 'nearest' });
		this.#events.zoomed(node !== this.#nodes[0]);
	}

	/** To the root's end, where a graph is looked at first. */
	scrollToRoot(): void {
		this.element.scrollTop = this.rootAtTop ? 0 : this.element.scrollHeight;
	}

	/**
	 * How much the highlighted functions cover together; what stands on another one is in it already.
	 * Of what was left out of the boxes only the totals are known, so it may be a little more.
	 */
	matchedWeight(): number {
		let weight = 0;
		const waiting = [this.#recording.root];
		for (let box = waiting.pop(); box; box = waiting.pop()) {
			if (this.matches[box.frame]) weight += box.weight;
			else for (const child of box.children) waiting.push(child);
		}
		let most = 0;
		for (const [frame, total] of this.#recording.total.entries()) {
			if (this.matches[frame]) most = Math.max(most, total);
		}
		return Math.max(weight, most);
	}

	/** What a key does when the graph has the focus; false: nothing. */
	key(key: string): boolean {
		if (key === 'Enter' || key === ' ') this.zoom(this.#focused);
		else if (key.startsWith('Arrow')) this.#focus(this.#neighbour(key));
		else return false;
		return true;
	}

	#text({ frame, weight, self }: PageBox): string {
		const { name, kind, amount, share } = this.#recording;
		const mark = kind(frame);
		const own = self > 0 && self !== weight ? `; ${share(self)} itself` : '';
		return `${name(frame)}${mark && ` [${mark}]`} (${amount(weight)}${own})`;
	}

	#colour({ frame }: PageBox): string {
		if (frame < 0) return ROOT_COLOUR;
		return this.matches[frame] ? MATCH_COLOUR : this.#recording.colour(frame);
	}

	#clicked(event: MouseEvent): void {
		const node = this.#nodeOf(event.target);
		if (!node) return;
		event.stopPropagation();
		this.zoom(node);
		this.#focus(node);
	}

	/** Makes nodes of the boxes; nothing is drawn yet, as nothing is wide enough. */
	#lay(): void {
		const selection = select(this.element).datum(this.#recording.root);
		selection.call(this.#chart.minFrameSize(Number.POSITIVE_INFINITY));
		this.#nodes = (selection.datum() as Node).descendants();
		this.#zoomed = this.#nodes[0];
		this.#focused = this.#zoomed;
	}

	/** Says how large all is to be. */
	#prepare(width: number): void {
		const zoomed = this.#zoomed;
		const seen = zoomed?.descendants() ?? [];
		const scale = width / (zoomed?.data.weight || 1);
		const least = leastWidth(
			seen.map(({ data }) => data.weight * scale),
			width,
		);
		let rows = 1;
		for (const { data, depth } of seen) {
			if (data.weight * scale > least) rows = Math.max(rows, depth + 1);
		}
		const byWeight = this.order === 'weight';
		this.#chart
			.width(width)
			.height(rows * ROW_PX)
			.minFrameSize(least)
			.inverted(this.rootAtTop)
			.sort((a, b) => (byWeight && b.data.weight - a.data.weight) || a.data.frame - b.data.frame);
		this.element.querySelector('svg')?.setAttribute('height', `${rows * ROW_PX}`);
	}

	/** What d3-flame-graph does not do: highlighted names, and one box that Tab leads to. */
	#finish(width: number): void {
		this.#elements = new Map();
		for (const element of this.element.querySelectorAll<SVGGElement>('g')) {
			const node = this.#nodeOf(element);
			if (!node) continue;
			this.#elements.set(node, element);
			const own = (node.x1 - node.x0) * width;
			element.classList.toggle('match', this.matches[node.data.frame] === true);
			element.classList.toggle('narrow', own < NAME_FROM_PX);
			element.classList.toggle('thin', own < FRAMED_FROM_PX);
			// It would lose the focus together with it.
			if (node !== this.#focused) element.removeAttribute('tabindex');
		}
		if (!this.#focused || !this.#elements.has(this.#focused)) this.#focused = this.#zoomed;
		this.#mark(this.#focused);
	}

	#mark(node: Node | undefined): void {
		const element = node && this.#elements.get(node);
		element?.setAttribute('tabindex', '0');
		element?.setAttribute('role', 'button');
	}

	#focus(node: Node | undefined): void {
		if (!node) return;
		if (this.#focused) this.#elements.get(this.#focused)?.removeAttribute('tabindex');
		this.#focused = node;
		this.#mark(node);
		const element = this.#elements.get(node);
		element?.focus({ preventScroll: true });
		element?.scrollIntoView({ block: 'nearest' });
	}

	/** Where an arrow leads to, among the boxes that are drawn. */
	#neighbour(key: string): Node | undefined {
		const here = this.#focused;
		if (!here) return undefined;
		const toRoot = this.rootAtTop ? 'ArrowUp' : 'ArrowDown';
		if (key === toRoot) return here.parent ?? undefined;
		const drawn = [...this.#elements.keys()];
		if (key === 'ArrowUp' || key === 'ArrowDown') {
			return largest(drawn, (node) => (node.parent === here ? node.x1 - node.x0 : undefined));
		}
		const way = key === 'ArrowLeft' ? -1 : 1;
		return largest(drawn, (node) => {
			const distance = way * (node.x0 - here.x0);
			return node.depth === here.depth && distance > 0 ? -distance : undefined;
		});
	}

	#nodeOf(target: EventTarget | null): Node | undefined {
		const element = (target as Element | null)?.closest('g');
		return element ? (select(element).datum() as Node) : undefined;
	}
}

/** From which width on boxes are drawn. */
function leastWidth(widths: readonly number[], whole: number): number {
	const seen = widths.filter((width) => width > LEAST_PX);
	if (seen.length <= MAX_DRAWN) return LEAST_PX;
	// What is as wide as the window stays, however deep.
	return Math.min(seen.sort((a, b) => b - a)[MAX_DRAWN] ?? 0, 0.99 * whole);
}

function largest<T>(all: readonly T[], rank: (each: T) => number | undefined): T | undefined {
	let best: T | undefined;
	let most = Number.NEGATIVE_INFINITY;
	for (const each of all) {
		const value = rank(each);
		if (value === undefined || value <= most) continue;
		best = each;
		most = value;
	}
	return best;
}
