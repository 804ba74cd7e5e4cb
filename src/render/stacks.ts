/** Stacks as text: the largest first, leaf first, with what they add up to. */

import { functionOf } from '../aggregate/application-frames.js';
import { largest } from '../aggregate/largest.js';
import type { Frame } from '../aggregate/stack.js';
import {
	CALLER_FRAME,
	type StackFindings,
	type StackRow,
	totalOf,
	userLeafOf,
} from '../aggregate/stack-rows.js';
import { programFrame } from '../aggregate/summary-frames.js';
import { annotation } from './folded.js';
import { bareName, fittedName } from './function-name.js';
import { amountText, leftOutText } from './left-out.js';
import { grouped } from './numbers.js';
import { paint, printable, type Style, wrapped } from './terminal.js';

export interface StackTextOptions {
	readonly style: Style;
	/** How many stacks are shown; 0: all. */
	readonly top: number;
	/** A line "--" between the kernel's frames and the user's. */
	readonly delimited: boolean;
	readonly annotated: boolean;
	/** What was done to be counted: "waited". */
	readonly verb: string;
	/** A line about a row, below its first; empty: none. */
	readonly detail?: (row: StackRow) => string;
	/** The kernel's frame that says most, or the allocator's caller, for the overview; else the leaf. */
	readonly telling?: (row: StackRow) => Frame | undefined;
}

const INDENT = '    ';

export function renderStacks(findings: StackFindings, options: StackTextOptions): string {
	const { stacks } = findings;
	const total = totalOf(findings);
	if (stacks.length === 0) return '';
	const shown = options.top === 0 ? stacks : stacks.slice(0, options.top);
	const blocks = shown.map((row) => renderStack(row, total.value, findings, options));
	const rest = stacks.slice(shown.length);
	return [
		...blocks,
		restLine(rest, total.value, findings),
		shown.length > 1 ? overview(shown.length, total.value, findings, options) : '',
		totalLines(total, findings, options),
	].join('');
}

function renderStack(
	row: StackRow,
	total: number,
	findings: StackFindings,
	options: StackTextOptions,
): string {
	const { style } = options;
	const share = `${((100 * row.value) / total).toFixed(1)} %`;
	const head = [
		amount(row.value, findings).padStart(findings.unit === 'ns' ? 9 : 14),
		share.padStart(8),
		...(findings.unit === 'samples' || isOne(row) ? [] : [countText(row, findings).padStart(16)]),
		ownerText(row),
	];
	const lines = [paint(style, 'bold', head.join('  '))];
	const more = options.detail?.(row) ?? '';
	const count = isOne(row) && row.variance > 0 ? `stands for ${countText(row, findings)}` : '';
	const detail = [errorText(row, findings), partsText(row, findings), count, more].filter(Boolean);
	for (const line of filled(detail, style.width - INDENT.length)) {
		lines.push(paint(style, 'cyan', INDENT + line));
	}
	return `\n${[...lines, ...frameLines(row, options)].join('\n')}\n`;
}

/** As many parts in a line as fit. */
function filled(parts: readonly string[], width: number): string[] {
	const lines: string[] = [];
	for (const part of parts) {
		const last = lines.at(-1);
		const longer = `${last}  ${part}`;
		if (last === undefined || longer.length > width) lines.push(part);
		else lines[lines.length - 1] = longer;
	}
	return lines;
}

function frameLines(row: StackRow, { style, delimited, annotated }: StackTextOptions): string[] {
	const lines: string[] = [];
	let inKernel = false;
	const userLeaf = userLeafOf(row.frames);
	for (let at = row.frames.length - 1; at >= 0; at--) {
		const frame = row.frames[at] as Frame;
		if (delimited && inKernel && frame.kind !== 'kernel') lines.push(`${INDENT}--`);
		inKernel = frame.kind === 'kernel';
		const name = printable(frame.name) + (annotated ? annotation(frame) : '');
		lines.push(INDENT + fittedName(name, style.width - INDENT.length));
		if (row.callerMissing && at === userLeaf) lines.push(INDENT + CALLER_FRAME);
	}
	if (row.cut) lines.push(`${INDENT}[cut: ${row.cut}]`);
	return lines.length > 0 ? lines : [`${INDENT}(no stack)`];
}

interface Summary {
	/** Whose. */
	readonly owner: string;
	/** Where, in words. */
	readonly name: string;
	readonly behind: string;
	value: number;
	stacks: number;
}

/**
 * What the terminal shows at the end: a line for all stacks that read the same, shown above or not, the
 * largest first; and one for what is in no line.
 */
function overview(
	most: number,
	total: number,
	findings: StackFindings,
	options: StackTextOptions,
): string {
	const all = summariesOf(findings, options);
	const lines = all.slice(0, most).map((summary) => {
		const { owner, stacks } = summary;
		const many = stacks > 1 ? `, ${grouped(stacks)} stacks` : '';
		const head = `${amountAndShare(summary.value)}  ${owner}${many}`;
		return summaryLine(head, summary, options.style.width);
	});
	const others = all.slice(most).reduce((sum, { value }) => sum + value, 0);
	if (all.length > most) lines.push(`${amountAndShare(others)}  elsewhere`);
	return `\n${lines.join('\n')}\n`;

	function amountAndShare(value: number): string {
		const share = `${((100 * value) / total).toFixed(1)} %`;
		return `${amount(value, findings).padStart(findings.unit === 'ns' ? 9 : 14)}  ${share.padStart(7)}`;
	}
}

