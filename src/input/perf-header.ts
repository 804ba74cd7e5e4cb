/**
 * The line that begins a sample in what `perf script` prints, whichever fields -F chose:
 * "comm pid/tid [cpu] time: period event:", tools/perf/builtin-script.c in the kernel's sources.
 */

export interface SampleHeader {
	readonly comm: string;
	/** As they are printed; one number alone is the thread's. */
	readonly pid: string | undefined;
	readonly tid: string | undefined;
	/** How many of the event the sample stands for; undefined: not printed. */
	readonly period: number | undefined;
	readonly event: string | undefined;
	/** "address symbol (module)", which perf prints on this line when there is no call chain. */
	readonly frame: string | undefined;
	/** It says so itself, by two of number, time and event; else only frames that follow prove it. */
	readonly certain: boolean;
	/** A line about a process or about losses (perf script --show-…-events), not a sample. */
	readonly sideband: boolean;
}

/** Fields before the event fit; regular expressions see no more, which bounds their time. */
const MAX_FIELDS = 512;
const TIME = /\s(\d+\.\d+):(?=\s|$)/;
const NUMBERS = /^(-?\d+)(?:\/(-?\d+))?$/;
const CPU = /^\[\d+\]$/;
/** Of a CPU when the sample was taken: "d.h1". */
const STATE = /^[A-Za-z.]{1,12}$/;
const PERIOD_AND_EVENT = /^\s*(?:(\d+)\s+)?(\S+):(?=\s|$)/;
const PERIOD = /^\s*(\d+)\s*$/;
/** Two blanks at least, which is how it differs from a tracepoint's own text. */
const FRAME = /^\s\s+([0-9a-f]{1,16}(?:\s+\S.*)?)$/;

/** Undefined: it begins no sample that says so itself. */
export function parseHeader(line: string): SampleHeader | undefined {
	const fields = line.slice(0, MAX_FIELDS);
	const time = TIME.exec(fields);
	if (time) {
		const before = fields.slice(0, time.index);
		const owner = ownerBefore(before) ?? { comm: withoutCpu(before), first: undefined };
		return header(owner, line.slice(time.index + time[0].length), true);
	}
	const owner = ownerAtBeginning(fields);
	return owner ? header(owner, line.slice(owner.end), false) : undefined;
}

/** A line that names somebody, though it has no number: perf script -F comm,ip,sym. */
export function parseName(line: string): SampleHeader {
	const fields = line.slice(0, MAX_FIELDS).trimEnd();
	const event = lastWord(fields);
	const comm = fields.slice(0, fields.length - event.length).trimEnd();
	const named = comm !== '' && !isBlank(fields[0]) && /^.+:$/.test(event);
	return header(
		{ comm: named ? comm : fields.trim(), first: undefined },
		named ? event : '',
		false,
	);
}

/** Whose sample it is: a name, which may have blanks and numbers itself, then one number or two. */
interface Owner {
	readonly comm: string;
	readonly first: string | undefined;
	readonly second?: string | undefined;
}

/*
 * The following go over the words of a line once. Regular expressions that let a name have blanks try
 * each of these as its end, which takes time with the square of their number.
 */

/** What is before the time: "comm pid/tid [cpu] state". Undefined where no number is. */
export function ownerBefore(text: string): Owner | undefined {
	let left = text.trimEnd();
	const skip = (word: RegExp): void => {
		const last = lastWord(left);
		if (word.test(last)) left = left.slice(0, left.length - last.length).trimEnd();
	};
	skip(STATE);
	skip(CPU);
	const last = lastWord(left);
	const [, first, second] = NUMBERS.exec(last) ?? [];
	if (first === undefined) return undefined;
	return { comm: left.slice(0, left.length - last.length).trim(), first, second };
}

/** The same where there is no time, with what follows: up to the first number behind a name; `end`: where it ends. */
export function ownerAtBeginning(text: string): (Owner & { end: number }) | undefined {
	const words = text.matchAll(/\S+/g);
	const start = words.next().value?.index;
	for (const { 0: word, index } of words) {
		const [, first, second] = NUMBERS.exec(word) ?? [];
		const after = index + word.length;
		// What ends the line may be a count.
		if (first === undefined || after === text.length) continue;
		const comm = text.slice(start, index).trimEnd();
		return { comm, first, second, end: afterCpu(text, afterBlanks(text, after)) };
	}
	return undefined;
}

/** Behind "[000] ", if that is here; else here. */
function afterCpu(text: string, at: number): number {
	const [cpu] = /^\[\d+\]\s/.exec(text.slice(at)) ?? [];
	return cpu === undefined ? at : afterBlanks(text, at + cpu.length);
}

function withoutCpu(text: string): string {
	const trimmed = text.trimEnd();
	const open = trimmed.lastIndexOf('[');
	return (open >= 0 && CPU.test(trimmed.slice(open)) ? trimmed.slice(0, open) : trimmed).trim();
}

const isBlank = (character: string | undefined): boolean =>
	character !== undefined && character.trim() === '';

function afterBlanks(text: string, from: number): number {
	let at = from;
	while (isBlank(text[at])) at++;
	return at;
}

/** '' after a blank. */
function lastWord(text: string): string {
	let start = text.length;
	while (start > 0 && !isBlank(text[start - 1])) start--;
	return text.slice(start);
}

function header({ comm, first, second }: Owner, rest: string, timed: boolean): SampleHeader {
	const named = PERIOD_AND_EVENT.exec(rest);
	const period = named?.[1] ?? PERIOD.exec(rest)?.[1];
	const numbered = first !== undefined;
	return {
		comm,
		pid: second === undefined ? undefined : first,
		tid: second ?? first,
		period: period === undefined ? undefined : Number(period),
		event: named?.[2],
		frame: FRAME.exec(rest.slice(named?.[0].length ?? 0).trimEnd())?.[1],
		certain: timed ? numbered || named !== null : numbered && named !== null,
		sideband: /^\s*PERF_RECORD_/.test(rest),
	};
}

/**
 * Whose stack it is, as stackcollapse-perf.pl writes it: "node", "node-23858", "node-23858/23859".
 * A process whose number is not printed is "?"; so is that of thread 0, the idle CPU's. Who has no name
 * printed is the number.
 */
export function ownerName(
	{ comm, pid, tid = '?' }: SampleHeader,
	identify: 'none' | 'pid' | 'tid',
): string {
	const process = pid === undefined || tid === '0' ? '?' : pid;
	const thread = tid === '0' && pid !== undefined ? pid : tid;
	const numbers = { none: '', pid: `-${process}`, tid: `-${process}/${thread}` }[identify];
	return `${comm || thread}${numbers}`.replaceAll(' ', '_');
}
