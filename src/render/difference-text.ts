/** A difference as text: the largest changes, in functions themselves and with what they called. */
import { grouped } from './numbers.js';
import {
	changeOf,
	type Difference,
	type FunctionChange,
	fateOf,
	functionChanges,
	largestChanges,
	mayBeChance,
	type Side,
	type Sides,
	sharesOf,
} from '../aggregate/difference.js';
import { Amounts, factorText, points, unitName } from './difference.js';
import { amountText } from './look.js';
import { paint, printable, type Style, shortened } from './terminal.js';

export interface DifferenceTextOptions {
	readonly style: Style;
	/** How many functions are shown in each table; 0: all. */
	readonly top: number;
}

const TABLES = [
	{ of: 'self', title: 'Self: largest changes' },
	{ of: 'total', title: 'Total, with what was called: largest changes' },
] as const;

type Of = (typeof TABLES)[number]['of'];

interface Table {
	readonly of: Of;
	readonly title: string;
	/** Largest first. */
	readonly shown: readonly FunctionChange[];
	/** How many more have changed. */
	readonly rest: number;
}

const GAP = '  ';
/** Narrower names say nothing; then lines get longer than the terminal. */
const LEAST_NAME = 12;
const CHANCE = '~';
const HEADINGS = ['before', 'after', 'change', 'points'];

const CHANCE_TEXT = `
${CHANCE} may be chance: less than two standard errors of so few samples
`;

export function renderDifferenceText(
	difference: Difference,
	{ style, top }: DifferenceTextOptions,
): string {
	const changes = functionChanges(difference);
	const tables = TABLES.map(({ of, title }): Table => {
		const largest = largestChanges(changes, of);
		const shown = top === 0 ? largest : largest.slice(0, top);
		return { of, title, shown, rest: largest.length - shown.length };
	}).filter(({ shown }) => shown.length > 0);
	const anyChance = tables.some(({ of, shown }) =>
		shown.some((change) => mayBeChance(change[of], difference)),
	);
	return [
		headerText(difference, style),
		...tables.map((table) => tableText(table, difference, style)),
		tables.length === 0 ? `\n${sameText(difference)}\n` : '',
		anyChance ? CHANCE_TEXT : '',
	].join('');
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
	{ of, title, shown, rest }: Table,
	difference: Difference,
	style: Style,
): string {
	const amounts = new Amounts(difference);
	const rows = shown.map((change) => ({
		cells: cellsOf(change[of], difference, amounts),
		name: printable(change.name),
		mark: markOf(change, of, difference),
	}));
	const widths = HEADINGS.map((heading, column) =>
		Math.max(heading.length, ...rows.map(({ cells }) => cells[column]?.length ?? 0)),
	);
	const aligned = (cells: readonly string[]) =>
		cells.map((cell, column) => cell.padStart(widths[column] as number)).join(GAP);
	const markWidth = Math.max(0, ...rows.map(({ mark }) => mark.length));
	const left = (cells: readonly string[], mark: string) =>
		`${aligned(cells)}${GAP}${markWidth === 0 ? '' : `${mark.padEnd(markWidth)} `}`;
	const heading = left(HEADINGS, '');
	const room = Math.max(LEAST_NAME, style.width - heading.length);
	const lines = rows.map(
		({ cells, name, mark }) => `${left(cells, mark)}${shortened(name, room)}\n`,
	);
	const unit = unitName(difference.unit);
	return [
		`\n${paint(style, 'bold', title + (unit === '' ? '' : `, in ${unit}`))}\n`,
		`${heading}function\n`,
		...lines,
		rest > 0 ? `… ${grouped(rest)} more (--top 0 shows all)\n` : '',
	].join('');
}

function markOf(change: FunctionChange, of: Of, difference: Difference): string {
	return (mayBeChance(change[of], difference) ? CHANCE : '') + fateOf(change.total);
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
