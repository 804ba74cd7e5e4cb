/** Writes arguments that mean something else by what another argument is. */
import type { LineBuffer } from '../../render/line-buffer.js';
import { type Argument, CPUSET_BYTES, FDSET_BYTES, NUMBER_BYTES } from './argument-kinds.js';
import {
	bytesOf,
	flagWriter,
	valueWriter,
	type WriteArgument,
	writeAddress,
	writeInt,
	writeQuoted,
} from './basic-writers.js';
import { flagsOf, flagsText } from './flag-names.js';
import type { CallRecord } from './record.js';
import { structWriter } from './struct-text.js';

const EMPTY = bytesOf('[]');
const DOTS = bytesOf('...');
const [OPEN, CLOSE, SPACE] = [0x5b, 0x5d, 0x20];

/** Levels whose options have names: IP, SOCKET, TCP, UDP, IPV6. */
const SOCKET_LEVELS = [0, 1, 6, 17, 41];
const optionWriters = new Map(
	SOCKET_LEVELS.map((level) => [level, valueWriter(`sockopt${level}`)] as const),
);

/** An option of a socket, named by the level that the argument before it is. */
export function writeSocketOption(lines: LineBuffer, call: CallRecord, argument: number): void {
	const write = optionWriters.get(call.low(argument - 1)) ?? writeInt;
	write(lines, call, argument);
}

/** include/uapi/asm-generic/socket.h: options of SOL_SOCKET that are structures. */
const SOL_SOCKET = 1;
const SO_LINGER = 13;
/** SO_RCVTIMEO and SO_SNDTIMEO, of both kinds; they are 16 bytes to a program of 64 bits. */
const SOCKET_TIMEOUTS = [20, 21, 66, 67];

const int = (offset: number, name: string) =>
	({ name, offset, bytes: 4, form: 'decimal' }) as const;
const long = (offset: number, name: string) =>
	({ name, offset, bytes: 8, form: 'decimal' }) as const;
const LINGER = { bytes: 8, fields: [int(0, 'l_onoff'), int(4, 'l_linger')] };
const TIMEOUT = { bytes: 16, fields: [long(0, 'tv_sec'), long(8, 'tv_usec')] };
const NUMBER = { bytes: NUMBER_BYTES, fields: [int(0, '')] };
const writeLinger = structWriter(LINGER, 'first');
const writeTimeout = structWriter(TIMEOUT, 'first');
const writeNumber = structWriter(NUMBER, 'list');

function optionStruct(call: CallRecord): { bytes: number; write: typeof writeLinger } | undefined {
	if (call.low(1) !== SOL_SOCKET) return undefined;
	if (call.low(2) === SO_LINGER) return { bytes: LINGER.bytes, write: writeLinger };
	return SOCKET_TIMEOUTS.includes(call.low(2))
		? { bytes: TIMEOUT.bytes, write: writeTimeout }
		: undefined;
}

/** What an option of a socket is set to: a number, mostly. */
export function writeOption(lines: LineBuffer, call: CallRecord, capture: number): void {
	const bytes = call.lengthOf(capture);
	const struct = optionStruct(call);
	// What a program gives may be longer than what the kernel takes.
	if (struct && bytes >= struct.bytes) struct.write(lines, call, capture);
	else if (bytes === NUMBER_BYTES && !call.isCut(capture)) writeNumber(lines, call, capture);
	else writeQuoted(lines, call, capture);
}

/** Numbers of the bits that are set, below `count`: "[0 5 33]". */
function writeSet(lines: LineBuffer, call: CallRecord, capture: number, count: number): void {
	const at = call.textAt(capture);
	let isFirst = true;
	lines.byte(OPEN);
	for (let number = 0; number < count; number++) {
		if (((call.u32At(at + 4 * (number >>> 5)) >>> (number & 31)) & 1) === 0) continue;
		if (!isFirst) lines.byte(SPACE);
		isFirst = false;
		lines.whole(number, 1);
	}
	if (call.isCut(capture)) lines.add(DOTS);
	lines.byte(CLOSE);
}

/** Descriptors of a set, up to as many as the call's first argument says. */
export function writeDescriptorSet(lines: LineBuffer, call: CallRecord, capture: number): void {
	const bytes = Math.min(call.lengthOf(capture), FDSET_BYTES);
	writeSet(lines, call, capture, Math.min(call.low(0) | 0, 8 * bytes));
}

export function writeCpuSet(lines: LineBuffer, call: CallRecord, capture: number): void {
	writeSet(lines, call, capture, 8 * Math.min(call.lengthOf(capture), CPUSET_BYTES));
}

/** A string that the call has written, with the 0 at its end. */
export function writeEndedText(lines: LineBuffer, call: CallRecord, capture: number): void {
	const bytes = call.lengthOf(capture);
	const last = call.textAt(capture) + bytes - 1;
	const isEnded = bytes > 0 && call.bytes[last] === 0;
	writeQuoted(lines, call, capture, isEnded ? bytes - 1 : bytes);
}

