/** Writes arguments as text, each by its kind, into the bytes of a line. */
import { errnoName } from '../../abi/errno.js';
import type { LineBuffer } from '../../render/line-buffer.js';
import type { Argument } from './argument-kinds.js';
import {
	bytesOf,
	flagWriter,
	pointedWriter,
	valueWriter,
	type WriteArgument,
	wordWriter,
	writeAddress,
	writeHexNumber,
	writeInt,
	writeQuoted,
} from './basic-writers.js';
import { type CallRecord, LIST_CUT } from './record.js';
import { signalName, signalSetText } from './signals.js';
import { writeSockaddr } from './sockaddr.js';
import {
	epolledWriter,
	fcntlWriter,
	futexTimeWriter,
	ifAnyWriter,
	writeCpuSet,
	writeDescriptorSet,
	writeEndedText,
	writeFutexLast,
	writeOption,
	writeProtocol,
	writeSocketOption,
} from './special-writers.js';
import { structWriter } from './struct-text.js';
import type { ShownStruct } from './structs.js';

const DOTS = bytesOf('...');
/** Behind a list that is cut. */
const MORE = bytesOf(', ...');
const MESSAGE = bytesOf('{');
const MESSAGE_LENGTH = bytesOf(', msg_len=');
const SEPARATOR = bytesOf(', ');
const END_BRACE = 0x7d;
const CWD = bytesOf('AT_FDCWD');
export const UNTOLD = bytesOf('<?>');
const [OPEN, CLOSE, COMMA, SPACE] = [0x5b, 0x5d, 0x2c, 0x20];
const AT_FDCWD = -100;

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
	if (call.flags & LIST_CUT) lines.add(MORE);
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

function writeSignals(lines: LineBuffer, call: CallRecord, argument: number): void {
	const capture = call.capture(argument);
	if (capture === 0 || call.lengthOf(capture) < 8) {
		writeAddress(lines, call, argument);
		return;
	}
	const at = call.textAt(capture);
	lines.add(bytesOf(signalSetText(call.u32At(at), call.u32At(at + 4))));
}

const SIMPLE: Readonly<Record<string, WriteArgument>> = {
	int: writeInt,
	uint: (lines, call, argument) => lines.whole(call.low(argument), 1),
	size: (lines, call, argument) => lines.unsigned64(call.low(argument), call.high(argument)),
	off: (lines, call, argument) => lines.signed64(call.low(argument), call.high(argument)),
	long: (lines, call, argument) => lines.signed64(call.low(argument), call.high(argument)),
	hex: (lines, call, argument) => writeHexNumber(lines, call.low(argument), call.high(argument)),
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
	sockopt: writeSocketOption,
	optval: pointedWriter(writeOption, false),
	optvalout: pointedWriter(writeOption, true),
	fdset: pointedWriter(writeDescriptorSet, false),
	cpuset: pointedWriter(writeCpuSet, false),
	cpusetout: pointedWriter(writeCpuSet, true),
	strout: pointedWriter(writeEndedText, true),
	protocol: writeProtocol,
	futexlast: writeFutexLast,
	sigset: writeSignals,
	sigsetout: writeSignals,
	sockaddr: pointedWriter(writeSockaddr, false),
	sockaddrout: pointedWriter(writeSockaddr, true),
};

/** By kind: made of what writes the structure that the argument may point to. */
const SPECIAL: Readonly<Record<string, (pointed: WriteArgument) => WriteArgument>> = {
	fcntlarg: fcntlWriter,
	futextime: futexTimeWriter,
	epolled: epolledWriter,
	outif: ifAnyWriter,
};

/** Kinds and types that stand in brackets also where there is one: a list, or a number that an argument points to. */
const LISTS = ['pollfds', 'epolled', 'int', 'off'];
/** What the call writes. */
const AT_EXIT = ['out', 'outif', 'epolled'];

/** How an argument is written. `struct`: the type it points to. */
export function writerOf(
	{ kind, detail }: Argument,
	struct: ShownStruct | undefined,
	files: FileTexts,
): WriteArgument {
	if (kind === 'fd' || kind === 'at') return descriptorWriter(files);
	if (kind === 'flags') return flagWriter(detail);
	if (kind === 'enum') return valueWriter(detail);
	const which = LISTS.includes(kind) || LISTS.includes(detail) ? 'list' : 'all';
	const pointed = struct && pointedWriter(structWriter(struct, which), AT_EXIT.includes(kind));
	const special = SPECIAL[kind]?.(pointed ?? writeAddress) ?? pointed;
	if (special) return special;
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
