/** A difference as text: the largest changes, in functions themselves and with what they called. */
import {
	changeOf,
	type Difference,
	type FunctionChange,
	fateOf,
	functionChanges,
	largestChanges,
	type Side,
	type Sides,
	sharesOf,
} from '../aggregate/difference.js';
import { Amounts, factorText, points, unitName } from './difference.js';
import { amountText } from './look.js';
import { grouped, paint, printable, type Style, shortened } from './terminal.js';

export interface DifferenceTextOptions {
	readonly style: Style;
	/** How many functions are shown in each table; 0: all. */
	readonly top: number;
}

const GAP = '  ';
/** Narrower names say nothing; then lines get longer than the terminal. */
const LEAST_NAME = 12;
const HEADINGS = ['before', 'after', 'change', 'points'];

export function renderDifferenceText(
	difference: Difference,
	options: DifferenceTextOptions,
): string {
	const changes = functionChanges(difference);
	const parts = [headerText(difference, options.style)];
	for (const [of, title] of [
		['self', 'Self: largest changes'],
		['total', 'Total, with what was called: largest changes'],
	] as const) {
		const largest = largestChanges(changes, of);
		if (largest.length > 0) parts.push(tableText(largest, of, title, difference, options));
	}
	if (parts.length === 1) parts.push(`\n${sameText(difference)}\n`);
	return parts.join('');
}

function headerText(difference: Difference, { width }: Style): string {
	const { sides } = difference;
	const line = (word: string, side: Side, unit: string | undefined) => {
		const noun = side.stacks === 1 ? 'stack' : 'stacks';
		const what = `: ${printable(amountText(side.total, unit ?? ''))} in ${grouped(side.stacks)} ${noun}`;
		const name = shortened(printable(side.name), Math.max(LEAST_NAME, width - 8 - what.length));
		return `${word.padEnd(8)}${name}${what}\n`;
	};
	return (
		line('before', sides.before, sides.before.origin.unit) +
		line('after', sides.after, difference.unit) +
		`${factorText(difference)}\n`
	);
}

/** Nothing differs; or what called what does, and not how much each took. */
function sameText({ values }: Difference): string {
	const changed = values.after.reduce(
		(sum, after, stack) => sum + (changeOf({ before: values.before[stack] ?? 0, after }) ? 1 : 0),
		0,
	);
	if (changed === 0) return 'no difference';
	return `no function differs; ${grouped(changed)} ${changed === 1 ? 'stack does' : 'stacks do'}`;
}

function tableText(
	changes: readonly FunctionChange[],
	of: 'self' | 'total',
	title: string,
	difference: Difference,
	{ style, top }: DifferenceTextOptions,
): string {
	const shown = top === 0 ? changes : changes.slice(0, top);
	const amounts = new Amounts(difference);
	const rows = shown.map((change) => ({
		cells: cellsOf(change[of], difference, amounts),
		name: printable(change.name),
		fate: fateOf(change.total),
	}));
	const widths = HEADINGS.map((heading, column) =>
		Math.max(heading.length + 2, ...rows.map(({ cells }) => cells[column]?.length ?? 0)),
	);
	const aligned = (cells: readonly string[]) =>
		cells.map((cell, column) => cell.padStart(widths[column] as number)).join(GAP);
	const fateWidth = Math.max(0, ...rows.map(({ fate }) => fate.length));
	const left = (cells: readonly string[], fate: string) =>
		`${aligned(cells)}${GAP}${fateWidth === 0 ? '' : `${fate.padEnd(fateWidth)} `}`;
	const heading = left(HEADINGS, '');
	const room = Math.max(LEAST_NAME, style.width - heading.length);
	const lines = rows.map(
		({ cells, name, fate }) => `${left(cells, fate)}${shortened(name, room)}\n`,
	);
	const unit = unitName(difference.unit);
	const rest = changes.length - shown.length;
	return [
		`\n${paint(style, 'bold', title + (unit === '' ? '' : `, in ${unit}`))}\n`,
		`${heading}function\n`,
		...lines,
		rest > 0 ? `… ${grouped(rest)} more (--top 0 shows all)\n` : '',
	].join('');
}

function cellsOf(
	values: Sides<number>,
	difference: Difference,
	amounts: Amounts,
): readonly string[] {
	return [
		amounts.short(values.before),
		amounts.short(values.after),
		amounts.signed(changeOf(values)),
		points(sharesOf(values, difference)),
	];
}
