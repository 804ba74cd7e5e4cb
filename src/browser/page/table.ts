/** The table of functions: what each took itself, and with what it called. */
import { amountText } from '../../render/amounts.js';
import { grouped } from '../../render/numbers.js';
import type { Recording } from './data.js';
import { make } from './elements.js';

/** Rows shown at first, and with each "more". */
const ROWS = 300;
const COLUMNS = { name: 'Function', self: 'Self', total: 'Total' } as const;
type PageColumn = keyof typeof COLUMNS;

export class FunctionTable {
	readonly element = make('div', { class: 'table' });
	/** Whether a function is shown, by its number; undefined: all are. */
	matches: readonly boolean[] | undefined;
	readonly #recording: Recording;
	readonly #chosen: (frame: number) => void;
	readonly #heads = new Map<PageColumn, HTMLTableCellElement>();
	readonly #body = make('tbody');
	readonly #more = make('button', { class: 'more' });
	#column: PageColumn = 'self';
	#descending = true;
	#rows = ROWS;

	/** `chosen` is told of the function whose row was clicked. */
	constructor(recording: Recording, chosen: (frame: number) => void) {
		this.#recording = recording;
		this.#chosen = chosen;
		this.#more.type = 'button';
		this.#more.addEventListener('click', () => {
			this.#rows += ROWS;
			this.draw();
		});
		const columns = Object.keys(COLUMNS) as PageColumn[];
		const head = make('thead', {}, make('tr', {}, ...columns.map((each) => this.#head(each))));
		this.element.append(make('table', {}, head, this.#body), this.#more);
	}

	/** Draws, when something has changed. */
	draw(): void {
		const frames = this.#sorted();
		this.#body.replaceChildren(...frames.slice(0, this.#rows).map((frame) => this.#row(frame)));
		if (frames.length === 0) {
			const cell = make('td', { class: 'empty', text: 'No function matches.' });
			cell.colSpan = this.#heads.size;
			this.#body.append(make('tr', {}, cell));
		}
		const rest = frames.length - this.#rows;
		this.#more.hidden = rest <= 0;
		this.#more.textContent = `Show ${grouped(Math.min(rest, ROWS))} more of ${grouped(rest)}`;
		for (const [column, head] of this.#heads) {
			const direction = this.#descending ? 'descending' : 'ascending';
			head.setAttribute('aria-sort', column === this.#column ? direction : 'none');
		}
	}

	/** From the first row again, after a search. */
	rewind(): void {
		this.#rows = ROWS;
		this.element.scrollTop = 0;
	}

	/** Functions that stacks passed through, in order. Frames are numbered by name. */
	#sorted(): number[] {
		const { names, total } = this.#recording;
		const frames = [...names.keys()].filter(
			(frame) => total[frame] !== 0 && (!this.matches || this.matches[frame]),
		);
		const way = this.#descending ? -1 : 1;
		if (this.#column === 'name') return frames.sort((a, b) => way * (a - b));
		const values = this.#recording[this.#column];
		const other = this.#recording[this.#column === 'self' ? 'total' : 'self'];
		const difference = (list: readonly number[], a: number, b: number) =>
			(list[a] ?? 0) - (list[b] ?? 0);
		return frames.sort(
			(a, b) => way * difference(values, a, b) || way * difference(other, a, b) || a - b,
		);
	}

	#head(column: PageColumn): HTMLTableCellElement {
		const button = make('button', { text: COLUMNS[column] });
		button.type = 'button';
		button.addEventListener('click', () => {
			// Names from A on, amounts from the largest.
			this.#descending = column === this.#column ? !this.#descending : column !== 'name';
			this.#column = column;
			this.draw();
		});
		const head = make('th', { class: column }, button);
		head.scope = 'col';
		this.#heads.set(column, head);
		return head;
	}

	#row(frame: number): HTMLTableRowElement {
		const { name, kind, colour, self, total } = this.#recording;
		const swatch = make('span', { class: 'swatch' });
		swatch.style.backgroundColor = colour(frame);
		const button = make('button', { text: name(frame) });
		button.type = 'button';
		button.title = 'Show in the graph';
		const cell = make('td', { class: 'name' }, swatch, button);
		if (kind(frame)) cell.append(make('span', { class: 'kind', text: kind(frame) }));
		const row = make('tr', {}, cell, this.#amount(self[frame]), this.#amount(total[frame]));
		row.addEventListener('click', () => this.#chosen(frame));
		return row;
	}

	#amount(value = 0): HTMLTableCellElement {
		const { countName, share, all } = this.#recording;
		const bar = make('span', { class: 'bar' });
		bar.style.width = `${all === 0 ? 0 : (100 * value) / all}%`;
		bar.hidden = value === 0;
		// Below the table is said of what: in each cell of a phone there is no room for it.
		const text = amountText(value, countName === 'ns' ? 'ns' : '');
		return make(
			'td',
			{ class: 'amount' },
			make('span', { class: 'value', text }),
			make('span', { class: 'share', text: share(value) }),
			make('span', { class: 'track' }, bar),
		);
	}
}
