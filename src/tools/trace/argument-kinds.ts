/** What the words of a signature mean: what programs take of an argument. See bpf/lib/trace/captures.h. */
import { trace as layout } from '../../generated/trace.js';
import type { ShownStruct } from './structs.js';

const {
	CAPTURE_STRING,
	CAPTURE_BYTES,
	CAPTURE_STRINGS,
	CAPTURE_VECTORS,
	CAPTURE_MESSAGE,
	CAPTURE_MESSAGES,
	CAPTURE_PARENT,
	CAPTURE_FILE,
	CAPTURE_RESULT_FILE,
} = layout.enums.capture_kind;
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
	/** What descriptors are: -y. */
	readonly files: boolean;
	/** Calls are only counted. */
	readonly nothing: boolean;
}

/** With what is behind it: a path is known by its end. */
const PATH_BYTES = 768;
const SOCKADDR_BYTES = 128;
const SHOWN_STRUCTS = 8;
/** Of names and of words of a command, whatever -s says. */
const NAME_BYTES = 64;
const WORD_BYTES = 128;
const SIGSET_BYTES = 8;
/** An option of a socket, mostly. */
export const NUMBER_BYTES = 4;
/** Of an option that is a structure: two numbers of 64 bits. */
const OPTION_BYTES = 16;
/** Of the C library, which allows no descriptor above; the kernel takes any number. */
export const FDSET_BYTES = 128;
/** 1,024 CPUs, as in the C library. */
export const CPUSET_BYTES = 128;

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

/** "3": argument 3; "r": the result. */
const factorOf = (detail: string) =>
	detail === 'r' ? FACTOR_RESULT : FACTOR_ARGUMENT_1 + Number(detail) - 1;

/** What an argument is, for those who say what to take for it. */
interface Asked {
	readonly detail: string;
	readonly times: number;
	readonly limits: Limits;
	readonly struct: ShownStruct | undefined;
}

type Taken = Omit<Capture, 'argument'>;

const taken = (
	kind: number,
	{ atExit = false, factor = FACTOR_ONE as number, unit = 1, most = 0 },
): Taken => ({ kind, atExit, factor, unit, most });

const someStructs = ({ struct, times }: Asked, atExit: boolean): Taken | undefined => {
	const bytes = (struct?.bytes ?? 0) * times;
	return bytes === 0 ? undefined : taken(CAPTURE_BYTES, { atExit, unit: bytes, most: bytes });
};

const manyStructs = ({ struct }: Asked, factor: number): Taken => {
	const unit = struct?.bytes ?? 0;
	return taken(CAPTURE_BYTES, { atExit: true, factor, unit, most: unit * SHOWN_STRUCTS });
};

/** A structure, or a buffer whose length an argument or the result is. */
const pointed = (asked: Asked, atExit: boolean): Taken | undefined => {
	if (asked.struct) return someStructs(asked, atExit);
	if (!/^[1-6r]$/.test(asked.detail)) return undefined;
	const most = asked.limits.text;
	return taken(CAPTURE_BYTES, { atExit, factor: factorOf(asked.detail), most });
};

const signals = (atExit: boolean): Taken =>
	taken(CAPTURE_BYTES, { atExit, unit: SIGSET_BYTES, most: SIGSET_BYTES });

/** How much of it was moved is known at the end only. */
const vectors = ({ limits }: Asked): Taken =>
	taken(CAPTURE_VECTORS, { atExit: true, factor: FACTOR_RESULT, most: limits.text });

const file = ({ limits }: Asked): Taken | undefined =>
	limits.files ? taken(CAPTURE_FILE, {}) : undefined;

/** By the kind of an argument; the values of others say all. */
const TAKEN: Readonly<Record<string, (asked: Asked) => Taken | undefined>> = {
	fd: file,
	at: file,
	path: () => taken(CAPTURE_STRING, { most: PATH_BYTES }),
	str: ({ limits }) => taken(CAPTURE_STRING, { most: Math.max(limits.text, NAME_BYTES) }),
	argv: ({ limits }) => taken(CAPTURE_STRINGS, { most: Math.max(limits.text, WORD_BYTES) }),
	in: (asked) => pointed(asked, false),
	out: (asked) => pointed(asked, true),
	outif: (asked) => pointed(asked, true),
	vec: vectors,
	vecout: vectors,
	msg: (asked) => ({ ...vectors(asked), kind: CAPTURE_MESSAGE }),
	msgs: (asked) => ({ ...vectors(asked), kind: CAPTURE_MESSAGES }),
	sockaddr: ({ detail }) =>
		taken(CAPTURE_BYTES, { factor: factorOf(detail), most: SOCKADDR_BYTES }),
	sockaddrout: ({ detail }) =>
		taken(CAPTURE_BYTES, {
			atExit: true,
			factor: FACTOR_AT_1 + Number(detail) - 1,
			most: SOCKADDR_BYTES,
		}),
	pollfds: (asked) => manyStructs(asked, factorOf(asked.detail)),
	epolled: (asked) => manyStructs(asked, FACTOR_RESULT),
	optval: ({ detail, limits }) =>
		taken(CAPTURE_BYTES, {
			factor: factorOf(detail),
			most: Math.max(limits.text, OPTION_BYTES),
		}),
	optvalout: ({ detail, limits }) =>
		taken(CAPTURE_BYTES, {
			atExit: true,
			factor: FACTOR_AT_1 + Number(detail) - 1,
			most: Math.max(limits.text, OPTION_BYTES),
		}),
	// What other operations have there is no address, or nothing that can be read: that is no fault.
	futextime: (asked) => someStructs(asked, false),
	fcntlarg: (asked) => someStructs(asked, false),
	mqattr: (asked) => someStructs(asked, false),
	fdset: () => taken(CAPTURE_BYTES, { unit: FDSET_BYTES, most: FDSET_BYTES }),
	cpuset: ({ detail }) => taken(CAPTURE_BYTES, { factor: factorOf(detail), most: CPUSET_BYTES }),
	cpusetout: ({ detail }) =>
		taken(CAPTURE_BYTES, { atExit: true, factor: factorOf(detail), most: CPUSET_BYTES }),
	strout: ({ detail }) =>
		taken(CAPTURE_BYTES, { atExit: true, factor: factorOf(detail), most: PATH_BYTES }),
	sigset: () => signals(false),
	sigsetout: () => signals(true),
};

/** What to take for an argument (from 0); undefined: its value says all. `struct`: the type it points to. */
export function captureOf(
	{ kind, detail, times }: Argument,
	argument: number,
	limits: Limits,
	struct: ShownStruct | undefined,
): Capture | undefined {
	const found = TAKEN[kind]?.({ detail, times, limits, struct });
	return found && { argument, ...found };
}

/** What the result is, where that is a descriptor. */
export const RESULT_FILE: Capture = {
	argument: 0,
	...taken(CAPTURE_RESULT_FILE, { atExit: true }),
};
/** Who the parent is: no argument's. */
export const PARENT: Capture = { argument: 0, ...taken(CAPTURE_PARENT, { atExit: true }) };