/** Stacks that read the same together, the largest first. */
function summariesOf(findings: StackFindings, { telling }: StackTextOptions): Summary[] {
	const summaries = new Map<string, Summary>();
	for (const row of findings.stacks) {
		const owner = ownerText(row);
		const { name, behind } = summaryOf(row, findings, telling?.(row));
		const key = `${owner}\n${name}\n${behind}`;
		const summary = summaries.get(key) ?? { owner, name, behind, value: 0, stacks: 0 };
		summary.value += row.value;
		summary.stacks++;
		summaries.set(key, summary);
	}
	return [...summaries.values()].sort((a, b) => b.value - a.value);
}

/** Below who it is: where there is no room behind. */
const SUMMARY_INDENT = 20;
/** What is shorter is no name; and of the kernel's few are longer. */
const LEAST_NAME = 10;
const MOST_KERNEL_NAME = 32;

/** "…  shop (812): place_order → futex_wait": what of the program, and what of the kernel. */
function summaryLine(head: string, { name, behind }: Summary, width: number): string {
	const line = `${head}: ${name}${behind}`;
	if (line.length <= width) return line;
	const short = fittedName(name, Math.max(LEAST_NAME, width - SUMMARY_INDENT - behind.length));
	return `${head}:\n${' '.repeat(SUMMARY_INDENT)}${short}${behind}`;
}

/** The program's function, and what comes behind it; "…" where others are in between, or missing. */
function summaryOf(row: StackRow, findings: StackFindings, telling: Frame | undefined) {
	const program = programFrame(row);
	const leaf = telling ?? row.frames.at(-1);
	const mostly = mainPart(row, findings);
	const suffix = mostly ? ` (${mostly})` : '';
	const names = [program?.frame, row.parts[0] === 0 ? undefined : leaf]
		.filter((frame) => frame !== undefined)
		.map((frame) => bareName(printable(functionOf(frame))));
	const [first, last] = [...new Set(names)];
	if (first === undefined) return { name: mostly || '(no stack)', behind: '' };
	const name = program?.frame.inCLibrary && (row.cut || row.callerMissing) ? `… ${first}` : first;
	const gap = program?.isLowest === false ? ' …' : '';
	return {
		name,
		behind: `${last ? `${gap} → ${fittedName(last, MOST_KERNEL_NAME)}` : ''}${suffix}`,
	};
}

/** The part that most of a row is, if that is not the first: being blocked. */
function mainPart(row: StackRow, { parts }: StackFindings): string {
	if (parts.length < 2 || row.key.kind !== undefined) return '';
	const most = row.parts.indexOf(largest(row.parts));
	return most > 0 ? (parts[most] ?? '') : '';
}

/** Whether it is a single allocation, rather than a stack with all of its own. */
function isOne(row: StackRow | undefined): boolean {
	return row?.key.address !== undefined;
}

function rowNoun(rows: readonly StackRow[]): string {
	const noun = isOne(rows[0]) ? 'allocation' : 'stack';
	return rows.length === 1 ? noun : `${noun}s`;
}

function restLine(rest: readonly StackRow[], total: number, findings: StackFindings): string {
	if (rest.length === 0) return '';
	const value = rest.reduce((sum, row) => sum + row.value, 0);
	const share = ((100 * value) / total).toFixed(1);
	const noun = rowNoun(rest);
	return `\n… ${grouped(rest.length)} more ${noun}: ${amount(value, findings)}, ${share} % (--top 0 shows all)\n`;
}

function totalLines(total: StackRow, findings: StackFindings, options: StackTextOptions): string {
	const { stacks } = findings;
	const line =
		`${amount(total.value, findings)} ${options.verb} in ${grouped(stacks.length)} ${rowNoun(stacks)}` +
		(findings.unit === 'samples' || (isOne(stacks[0]) && total.variance === 0)
			? ''
			: `, ${isOne(stacks[0]) ? 'for ' : ''}${countText(total, findings)}`);
	const detail = [errorText(total, findings), partsText(total, findings)].filter(Boolean);
	const leftOut = leftOutText(findings);
	const below = [
		...filled(detail, options.style.width - INDENT.length).map((each) => INDENT + each),
		...(leftOut ? [INDENT + wrapped(leftOut, INDENT, options.style.width - INDENT.length)] : []),
	];
	return `\n${[line, ...below].join('\n')}\n`;
}

function amount(value: number, { unit }: StackFindings): string {
	return amountText(value, unit);
}

function countText({ count, variance }: StackRow, { noun }: StackFindings): string {
	const about = variance > 0 ? '~' : '';
	return `${about}${grouped(Math.max(1, count))} ${Math.round(count) <= 1 ? noun : `${noun}s`}`;
}

function ownerText({ key, processes }: StackRow): string {
	const kind = key.kind === undefined ? '' : `${key.kind}: `;
	const at = key.address === undefined ? '' : `${key.address}  `;
	const thread = key.tid ? `, thread ${key.tid}` : '';
	const number = key.pid === undefined ? '' : ` (${key.pid}${thread})`;
	const many = processes ? ` (${grouped(processes)} processes)` : number;
	return `${at}${kind}${printable(`${key.comm ?? ''}`)}${many}`;
}

/** "blocked 1.2 s, run queue 3 ms", if there is more than one part. */
function partsText(row: StackRow, findings: StackFindings): string {
	if (findings.parts.length < 2 || row.key.kind !== undefined) return '';
	return findings.parts
		.flatMap((part, i) => (row.parts[i] ? [`${part} ${amount(row.parts[i] ?? 0, findings)}`] : []))
		.join(', ');
}

/** The standard error, where the value is an estimate: behind the value, where its parts come next. */
function errorText(row: StackRow, findings: StackFindings): string {
	const { variance, value } = row;
	if (variance === 0 || value === 0) return '';
	const error = Math.sqrt(variance);
	const of = partsText(row, findings) ? `${amount(value, findings)} ` : '';
	return `${of}± ${amount(error, findings)} (${((100 * error) / value).toFixed(1)} %)`;
}
