/** Writes arguments as text, each by its kind, into the bytes of a line. */
import { errnoName } from '../../abi/errno.js';
import type { LineBuffer } from '../../render/line-buffer.js';
import type { Argument } from './argument-kinds.js';
import { type Flags, flagsOf, flagsText, valuesOf } from './flag-names.js';
import type { CallRecord } from './record.js';
import { writeSockaddr } from './sockaddr.js';
import { structWriter } from './struct-text.js';
import type { ShownStruct } from './structs.js';

/** Writes the argument of this number, from 0. */
export type WriteArgument = (lines: LineBuffer, call: CallRecord, argument: number) => void;

const bytesOf = (text: string) => new TextEncoder().encode(text);
const NULL = bytesOf('NULL');
const DOTS = bytesOf('...');
const MESSAGE = bytesOf('{');
const MESSAGE_LENGTH = bytesOf(', msg_len=');
const SEPARATOR = bytesOf(', ');
const END_BRACE = 0x7d;
const CWD = bytesOf('AT_FDCWD');
export const UNTOLD = bytesOf('<?>');
const [QUOTE, OPEN, CLOSE, COMMA, SPACE, MINUS] = [0x22, 0x5b, 0x5d, 0x2c, 0x20, 0x2d];
const AT_FDCWD = -100;
/** Flags and values seen, as bytes; programs use few. */
const MAX_WORDS = 4096;

function writeAddress(lines: LineBuffer, call: CallRecord, argument: number): void {
	const low = call.low(argument);
	const high = call.high(argument);
	if (low === 0 && high === 0) lines.add(NULL);
	else lines.hex64(low, high);
}

function writeInt(lines: LineBuffer, call: CallRecord, argument: number): void {
	const value = call.low(argument) | 0;
	if (value < 0) lines.byte(MINUS);
	lines.whole(Math.abs(value), 1);
}

/** A captured string or buffer, in quotes. */
function writeQuoted(lines: LineBuffer, call: CallRecord, capture: number): void {
	lines.byte(QUOTE);
	lines.escaped(call.bytes, call.textAt(capture), call.lengthOf(capture));
	lines.byte(QUOTE);
	if (call.isCut(capture)) lines.add(DOTS);
}

/** What it points to in quotes; its address, if that could not be read, or is not to be: an output that failed. */
function writeText(lines: LineBuffer, call: CallRecord, argument: number): void {
	const capture = call.capture(argument);
	if (capture === 0 || call.isUnreadable(capture)) writeAddress(lines, call, argument);
	else writeQuoted(lines, call, capture);
}

function writeOutput(lines: LineBuffer, call: CallRecord, argument: number): void {
	if (call.errno !== 0) writeAddress(lines, call, argument);
	else writeText(lines, call, argument);
}

/** Several strings in brackets. */
function writeList(lines: LineBuffer, call: CallRecord, argument: number): void {
	const capture = call.capture(argument);
	if (capture === 0) {
		writeAddress(lines, call, argument);
		return;
	}
	writeStrings(lines, call, capture);
}

/** From this capture on, up to where another message begins, which it returns; 0: none does. */
function writeStrings(lines: LineBuffer, call: CallRecord, from: number): number {
	let capture = from;
	lines.byte(OPEN);
	for (
		let first = true;
		capture !== 0 && !call.isBegin(capture);
		capture = call.nextCapture(capture), first = false
	) {
		if (!first) {
			lines.byte(COMMA);
			lines.byte(SPACE);
		}
		if (call.isUnreadable(capture)) lines.add(DOTS);
		else writeQuoted(lines, call, capture);
	}
	lines.byte(CLOSE);
	return capture;
}

/** Texts of files by their number: what programs have told of them. */
export interface FileTexts {
	/** "</etc/passwd>", as bytes; undefined: nobody has told. */
	of(id: number): Uint8Array | undefined;
}

/** A descriptor, with what it is behind it. */
function descriptorWriter(files: FileTexts): WriteArgument {
	return (lines, call, argument) => {
		if ((call.low(argument) | 0) === AT_FDCWD) lines.add(CWD);
		else writeInt(lines, call, argument);
		const capture = call.capture(argument);
		if (capture !== 0) lines.add(files.of(call.idAt(capture)) ?? UNTOLD);
	};
}

/** A message: the address that it goes to or comes from, and what is in it. */
function writeMessage(lines: LineBuffer, call: CallRecord, argument: number): void {
	const address = call.capture(argument);
	if (address === 0 || call.errno !== 0) {
		writeAddress(lines, call, argument);
		return;
	}
	lines.add(MESSAGE);
	writeParts(lines, call, address);
	lines.byte(END_BRACE);
}

/** The address of a message, if it has one, and what is in it; returns where another begins. 0: neither was read. */
function writeParts(lines: LineBuffer, call: CallRecord, address: number): number {
	if (address !== 0 && call.lengthOf(address) > 1) {
		writeSockaddr(lines, call, address);
		lines.add(SEPARATOR);
	}
	return writeStrings(lines, call, address === 0 ? 0 : call.nextCapture(address));
}

/** Several messages, as many as were sent or came: what each has, and how many bytes that is. */
function writeMessages(lines: LineBuffer, call: CallRecord, argument: number): void {
	let begin = call.capture(argument);
	if (begin === 0 || call.errno !== 0) {
		writeAddress(lines, call, argument);
		return;
	}
	let count = 0;
	lines.byte(OPEN);
	for (; begin !== 0; count++) {
		if (count > 0) lines.add(SEPARATOR);
		const bytes = call.u32At(call.textAt(begin));
		const address = call.nextCapture(begin);
		lines.add(MESSAGE);
		begin = writeParts(lines, call, address);
		lines.add(MESSAGE_LENGTH);
		lines.whole(bytes, 1);
		lines.byte(END_BRACE);
	}
	if (count < call.resultLow) {
		lines.add(SEPARATOR);
		lines.add(DOTS);
	}
	lines.byte(CLOSE);
}

