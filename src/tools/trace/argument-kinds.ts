/** What the words of a signature mean: what programs take of an argument. See bpf/lib/call_captures.h. */
import { trace as layout } from '../../generated/trace.js';
import type { ShownStruct } from './structs.js';

const { CAPTURE_STRING, CAPTURE_BYTES, CAPTURE_STRINGS, CAPTURE_VECTORS, CAPTURE_PARENT } =
	layout.enums.capture_kind;
const { FACTOR_ONE, FACTOR_ARGUMENT_1, FACTOR_RESULT, FACTOR_AT_1 } = layout.enums.capture_factor;

/** One thing that a program takes. */
export interface Capture {
	readonly argument: number;
	readonly kind: number;
	readonly atExit: boolean;
	readonly factor: number;
	readonly unit: number;
	readonly most: number;
}

/** How much is taken. */
export interface Limits {
	/** Of a string or a buffer: -s. */
	readonly text: number;
}

/** With what is behind it: a path is known by its end. */
const PATH_BYTES = 768;
const SOCKADDR_BYTES = 128;
const SHOWN_POLLFDS = 8;
const SIGSET_BYTES = 8;

/** A word of a signature. */
export interface Argument {
	readonly kind: string;
	/** Behind ":" or "/". */
	readonly detail: string;
	/** Of "in/timeval*2". */
	readonly times: number;
}

export function argumentOf(word: string): Argument {
	const [, kind = '', detail = '', times = '1'] =
		/^([a-z0-9]+)(?:[:/]([A-Za-z0-9_]+))?(?:\*(\d+))?$/.exec(word) ?? [];
	return { kind, detail, times: Number(times) };
}

const capture = (
	argument: number,
	kind: number,
	{ atExit = false, factor = FACTOR_ONE as number, unit = 1, most = 0 },
): Capture => ({ argument, kind, atExit, factor, unit, most });

/** "3": argument 3; "r": the result. */
const factorOf = (detail: string) =>
	detail === 'r' ? FACTOR_RESULT : FACTOR_ARGUMENT_1 + Number(detail) - 1;

/** What to take for an argument (from 0); undefined: its value says all. `struct`: the type it points to. */
export function captureOf(
	{ kind, detail, times }: Argument,
	argument: number,
	{ text }: Limits,
	struct: ShownStruct | undefined,
): Capture | undefined {
	switch (kind) {
		case 'path':
			return capture(argument, CAPTURE_STRING, { most: PATH_BYTES });
		case 'str':
			return capture(argument, CAPTURE_STRING, { most: Math.max(text, 64) });
		case 'argv':
			return capture(argument, CAPTURE_STRINGS, { most: Math.max(text, 128) });
		case 'in':
			return struct
				? capture(argument, CAPTURE_BYTES, { unit: struct.bytes * times, most: struct.bytes * times })
				: detail !== '' && /^[1-6]$/.test(detail)
					? capture(argument, CAPTURE_BYTES, { factor: factorOf(detail), most: text })
					: undefined;
		case 'out':
			return struct
				? capture(argument, CAPTURE_BYTES, {
						atExit: true,
						unit: struct.bytes * times,
						most: struct.bytes * times,
					})
				: detail !== '' && /^[1-6r]$/.test(detail)
					? capture(argument, CAPTURE_BYTES, { atExit: true, factor: factorOf(detail), most: text })
					: undefined;
		case 'vec':
			// What a call has written tells how much of it mattered; it is the program's own all the while.
			return capture(argument, CAPTURE_VECTORS, { atExit: true, factor: FACTOR_RESULT, most: text });
		case 'vecout':
			return capture(argument, CAPTURE_VECTORS, { atExit: true, factor: FACTOR_RESULT, most: text });
		case 'sockaddr':
			return capture(argument, CAPTURE_BYTES, { factor: factorOf(detail), most: SOCKADDR_BYTES });
		case 'sockaddrout':
			return capture(argument, CAPTURE_BYTES, {
				atExit: true,
				factor: FACTOR_AT_1 + Number(detail) - 1,
				most: SOCKADDR_BYTES,
			});
		case 'pollfds':
			return capture(argument, CAPTURE_BYTES, {
				atExit: true,
				factor: factorOf(detail),
				unit: struct?.bytes ?? 0,
				most: (struct?.bytes ?? 0) * SHOWN_POLLFDS,
			});
		case 'epolled':
			return capture(argument, CAPTURE_BYTES, {
				atExit: true,
				factor: FACTOR_RESULT,
				unit: struct?.bytes ?? 0,
				most: (struct?.bytes ?? 0) * SHOWN_POLLFDS,
			});
		case 'sigset':
			return capture(argument, CAPTURE_BYTES, { unit: SIGSET_BYTES, most: SIGSET_BYTES });
		case 'sigsetout':
			return capture(argument, CAPTURE_BYTES, {
				atExit: true,
				unit: SIGSET_BYTES,
				most: SIGSET_BYTES,
			});
		default:
			return undefined;
	}
}

/** Who the parent is: no argument's. */
export const PARENT: Capture = capture(0, CAPTURE_PARENT, { atExit: true });
