/** Stacks as text: the largest first, leaf first, with what they add up to. */

import { remembered } from '../aggregate/remembered.js';
import { apartOf } from '../aggregate/row-key.js';
import type { Frame } from '../aggregate/stack.js';
import {
	CALLER_FRAME,
	type StackFindings,
	type StackRow,
	totalOf,
	userLeafOf,
	type Waker,
} from '../aggregate/stack-rows.js';
import { annotation } from './folded.js';
import { fittedName } from './function-name.js';
import { leftOutText, valueText } from './left-out.js';
import { grouped } from './numbers.js';
import { ownerText, summaryLines } from './stack-summaries.js';
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
	/** What a waker was blocked for; empty: nothing is said. */
	readonly blockedFor?: (waker: Waker) => string;
	/** What stands before whose a row is, in its first line, where there is room for so many characters. */
	readonly label?: (row: StackRow, room: number) => Label;
	/** What says most behind the program's function, outer first, for the lines at the end; else the leaf. */
	readonly telling?: (row: StackRow) => readonly Frame[];
}

export interface Label {
	/** Empty: nothing. */
	readonly text: string;
	/** What the line has no room for, below it. */
	readonly below?: string;
}

const INDENT = '    ';

export function renderStacks(findings: StackFindings, options: StackTextOptions): string {
	const { stacks } = findings;
	const total = totalOf(findings);
	if (stacks.length === 0) return '';
	const shown = options.top === 0 ? stacks : stacks.slice(0, options.top);
	const lineOf = frameLine(options);
	const blocks = shown.map((row) => renderStack(row, total.value, findings, options, lineOf));
	const rest = stacks.slice(shown.length);
	return [
		...blocks,
		restLine(rest, total.value, findings),
		shown.length > 1 ? summaryLines(shown.length, findings, options) : '',
		totalLines(total, findings, options),
	].join('');
}

function renderStack(
	row: StackRow,
	total: number,
	findings: StackFindings,
	options: StackTextOptions,
	lineOf: LineOf,
): string {
	const { style } = options;
	const share = `${((100 * row.value) / total).toFixed(1)} %`;
	const numbers = [
		amount(row.value, findings).padStart(findings.unit === 'ns' ? 9 : 14),
		share.padStart(8),
		...(findings.unit === 'samples' || isOne(row) ? [] : [countText(row, findings).padStart(16)]),
	];
	const owner = ownerText(row);
	const room = style.width - [...numbers, '', owner].join('  ').length;
	const label = apartOf(row.key).length === 0 ? options.label?.(row, room) : undefined;
	const head = [...numbers, ...(label?.text ? [label.text] : []), owner];
	const lines = [paint(style, 'bold', head.join('  '))];
	const more = options.detail?.(row) ?? '';
	const count = isOne(row) && row.variance > 0 ? `stands for ${countText(row, findings)}` : '';
	const known = [errorText(row, findings), partsText(row, findings), count, more];
	const detail = [label?.below ?? '', ...known].filter(Boolean);
	for (const line of filled(detail, style.width - INDENT.length)) {
		lines.push(paint(style, 'cyan', INDENT + line));
	}
	return `\n${[...lines, ...frameLines(row, options, lineOf)].join('\n')}\n`;
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

/** A frame as a line. Stacks share frames: each is drawn once. */
type LineOf = (frame: Frame) => string;

function frameLine({ style, annotated }: StackTextOptions): LineOf {
	return remembered((frame: Frame) => {
		const name = printable(frame.name) + (annotated ? annotation(frame) : '');
		return INDENT + fittedName(name, style.width - INDENT.length);
	});
}

function frameLines(row: StackRow, options: StackTextOptions, lineOf: LineOf): string[] {
	const lines = stackLines(row, options, lineOf);
	if (lines.length === 0) lines.push(`${INDENT}(no stack)`);
	return [...lines, ...wakerLines(row.waker, options, lineOf)];
}

/** Who ended it, who ended what that one waited for meanwhile, and so on. */
function wakerLines(waker: Waker | undefined, options: StackTextOptions, lineOf: LineOf): string[] {
	if (!waker) return [];
	const { style } = options;
	const by = `woken by ${ownerText(waker)}${didText(waker, options)}`;
	const head = `${INDENT}${wrapped(by, `${INDENT}  `, style.width - INDENT.length)}`;
	const lines = [paint(style, 'cyan', head), ...stackLines(waker, options, lineOf)];
	return [...lines, ...wakerLines(waker.waker, options, lineOf)];
}

/** ", which meanwhile was blocked: disk write". */
function didText(waker: Waker, { blockedFor }: StackTextOptions): string {
	const { did } = waker;
	const what = did === 'was blocked' ? blockedFor?.(waker) : undefined;
	return did ? `, which meanwhile ${did}${what ? `: ${what}` : ''}` : '';
}

function stackLines(
	row: Pick<StackRow, 'frames' | 'cut' | 'callerMissing'>,
	{ delimited }: StackTextOptions,
	lineOf: LineOf,
): string[] {
	const lines: string[] = [];
	let inKernel = false;
	const userLeaf = userLeafOf(row.frames);
	for (let at = row.frames.length - 1; at >= 0; at--) {
		const frame = row.frames[at] as Frame;
		if (delimited && inKernel && frame.kind !== 'kernel') lines.push(`${INDENT}--`);
		inKernel = frame.kind === 'kernel';
		lines.push(lineOf(frame));
		if (row.callerMissing && at === userLeaf) lines.push(INDENT + CALLER_FRAME);
	}
	if (row.cut) lines.push(`${INDENT}[cut: ${row.cut}]`);
	return lines;
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

/** "12.3 s waited in 4 stacks, 56 waits", and what is known beside that; `uncounted`: without the waits. */
export function totalLines(
	total: StackRow,
	findings: StackFindings,
	options: Pick<StackTextOptions, 'verb' | 'style'> & { readonly uncounted?: true },
): string {
	const { stacks } = findings;
	const line =
		`${amount(total.value, findings)} ${options.verb} in ${grouped(stacks.length)} ${rowNoun(stacks)}` +
		(findings.unit === 'samples' || options.uncounted || (isOne(stacks[0]) && total.variance === 0)
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
	return valueText(value, unit);
}

function countText({ count, variance }: StackRow, { noun }: StackFindings): string {
	const about = variance > 0 ? '~' : '';
	return `${about}${grouped(Math.max(1, count))} ${Math.round(count) <= 1 ? noun : `${noun}s`}`;
}

/** "blocked 1.2 s, run queue 3 ms", if there is more than one part. */
function partsText(row: StackRow, findings: StackFindings): string {
	if (findings.parts.length < 2 || apartOf(row.key).length > 0) return '';
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
