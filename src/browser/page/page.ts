/**
 * What src/render/html.ts's page does: flame graph, icicle graph, table, search. A click or Enter
 * zooms, arrows move from box to box, Ctrl-F or / searches, Escape goes back. Above it may be what a tool says.
 *
 * Runs in the page itself, from a file anywhere; names are strangers', and are only ever text.
 */
import { amountText } from '../../render/amounts.js';
import { grouped } from '../../render/numbers.js';
import { exactly, matcher } from '../search.js';
import { readRecording } from './data.js';
import { Choice, make } from './elements.js';
import { Graph } from './graph.js';
import { FunctionTable } from './table.js';

const data = document.getElementById('data');
if (data) start(data);

type View = 'flame' | 'icicle' | 'table';

function start(data: Element): void {
	const recording = readRecording(data);
	const { names, all, countName, root } = recording;
	/** Else it is a part of a longer page, in which the browser finds. */
	const isAlone = !document.querySelector('article');
	const summary = `${amountText(all, countName)} in all, ${grouped(names.length)} functions`;
	let view: View = recording.inverted ? 'icicle' : 'flame';

	const details = make('p', { class: 'details', text: summary });
	const graph = new Graph(recording, {
		pointed: (text) => {
			details.textContent = text ?? summary;
		},
		zoomed: (isZoomed) => {
			reset.disabled = !isZoomed;
		},
	});
	const table = new FunctionTable(recording, (frame) => {
		input.value = exactly(names[frame] ?? '');
		search((_name, each) => each === frame);
		show(view === 'table' ? graphView : view);
	});
	let graphView: View = view;

	/* The bar. */

	const views = new Choice<View>(
		'View',
		{ flame: 'Flame', icicle: 'Icicle', table: 'Table' },
		(chosen) => show(chosen),
	);
	const orders = new Choice<'name' | 'weight'>(
		'Order',
		{ name: 'By name', weight: 'Left-heavy' },
		(order) => {
			graph.order = order;
			orders.show(order);
			graph.draw();
		},
	);
	const reset = make('button', { class: 'reset', text: 'Reset zoom' });
	reset.type = 'button';
	reset.disabled = true;
	reset.addEventListener('click', () => graph.zoom());
	const input = make('input', { label: 'Search' });
	input.type = 'search';
	input.placeholder = 'Search (regexp)';
	input.spellcheck = false;
	input.autocomplete = 'off';
	input.addEventListener('input', () => search());
	const matched = make('output', { class: 'matched' });
	const bar = make('div', { class: 'bar' }, views.element, orders.element, reset, input, matched);

	document.querySelector('header')?.append(bar);
	const main = make('main', {}, graph.element, table.element);
	const footer = make('footer', {}, details);
	if (recording.notes.length > 0) {
		footer.append(make('p', { class: 'notes', text: recording.notes.join(' ') }));
	}
	document.body.append(main, footer);
	if (root.weight === 0) {
		main.replaceChildren(make('p', { class: 'empty', text: 'Nothing was recorded.' }));
		return;
	}

	function show(chosen: View): void {
		const isTable = chosen === 'table';
		view = chosen;
		views.show(view);
		graph.element.hidden = isTable;
		table.element.hidden = !isTable;
		orders.element.hidden = isTable;
		reset.hidden = isTable;
		details.textContent = summary;
		if (isTable) {
			table.draw();
			return;
		}
		graphView = view;
		graph.rootAtTop = view === 'icicle';
		graph.element.classList.toggle('icicle', graph.rootAtTop);
		graph.draw();
		graph.scrollToRoot();
	}

	/* Search. */

	function search(matches?: (name: string, frame: number) => boolean): void {
		const term = input.value;
		const isMatch = matches ?? matcher(term);
		const found = term === '' ? undefined : names.map(isMatch);
		graph.matches = found ?? [];
		table.matches = found;
		matched.textContent = found ? `Matched: ${recording.share(graph.matchedWeight())}` : '';
		table.rewind();
		if (view === 'table') table.draw();
		else graph.draw();
	}

	/* Keyboard. */

	function goBack(): void {
		if (input.value !== '') {
			input.value = '';
			search();
		} else if (document.activeElement !== input && view !== 'table') graph.zoom();
		if (document.activeElement === input) input.blur();
	}

	/** Whether it is one of ours. */
	function key(event: KeyboardEvent): boolean {
		const { key, target } = event;
		const modified = event.ctrlKey || event.metaKey || event.altKey;
		const finds = modified
			? key === 'f' && !event.altKey && isAlone
			: key === '/' && target !== input;
		if (finds) {
			input.focus();
			input.select();
		} else if (key === 'Escape') goBack();
		else
			return !modified && view !== 'table' && isForGraph(key, target as Element) && graph.key(key);
		return true;
	}

	/** Arrows lead into the graph from where nothing else has the focus; a long page they scroll. */
	function isForGraph(key: string, target: Element): boolean {
		const isAnywhere = isAlone && key.startsWith('Arrow') && target === document.body;
		return isAnywhere || graph.element.contains(target);
	}

	document.addEventListener('keydown', (event) => {
		if (key(event)) event.preventDefault();
	});

	/* The window: boxes follow its width. */

	let asked = false;
	window.addEventListener('resize', () => {
		if (asked || view === 'table') return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			graph.draw();
		});
	});

	orders.show(graph.order);
	show(view);
}
