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
/** What is before the time. What is before the numbers may have blanks and numbers itself. */
const OWNER =
	/^\s*(\S.*?|)\s*(?<!\S)(-?\d+)(?:\/(-?\d+))?(?:\s+\[\d+\])?(?:\s+[A-Za-z.]{1,12})?\s*$/;
/** What is before the event where there is no time. */
const TIMELESS = /^\s*(\S.*?)\s+(-?\d+)(?:\/(-?\d+))?\s+(?:\[\d+\]\s+)?/;
const NUMBERLESS = /^(\S.*?)\s+(\S+:)\s*$/;
const CPU = /\s*\[\d+\]\s*$/;
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
		const owner = OWNER.exec(before);
		const named = owner ?? ['', before.replace(CPU, '').trim()];
		return header(named, line.slice(time.index + time[0].length), true);
	}
	const owner = TIMELESS.exec(fields);
	return owner ? header(owner, line.slice(owner[0].length), false) : undefined;
}

/** A line that names somebody, though it has no number: perf script -F comm,ip,sym. */
export function parseName(line: string): SampleHeader {
	const fields = line.slice(0, MAX_FIELDS);
	const [, comm, rest] = NUMBERLESS.exec(fields) ?? [];
	return header(['', comm ?? fields.trim()], rest ?? '', false);
}

function header(
	[, comm = '', first, second]: readonly (string | undefined)[],
	rest: string,
	timed: boolean,
): SampleHeader {
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
