/** Lines of `tstrace timehist`, as perf sched timehist has them. */
import { timehist as layout } from '../generated/timehist.js';
import type { LineBuffer } from '../render/line-buffer.js';
import { printable } from '../render/terminal.js';
import type { EventFormatter } from './events.js';
import { stateLetter } from './states.js';

const FIELDS = layout.structs.timehist_event.fields;
type Field = keyof typeof FIELDS;
const wordOf = (field: Field) => FIELDS[field].offset / 4;
const TIME = wordOf('time_ns');
const WAIT = wordOf('wait_ns');
const DELAY = wordOf('delay_ns');
const RUN = wordOf('run_ns');
const TGID = wordOf('tgid');
const STATE = wordOf('state');
/** cpu, type and flags, in this order, in one word. */
const CPU = wordOf('cpu');
const {
	TIMEHIST_WAIT_UNKNOWN: WAIT_UNKNOWN,
	TIMEHIST_DELAY_UNKNOWN: DELAY_UNKNOWN,
	TIMEHIST_RUN_UNKNOWN: RUN_UNKNOWN,
} = layout.enums.timehist_flag;

const NAME_WIDTH = 30;
const TIME_WIDTH = 15;
const DURATION_WIDTH = 9;
const LINE_BYTES = 512;
const [OPEN, CLOSE, ZERO, DASH] = [0x5b, 0x5d, 0x30, 0x2d];

export function timehistHeader(): string {
	return [
		'           time    cpu  task name                       wait time  sch delay   run time  state',
		'                        [tid/pid]                          (msec)     (msec)     (msec)',
		'--------------- ------  ------------------------------  ---------  ---------  ---------  -----',
	].join('\n');
}

export class TimehistText implements EventFormatter {
	readonly timeAt = TIME;
	readonly #names = new Names();
	readonly #states = new Map<number, number>();

	line(words: Uint32Array, at: number, lines: LineBuffer): void {
		const about = words[at + CPU] as number;
		const flags = about >>> 24;
		lines.room(LINE_BYTES);
		lines.millionths(Math.floor(u64(words, at + TIME) / 1000), TIME_WIDTH);
		lines.spaces(1);
		lines.byte(OPEN);
		lines.whole(about & 0xffff, 4, ZERO);
		lines.byte(CLOSE);
		lines.spaces(2);
		lines.add(this.#names.of(words, at + TGID));
		duration(lines, !(flags & WAIT_UNKNOWN), u64(words, at + WAIT));
		duration(lines, !(flags & DELAY_UNKNOWN), u64(words, at + DELAY));
		duration(lines, !(flags & RUN_UNKNOWN), u64(words, at + RUN));
		lines.spaces(2);
		lines.byte(this.#state(words[at + STATE] as number));
		lines.newline();
	}

	summary(): string | undefined {
		return undefined;
	}

	#state(mask: number): number {
		let letter = this.#states.get(mask);
		if (letter === undefined) {
			letter = stateLetter(mask).charCodeAt(0);
			this.#states.set(mask, letter);
		}
		return letter;
	}
}

function u64(words: Uint32Array, at: number): number {
	return (words[at] as number) + (words[at + 1] as number) * 2 ** 32;
}

/** In ms, cut off after the microseconds, as perf does; "-" is not known. */
function duration(lines: LineBuffer, known: boolean, time_ns: number): void {
	lines.spaces(2);
	if (known) {
		lines.thousandths(Math.floor(time_ns / 1000), DURATION_WIDTH);
	} else {
		lines.spaces(DURATION_WIDTH - 1);
		lines.byte(DASH);
	}
}

/** Threads that were seen lately; more than these are named anew. */
const MAX_NAMES = 65_536;

interface Name {
	readonly tgid: number;
	readonly comm: readonly [number, number, number, number];
	readonly text: Uint8Array;
}

/** "comm[tid/pid]", padded, made once for each thread and name. */
class Names {
	readonly #names = new Map<number, Name>();

	/** `at`: its tgid; tid and comm follow it. */
	of(words: Uint32Array, at: number): Uint8Array {
		const tid = words[at + 1] as number;
		const known = this.#names.get(tid);
		if (
			known !== undefined &&
			known.tgid === words[at] &&
			known.comm[0] === words[at + 2] &&
			known.comm[1] === words[at + 3] &&
			known.comm[2] === words[at + 4] &&
			known.comm[3] === words[at + 5]
		)
			return known.text;
		const tgid = words[at] as number;
		const word = (i: number) => words[at + 2 + i] as number;
		const text = new TextEncoder().encode(threadName(words, at).padEnd(NAME_WIDTH));
		if (this.#names.size >= MAX_NAMES) this.#names.clear();
		this.#names.set(tid, { tgid, comm: [word(0), word(1), word(2), word(3)], text });
		return text;
	}
}

/** "comm[tid]", or "comm[tid/pid]" for a thread that is not its process's first. */
function threadName(words: Uint32Array, at: number): string {
	const bytes = Buffer.from(words.buffer, words.byteOffset + (at + 2) * 4, 16);
	const end = bytes.indexOf(0);
	const comm = printable(bytes.toString('utf8', 0, end < 0 ? 16 : end));
	const [tgid, tid] = [words[at], words[at + 1]];
	return `${comm}[${tid === tgid ? tid : `${tid}/${tgid}`}]`;
}