/** AF_INET and AF_INET6 have the same protocols. */
const PROTOCOLS_OF = new Map([
	[2, 2],
	[10, 2],
	[16, 16],
]);
const protocolWriters = new Map(
	[...PROTOCOLS_OF].map(([family, names]) => [family, valueWriter(`protocol${names}`)] as const),
);

/** The protocol of a socket, named by the family, which is the first argument. */
export function writeProtocol(lines: LineBuffer, call: CallRecord, argument: number): void {
	const write = protocolWriters.get(call.low(0)) ?? writeInt;
	write(lines, call, argument);
}

/** include/uapi/linux/futex.h: operations, without what else is in the number. */
const FUTEX_OPERATION = 0x7f;
const [FUTEX_WAIT, FUTEX_WAKE, FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI] = [0, 1, 6, 7, 8];
/** Of those whose fourth argument is a number. */
const FUTEX_COUNTS = [3, 4, 5, 12];
const futexOperation = (call: CallRecord) => call.low(1) & FUTEX_OPERATION;

/** How many arguments of the six say something. */
function futexArguments(call: CallRecord): number {
	const operation = futexOperation(call);
	if ([FUTEX_WAKE, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI].includes(operation)) return 3;
	return [FUTEX_WAIT, FUTEX_LOCK_PI].includes(operation) ? 4 : 6;
}

/** What matches every waiter, as a set of bits: of FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET. */
const MATCH_ANY = bytesOf('FUTEX_BITSET_MATCH_ANY');
const FUTEX_BITSETS = [9, 10];

export function writeFutexLast(lines: LineBuffer, call: CallRecord, argument: number): void {
	const value = call.low(argument);
	const isAny = value === 0xffff_ffff && FUTEX_BITSETS.includes(futexOperation(call));
	if (isAny) lines.add(MATCH_ANY);
	else lines.whole(value, 1);
}

export function futexTimeWriter(write: WriteArgument): WriteArgument {
	return (lines, call, argument) =>
		FUTEX_COUNTS.includes(futexOperation(call))
			? lines.whole(call.low(argument), 1)
			: write(lines, call, argument);
}

/** include/uapi/asm-generic/fcntl.h and linux/fcntl.h: what commands of fcntl take. */
const FCNTL_LOCKS = [5, 6, 7, 36, 37, 38];
const [F_GETFD, F_SETFD, F_GETFL, F_SETFL] = [1, 2, 3, 4];
/** F_GETFD, F_GETFL, F_GETOWN, F_GETSIG, F_GETLEASE, F_GETPIPE_SZ, F_GET_SEALS. */
const FCNTL_WITHOUT = [1, 3, 9, 11, 1025, 1032, 1034];

export function fcntlWriter(writeLock: WriteArgument): WriteArgument {
	const descriptor = flagWriter('fd');
	const status = flagWriter('open');
	return (lines, call, argument) => {
		const command = call.low(1);
		if (FCNTL_LOCKS.includes(command)) writeLock(lines, call, argument);
		else if (command === F_SETFD) descriptor(lines, call, argument);
		else if (command === F_SETFL) status(lines, call, argument);
		else lines.signed64(call.low(argument), call.high(argument));
	};
}

const descriptorFlags = flagsOf('fd');
const statusFlags = flagsOf('open');

/** The names of flags that F_GETFD or F_GETFL returned; undefined: it returned none, or the call is another one. */
export function fcntlResult(call: CallRecord): string | undefined {
	const command = call.low(1);
	const returned = { [F_GETFD]: descriptorFlags, [F_GETFL]: statusFlags }[command];
	const isNone = call.errno !== 0 || (command === F_GETFD && call.resultLow === 0);
	return returned && !isNone ? flagsText(returned, call.resultLow) : undefined;
}

/** What has happened, of which there may be nothing. */
export function epolledWriter(write: WriteArgument): WriteArgument {
	return (lines, call, argument) => {
		const isNothing = call.errno === 0 && call.resultLow === 0;
		if (isNothing) lines.add(EMPTY);
		else write(lines, call, argument);
	};
}

/** What a call has written if its result says so. */
export function ifAnyWriter(write: WriteArgument): WriteArgument {
	return (lines, call, argument) => {
		const isAny = call.errno === 0 && (call.resultLow !== 0 || call.resultHigh !== 0);
		if (isAny) write(lines, call, argument);
		else writeAddress(lines, call, argument);
	};
}

/** O_CREAT, and the bit of O_TMPFILE that no other flag has; on x86-64 and arm64. */
const CREATES = 0o100 | 0o20000000;

/** How many arguments say something, of a call whose last one is this: what mode a file gets that is not created does not. */
export function shownArguments(
	last: Argument | undefined,
	call: CallRecord,
	count: number,
): number {
	switch (last?.kind) {
		case 'openmode':
			return (call.low(count - 2) & CREATES) !== 0 ? count : count - 1;
		case 'mqattr':
			return (call.low(count - 3) & CREATES) !== 0 ? count : count - 2;
		case 'fcntlarg':
			return FCNTL_WITHOUT.includes(call.low(1)) ? count - 1 : count;
		case 'futexlast':
			return futexArguments(call);
		default:
			return count;
	}
}