/** Words for numbers, made once for each number. */
function wordWriter(textOf: (value: number) => string): WriteArgument {
	const known = new Map<number, Uint8Array>();
	return (lines, call, argument) => {
		const value = call.low(argument);
		let bytes = known.get(value);
		if (!bytes) {
			bytes = bytesOf(textOf(value));
			if (known.size >= MAX_WORDS) known.clear();
			known.set(value, bytes);
		}
		lines.add(bytes);
	};
}

function flagWriter(name: string): WriteArgument {
	const flags: Flags = flagsOf(name) ?? { bits: [], mask: 0, values: new Map(), zero: '0' };
	return wordWriter((value) => flagsText(flags, value));
}

function valueWriter(name: string): WriteArgument {
	const names = valuesOf(name);
	return wordWriter(
		(value) => names?.get(value) ?? (name === 'ioctl' ? `0x${value.toString(16)}` : `${value | 0}`),
	);
}

const SIGNALS = (
	'0 HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP ' +
	'TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'
).split(' ');

/** "SIGKILL", "SIGRT_3". */
export function signalName(signal: number): string {
	if (signal >= 32 && signal <= 64) return `SIGRT_${signal - 32}`;
	const name = SIGNALS[signal];
	return name === undefined || signal === 0 ? `${signal}` : `SIG${name}`;
}

/** "[INT CHLD]", as strace has it; a set with most signals is written as what is not in it. */
export function signalSetText(low: number, high: number): string {
	const names = (want: 0 | 1) => {
		const found: string[] = [];
		for (let signal = 1; signal <= 64; signal++) {
			const word = signal <= 32 ? low : high;
			if (((word >>> ((signal - 1) & 31)) & 1) === want)
				found.push(signalName(signal).replace(/^SIG/, ''));
		}
		return found;
	};
	const inside = names(1);
	return inside.length > 32 ? `~[${names(0).join(' ')}]` : `[${inside.join(' ')}]`;
}

function writeSignals(lines: LineBuffer, call: CallRecord, argument: number): void {
	const capture = call.capture(argument);
	if (capture === 0 || call.lengthOf(capture) < 8) {
		writeAddress(lines, call, argument);
		return;
	}
	const at = call.textAt(capture);
	lines.add(bytesOf(signalSetText(call.u32At(at), call.u32At(at + 4))));
}

/** A captured structure, or its address. `atExit`: only what a call that succeeded has put there. */
function pointedWriter(
	write: (lines: LineBuffer, call: CallRecord, capture: number) => void,
	atExit: boolean,
): WriteArgument {
	return (lines, call, argument) => {
		const capture = call.capture(argument);
		if (
			capture === 0 ||
			call.isUnreadable(capture) ||
			call.lengthOf(capture) === 0 ||
			(atExit && call.errno !== 0)
		)
			writeAddress(lines, call, argument);
		else write(lines, call, capture);
	};
}

const SIMPLE: Readonly<Record<string, WriteArgument>> = {
	int: writeInt,
	uint: (lines, call, argument) => lines.whole(call.low(argument), 1),
	size: (lines, call, argument) => lines.unsigned64(call.low(argument), call.high(argument)),
	off: (lines, call, argument) => lines.signed64(call.low(argument), call.high(argument)),
	long: (lines, call, argument) => lines.signed64(call.low(argument), call.high(argument)),
	hex: (lines, call, argument) => lines.hex64(call.low(argument), call.high(argument)),
	mode: (lines, call, argument) => lines.octal(call.low(argument) & 0xffff),
	openmode: (lines, call, argument) => lines.octal(call.low(argument) & 0xffff),
	ptr: writeAddress,
	path: writeText,
	str: writeText,
	argv: writeList,
	vec: writeList,
	vecout: writeList,
	msg: writeMessage,
	msgs: writeMessages,
	sig: wordWriter((value) => signalName(value)),
	sigset: writeSignals,
	sigsetout: writeSignals,
	sockaddr: pointedWriter(writeSockaddr, false),
	sockaddrout: pointedWriter(writeSockaddr, true),
};

/** O_CREAT, and the bit of O_TMPFILE that no other flag has; on x86-64 and arm64. */
const CREATES = 0o100 | 0o20000000;

/** Whether an argument says something: what mode a file gets that is not created does not. */
export function isShown({ kind }: Argument, call: CallRecord, argument: number): boolean {
	return kind !== 'openmode' || (call.low(argument - 1) & CREATES) !== 0;
}

/** How an argument is written. `struct`: the type it points to. */
export function writerOf(
	{ kind, detail }: Argument,
	struct: ShownStruct | undefined,
	files: FileTexts,
): WriteArgument {
	if (kind === 'fd' || kind === 'at') return descriptorWriter(files);
	if (kind === 'flags') return flagWriter(detail);
	if (kind === 'enum') return valueWriter(detail);
	if (struct) return pointedWriter(structWriter(struct), kind === 'out' || kind === 'epolled');
	if (kind === 'in') return writeText;
	if (kind === 'out') return writeOutput;
	return SIMPLE[kind] ?? writeAddress;
}

/** "ENOENT", as bytes, by number. */
const errnos = new Map<number, Uint8Array>();

export function writeErrno(lines: LineBuffer, errno: number): void {
	let bytes = errnos.get(errno);
	if (!bytes) {
		bytes = bytesOf(`-1 ${errnoName(errno)}`);
		errnos.set(errno, bytes);
	}
	lines.add(bytes);
}
