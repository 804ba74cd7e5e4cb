/** What stacks say in a line each: whose, the program's function, and what that waits for or calls. */

import { functionOf } from '../aggregate/application-frames.js';
import { largest } from '../aggregate/largest.js';
import { remembered } from '../aggregate/remembered.js';
import { apartOf } from '../aggregate/row-key.js';
import type { Did, Frame } from '../aggregate/stack.js';
import { type StackFindings, type StackRow, totalOf, type Waker } from '../aggregate/stack-rows.js';
import { programFrame } from '../aggregate/summary-frames.js';
import { blockedOf, othersOf } from '../aggregate/wait-parts.js';
import { bareName, fittedName } from './function-name.js';
import { valueText } from './left-out.js';
import { grouped } from './numbers.js';
import { printable } from './terminal.js';

interface SummaryOptions {
	readonly style: { readonly width: number };
	readonly telling?: (row: StackRow) => readonly Frame[];
}

/** Functions, the program's first, and what stands before each but the first. */
interface Path {
	readonly names: readonly string[];
	readonly joints: readonly string[];
}

interface Summary {
	/** Whose. */
	readonly owner: string;
	readonly path: Path;
	/** Who was waited for in the end, if wakers were followed. */
	readonly end: End | undefined;
	readonly sum: StackRow;
	readonly stacks: number;
}

/** The last of a row's wakers that was followed. */
interface End {
	readonly owner: string;
	readonly path: Path;
	readonly did: Did;
}

/**
 * A line for all stacks that read the same, shown above or not, the largest first, and at most `most`; and
 * one for what is in no line.
 */
export function summaryLines(
	most: number,
	findings: StackFindings,
	options: SummaryOptions,
): string {
	const { unit } = findings;
	const total = totalOf(findings).value;
	const all = summariesOf(findings, options);
	const shown = all.filter(({ sum }) => isCertain(sum)).slice(0, most);
	if (shown.length === 0) return '';
	const lines = shown.map(({ owner, path, end, sum, stacks }) => {
		const many = stacks > 1 ? `, ${grouped(stacks)} stacks` : '';
		const head = `${amountAndShare(sum.value)}  ${owner}${many}`;
		const { width } = options.style;
		const line = summaryLine(head, path, mainPart(sum, findings), width);
		return end ? `${line}\n${endLine(end, width)}` : line;
	});
	const others = all
		.filter((each) => !shown.includes(each))
		.reduce((value, { sum }) => value + sum.value, 0);
	if (all.length > shown.length) lines.push(`${amountAndShare(others)}  elsewhere`);
	return `\n${lines.join('\n')}\n`;

	function amountAndShare(value: number): string {
		const share = `${((100 * value) / total).toFixed(1)} %`;
		return `${valueText(value, unit).padStart(unit === 'ns' ? 9 : 14)}  ${share.padStart(7)}`;
	}
}

/** The largest of the lines that `summaryLines` has: whose, the program's function ('': there is none), how much. */
export function largestSummary(
	findings: StackFindings,
	options: Pick<SummaryOptions, 'telling'>,
): { owner: string; name: string; value: number } {
	const [first] = summariesOf(findings, options);
	const { owner = '', path, sum } = first ?? {};
	return { owner, name: path?.names[0] ?? '', value: sum?.value ?? 0 };
}

/** Stacks that read the same together, the largest first. */
function summariesOf(
	findings: StackFindings,
	{ telling }: Pick<SummaryOptions, 'telling'>,
): Summary[] {
	const nameOf = remembered((frame: Frame) => bareName(printable(functionOf(frame))));
	const groups = new Map<string, Pick<Summary, 'owner' | 'path' | 'end'> & { rows: StackRow[] }>();
	for (const row of findings.stacks) {
		const owner = ownerText(row);
		const path = pathOf(row, nameOf, telling?.(row));
		const end = endOf(row, nameOf, telling);
		const key = JSON.stringify([owner, path, end]);
		const group = groups.get(key) ?? { owner, path, end, rows: [] };
		group.rows.push(row);
		groups.set(key, group);
	}
	return [...groups.values()]
		.map(({ owner, path, end, rows }) => ({
			owner,
			path,
			end,
			// Rows of one entry have a key that says of what kind they are, or none has.
			sum: { ...totalOf({ ...findings, stacks: rows }), key: rows[0]?.key ?? {} },
			stacks: rows.length,
		}))
		.sort((a, b) => b.sum.value - a.sum.value);
}

/** The name of a frame's function where there is room for that only. Stacks share frames: each is asked once. */
type NameOf = (frame: Frame) => string;

function endOf(row: StackRow, nameOf: NameOf, telling: SummaryOptions['telling']): End | undefined {
	let last: Waker | undefined;
	for (let { waker } = row; waker?.did; waker = waker.waker) last = waker;
	if (!last?.did) return undefined;
	const { did, frames, cut, callerMissing } = last;
	const there = { ...row, frames, cut, callerMissing };
	return { owner: ownerText(last), path: pathOf(there, nameOf, telling?.(there)), did };
}

