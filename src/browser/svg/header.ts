/** What stands above the boxes: buttons, the search field, what is pointed at. */

const SVG = 'http://www.w3.org/2000/svg';
const XHTML = 'http://www.w3.org/1999/xhtml';
const MARGIN_PX = 10;
const FIELD_PX = 260;
/** Room for the word Search. */
const BUTTON_PX = 56;
/** Room for all that is at the right; titles end before it. */
const RIGHT_PX = 130;

interface HeaderActions {
	resetZoom(): void;
	/** '' ends the search. Returns what was found: 'Matched: 41.2 %'. */
	search(term: string): string;
	/** The search field was left. */
	leave(): void;
}

export class Header {
	readonly input: HTMLInputElement;
	readonly #titles: SVGSVGElement;
	readonly #details: SVGTextElement;
	readonly #matched: SVGTextElement;
	readonly #reset: SVGTextElement;
	readonly #search: SVGTextElement;
	readonly #field: SVGForeignObjectElement;
	readonly #actions: HeaderActions;

	constructor(
		private readonly group: SVGGElement,
		actions: HeaderActions,
	) {
		this.#actions = actions;
		this.#titles = group.querySelector('.titles') as SVGSVGElement;
		this.#details = group.querySelector('.details') as SVGTextElement;
		this.#reset = this.#button('Reset zoom', actions.resetZoom);
		this.#search = this.#button('Search', () => this.openSearch());
		this.#matched = this.#text('matched', 41);
		this.#field = document.createElementNS(SVG, 'foreignObject');
		this.#field.setAttribute('y', '4');
		this.#field.setAttribute('height', '26');
		this.input = document.createElementNS(XHTML, 'input') as HTMLInputElement;
		this.input.setAttribute('type', 'search');
		this.input.setAttribute('placeholder', 'text or regular expression');
		this.input.setAttribute('aria-label', 'search');
		this.input.addEventListener('input', () => this.#find());
		this.#field.append(this.input);
		group.append(this.#field);
		show(this.#field, false);
	}

	get searching(): boolean {
		return this.#field.style.display !== 'none';
	}

	/** A tooltip, "name (how much)"; how much comes first here, as names may be longer than the line. */
	showDetails(tooltip: string): void {
		this.#details.textContent = tooltip.replace(/^(.*) \(([^()]*)\)$/s, '$2  $1');
	}

	showReset(zoomed: boolean): void {
		show(this.#reset, zoomed);
	}

	openSearch(): void {
		show(this.#field, true);
		show(this.#search, false);
		this.input.focus();
		this.input.select();
	}

	closeSearch(): void {
		show(this.#field, false);
		show(this.#search, true);
		this.input.value = '';
		this.#find();
		this.#actions.leave();
	}

	/** Puts what is at the right there, in a picture of this width. */
	fit(width_px: number): void {
		const right = width_px - MARGIN_PX;
		this.#search.setAttribute('x', `${right}`);
		this.#matched.setAttribute('x', `${right}`);
		this.#reset.setAttribute('x', `${right - BUTTON_PX}`);
		this.#titles.setAttribute('width', `${Math.max(0, right - RIGHT_PX)}`);
		const room = Math.min(FIELD_PX, right - MARGIN_PX);
		this.#field.setAttribute('x', `${right - room}`);
		this.#field.setAttribute('width', `${room}`);
	}

	/** Stays in sight when the page is scrolled. */
	follow(scrolled_px: number): void {
		this.group.setAttribute('transform', `translate(0 ${scrolled_px})`);
	}

	#find(): void {
		this.#matched.textContent = this.#actions.search(this.input.value);
	}

	#text(style: string, y: number): SVGTextElement {
		const text = document.createElementNS(SVG, 'text');
		text.setAttribute('class', style);
		text.setAttribute('text-anchor', 'end');
		text.setAttribute('y', `${y}`);
		this.group.append(text);
		return text;
	}

	#button(label: string, action: () => void): SVGTextElement {
		const text = this.#text('button', 22);
		text.textContent = label;
		text.setAttribute('role', 'button');
		text.setAttribute('tabindex', '0');
		text.addEventListener('click', action);
		text.addEventListener('keydown', (event) => {
			if (event.key !== 'Enter' && event.key !== ' ') return;
			event.preventDefault();
			event.stopPropagation();
			action();
		});
		return text;
	}
}

function show(element: SVGElement, visible: boolean): void {
	element.style.display = visible ? '' : 'none';
}
