/** A difference as text: the largest changes, in functions themselves and with what they called. */

import { largest } from '../../aggregate/largest.js';
import { grouped } from '../../render/numbers.js';
import { amountText } from '../../render/picture-look.js';
import { paint, printable, type Style, shortened } from '../../render/terminal.js';
import { type ChangeChain, changeChains, isSame } from './change-chains.js';
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
} from './difference.js';
import { Amounts, factorText, points, unitName } from './words.js';

interface DifferenceTextOptions {
	readonly style: Style;
	/** How many rows each table has; 0: all. */
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
	readonly shown: readonly ChangeChain[];
	/** How many more there are. */
	readonly rest: number;
}

const GAP = '  ';
/** Narrower names say nothing; then lines get longer than the terminal. */
const LEAST_NAME = 12;
const CHANCE = '~';
const CALLER = ' ← ';
const HEADINGS = ['before', 'after', 'change', 'points'];

const CHANCE_TEXT = `
${CHANCE} may be chance: the change is less than two standard errors
`;

export function renderDifferenceText(
	difference: Difference,
	{ style, top }: DifferenceTextOptions,
): string {
	const tables = tablesOf(difference, top);
	const anyChance = tables.some(({ of, shown }) =>
		shown.some(({ change }) => mayBeChance(change[of], difference)),
	);
	return [
		headerText(difference, style),
		...tables.map((table) => tableText(table, difference, style)),
		tables.length === 0 ? `\n${sameText(difference)}\n` : '',
		anyChance ? CHANCE_TEXT : '',
	].join('');
}

/** No change is in both tables: where it is a function's own, its row has the callers too. */
function tablesOf(difference: Difference, top: number): Table[] {
	const changes = functionChanges(difference);
	const chains = new Map(
		changeChains(difference, changes).map((chain) => [chain.change, chain] as const),
	);
	const rowsOf = { self: [] as ChangeChain[], total: [] as ChangeChain[] };
	for (const change of largestChanges(changes, 'self')) {
		const chain = chains.get(change);
		const own = chain !== undefined && isSame(changeOf(change.self), changeOf(change.total));
		rowsOf.self.push(own ? chain : { change, callers: [] });
		if (own && (top === 0 || rowsOf.self.length <= top)) chains.delete(change);
	}
	for (const change of largestChanges([...chains.keys()], 'total')) {
		rowsOf.total.push(chains.get(change) as ChangeChain);
	}
	return TABLES.map(({ of, title }): Table => {
		const shown = top === 0 ? rowsOf[of] : rowsOf[of].slice(0, top);
		return { of, title, shown, rest: rowsOf[of].length - shown.length };
	}).filter(({ shown }) => shown.length > 0);
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
	const rows = shown.map((chain) => ({
		cells: cellsOf(chain.change[of], difference, amounts),
		chain,
		mark: markOf(chain.change, of, difference),
	}));
	const widths = HEADINGS.map((heading, column) =>
		largest(
			rows.map(({ cells }) => cells[column]?.length ?? 0),
			heading.length,
		),
	);
	const aligned = (cells: readonly string[]) =>
		cells.map((cell, column) => cell.padStart(widths[column] as number)).join(GAP);
	const markWidth = largest(
		rows.map(({ mark }) => mark.length),
		0,
	);
	const left = (cells: readonly string[], mark: string) =>
		`${aligned(cells)}${GAP}${markWidth === 0 ? '' : `${mark.padEnd(markWidth)} `}`;
	const heading = left(HEADINGS, '');
	const room = Math.max(LEAST_NAME, style.width - heading.length);
	const lines = rows.map(
		({ cells, chain, mark }) => `${left(cells, mark)}${chainText(chain, room)}\n`,
	);
	const unit = unitName(difference.unit);
	const anyCallers = shown.some(({ callers }) => callers.length > 0);
	return [
		`\n${paint(style, 'bold', title + (unit === '' ? '' : `, in ${unit}`))}\n`,
		`${heading}${anyCallers ? `function${CALLER}its callers` : 'function'}\n`,
		...lines,
		rest > 0 ? `… ${grouped(rest)} more (--top 0 shows all)\n` : '',
	].join('');
}

/** "f ← g ← main", "f ← g ← 3 more" */
function chainText({ change, callers }: ChangeChain, room: number): string {
	const more = (left: number) => (left === 0 ? '' : `${CALLER}${grouped(left)} more`);
	const least = Math.max(LEAST_NAME, room - more(callers.length).length);
	let text = shortened(printable(change.name), callers.length === 0 ? room : least);
	for (const [index, { name }] of callers.entries()) {
		const longer = `${text}${CALLER}${printable(name)}`;
		const left = callers.length - index - 1;
		if (longer.length + more(left).length > room) return text + more(left + 1);
		text = longer;
	}
	return text;
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