/** An estimate says nothing if its standard error is more than half of it. */
const MOST_ERROR = 0.5;

function isCertain({ value, variance }: StackRow): boolean {
	return Math.sqrt(variance) <= MOST_ERROR * value;
}

/** The program's function, and what comes behind it; "…" where others are in between, or missing. */
function pathOf(row: StackRow, nameOf: NameOf, given: readonly Frame[] = []): Path {
	const program = programFrame(row);
	const telling = given.length > 0 ? given : row.frames.slice(-1);
	// Who could go on waits for nothing in the kernel.
	const behind = blockedOf(row) === 0 ? telling.filter(({ kind }) => kind !== 'kernel') : telling;
	const named = [program?.frame, ...behind]
		.filter((frame) => frame !== undefined)
		.map((frame) => ({ kind: frame.kind, name: nameOf(frame) }));
	const path = named.filter(({ name }, at) => {
		const next = named[at + 1];
		const isAgain = named.findIndex((each) => each.name === name) < at;
		return !isAgain && !(at > 0 && next && saysAlready(next.name, name));
	});
	const names = path.map(({ name }) => name);
	if (program?.frame.inCLibrary && (row.cut || row.callerMissing)) names[0] = `… ${names[0]}`;
	const gap = program?.isLowest === false ? ' …' : '';
	const joints = path.slice(1).map(({ kind }, at) => {
		if (at > 0 || gap === '') return ' → ';
		return kind === 'kernel' || path.length === 2 ? `${gap} → ` : `${gap} `;
	});
	return { names, joints };
}

/** Whether the kernel's name tells what was called: "do_epoll_wait" epoll_wait, "tcp_sendmsg" send. */
function saysAlready(inner: string, call: string): boolean {
	const parts = `_${inner.replace(/msg$/, '')}_`;
	return parts.includes(`_${call.replace(/^_+(GI_+)?(libc_)?/, '')}_`);
}

/** Below who it is: where there is no room behind. */
const SUMMARY_INDENT = 20;
/** What is shorter is no name; and of those behind the program's few are longer. */
const LEAST_NAME = 10;
const MOST_NAME_BEHIND = 32;

/** "…  shop (812): place_order → fsync → blkdev_issue_flush". */
function summaryLine(head: string, { names, joints }: Path, mostly: string, width: number): string {
	if (names.length === 0) return `${head}: ${mostly || '(no stack)'}`;
	const suffix = mostly ? ` (${mostly})` : '';
	const behind = names.map((name, at) => (at === 0 ? name : fittedName(name, MOST_NAME_BEHIND)));
	const line = `${head}: ${joined(behind, joints)}${suffix}`;
	if (line.length <= width) return line;
	const room = width - SUMMARY_INDENT - joints.join('').length - suffix.length;
	return `${head}:\n${' '.repeat(SUMMARY_INDENT)}${joined(fittedNames(behind, room), joints)}${suffix}`;
}

/** Below the line of who waited: "← gzip (812): compress (ran)". */
function endLine({ owner, path, did }: End, width: number): string {
	const head = `${' '.repeat(SUMMARY_INDENT)}← ${owner}`;
	return summaryLine(head, path, did, width);
}

/** Names that fit together: what is cut first is the outermost. */
function fittedNames(names: readonly string[], room: number): string[] {
	const fitted: string[] = [];
	let left = room;
	for (const [at, name] of [...names.entries()].reverse()) {
		const own = Math.max(LEAST_NAME, left - at * LEAST_NAME);
		const short = fittedName(name, own);
		fitted.unshift(short);
		left -= short.length;
	}
	return fitted;
}

function joined(names: readonly string[], joints: readonly string[]): string {
	return names.map((name, at) => (at === 0 ? name : `${joints[at - 1]}${name}`)).join('');
}

/** What is less of a wait than that goes without saying. */
const LEAST_PART = 0.25;

/** The largest part that is not blocked: "34 % run queue"; "preempted" if it is all. */
function mainPart(row: StackRow, { parts }: StackFindings): string {
	if (parts.length < 2 || apartOf(row.key).length > 0) return '';
	const others = othersOf(row);
	const value = largest(others);
	const share = value / row.value;
	const part = parts[others.indexOf(value)];
	if (part === undefined || !(share >= LEAST_PART)) return '';
	const percent = Math.round(100 * share);
	return percent === 100 ? part : `${percent} % ${part}`;
}

/** "shop (812, thread 813)": whose a row is. */
export function ownerText({ key, processes }: Pick<StackRow, 'key' | 'processes'>): string {
	const apart = apartOf(key).map((each) => `${each}: `);
	const at = key.address === undefined ? '' : `${key.address}  `;
	const thread = key.tid ? `, thread ${key.tid}` : '';
	const number = key.pid === undefined ? '' : ` (${key.pid}${thread})`;
	const many = processes ? ` (${grouped(processes)} processes)` : number;
	return `${at}${apart.join('')}${printable(`${key.comm ?? ''}`)}${many}`;
}
