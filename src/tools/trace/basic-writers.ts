/** Writes arguments that are a number, an address, a word, or what one points to; all other writers are made of these. */
import type { LineBuffer } from '../../render/line-buffer.js';
import { flagsOf, flagsText, NO_FLAGS, valuesOf } from './flag-names.js';
import type { CallRecord } from './record.js';

/** Writes the argument of this number, from 0. */
export type WriteArgument = (lines: LineBuffer, call: CallRecord, argument: number) => void;

export const bytesOf = (text: string) => new TextEncoder().encode(text);
const NULL = bytesOf('NULL');
const DOTS = bytesOf('...');
const [QUOTE, MINUS, ZERO] = [0x22, 0x2d, 0x30];
/** Flags and values seen, as bytes; programs use few. */
const MAX_WORDS = 4096;

export function writeAddress(lines: LineBuffer, call: CallRecord, argument: number): void {
	const low = call.low(argument);
	const high = call.high(argument);
	if (low === 0 && high === 0) lines.add(NULL);
	else lines.hex64(low, high);
}

/** A number that is no address: 0 is "0". */
export function writeHexNumber(lines: LineBuffer, low: number, high: number): void {
	if (low === 0 && high === 0) lines.byte(ZERO);
	else lines.hex64(low, high);
}

export function writeInt(lines: LineBuffer, call: CallRecord, argument: number): void {
	const value = call.low(argument) | 0;
	if (value < 0) lines.byte(MINUS);
	lines.whole(Math.abs(value), 1);
}

/** A captured string or buffer, in quotes: its first `bytes`. */
export function writeQuoted(
	lines: LineBuffer,
	call: CallRecord,
	capture: number,
	bytes = call.lengthOf(capture),
): void {
	lines.byte(QUOTE);
	lines.escaped(call.bytes, call.textAt(capture), bytes);
	lines.byte(QUOTE);
	if (call.isCut(capture)) lines.add(DOTS);
}

/** Words for numbers, made once for each number. */
export function wordWriter(textOf: (value: number) => string): WriteArgument {
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

export function flagWriter(name: string): WriteArgument {
	const flags = flagsOf(name) ?? NO_FLAGS;
	return wordWriter((value) => flagsText(flags, value));
}

export function valueWriter(name: string): WriteArgument {
	const names = valuesOf(name);
	return wordWriter(
		(value) => names?.get(value) ?? (name === 'ioctl' ? `0x${value.toString(16)}` : `${value | 0}`),
	);
}

/** A captured structure, or its address. `atExit`: only what a call that succeeded has put there. */
export function pointedWriter(
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
