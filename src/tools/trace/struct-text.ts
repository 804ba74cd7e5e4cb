/** Writes captured structures: "{tv_sec=1, tv_nsec=0}", one or several of them. */
import type { LineBuffer } from '../../render/line-buffer.js';
import { bytesOf, writeHexNumber } from './basic-writers.js';
import { flagsOf, flagsText, NO_FLAGS, valuesOf } from './flag-names.js';
import type { CallRecord } from './record.js';
import { signalName, signalSetText } from './signals.js';
import type { FieldForm, ShownField, ShownStruct } from './structs.js';

type WriteCapture = (lines: LineBuffer, call: CallRecord, capture: number) => void;

const SEPARATOR = bytesOf(', ');
const DOTS = bytesOf(', ...');
const [BRACKET, END_BRACKET, MINUS] = [0x5b, 0x5d, 0x2d];

/** wait(2)'s status in the words of its macros. */
export function statusText(status: number): string {
	const signal = status & 0x7f;
	if (status === 0xffff) return '{WIFCONTINUED(s)}';
	if (signal === 0) return `{WIFEXITED(s) && WEXITSTATUS(s) == ${(status >>> 8) & 0xff}}`;
	if (signal === 0x7f) return `{WIFSTOPPED(s) && WSTOPSIG(s) == ${(status >>> 8) & 0xff}}`;
	return `{WIFSIGNALED(s) && WTERMSIG(s) == ${signal}${status & 0x80 ? ' && WCOREDUMP(s)' : ''}}`;
}

type WriteNumber = (lines: LineBuffer, low: number, high: number, bytes: number) => void;

function bits(name: string): WriteNumber {
	const flags = flagsOf(name) ?? NO_FLAGS;
	return (lines, low) => lines.add(bytesOf(flagsText(flags, low)));
}

function value(name: string): WriteNumber {
	const names = valuesOf(name);
	return (lines, low) => lines.add(bytesOf(names?.get(low) ?? `${low}`));
}

const CLONE = bits('clone3');
/** include/uapi/asm-generic/signal-defs.h */
const HANDLERS = ['SIG_DFL', 'SIG_IGN'];

/** include/uapi/linux/stat.h: S_IFMT, and its values. */
const FILE_TYPE = 0o170000;
const FILE_TYPES = new Map(
	Object.entries({
		S_IFIFO: 0o010000,
		S_IFCHR: 0o020000,
		S_IFDIR: 0o040000,
		S_IFBLK: 0o060000,
		S_IFREG: 0o100000,
		S_IFLNK: 0o120000,
		S_IFSOCK: 0o140000,
	}).map(([name, type]) => [type, bytesOf(`${name}|`)]),
);
const UNLIMITED = bytesOf('RLIM64_INFINITY');

const FORMS: Readonly<Record<FieldForm, WriteNumber>> = {
	decimal: (lines, low, high, bytes) => {
		if (bytes === 8) lines.signed64(low, high);
		else if (bytes === 4 && low >>> 31 === 1) {
			lines.byte(MINUS);
			lines.whole(-(low | 0), 1);
		} else lines.whole(low, 1);
	},
	descriptor: (lines, low) => lines.whole(low, 1),
	hex: writeHexNumber,
	octal: (lines, low) => lines.octal(low),
	mode: (lines, low) => {
		const type = FILE_TYPES.get(low & FILE_TYPE);
		if (type) lines.add(type);
		lines.octal(type ? low & ~FILE_TYPE : low);
	},
	limit: (lines, low, high) => {
		if ((low & high) === -1) lines.add(UNLIMITED);
		else lines.unsigned64(low, high);
	},
	epoll: bits('epoll'),
	poll: bits('poll'),
	// Bits above these have no names here.
	clone: (lines, low, high, bytes) =>
		high === 0 ? CLONE(lines, low, high, bytes) : lines.hex64(low, high),
	sa: bits('sa'),
	lock: value('lock'),
	whence: value('whence'),
	signal: (lines, low) => lines.add(bytesOf(signalName(low))),
	sigset: (lines, low, high) => lines.add(bytesOf(signalSetText(low, high))),
	handler: (lines, low, high) => {
		const word = high === 0 ? HANDLERS[low] : undefined;
		if (word === undefined) lines.hex64(low, high);
		else lines.add(bytesOf(word));
	},
	status: (lines, low) => lines.add(bytesOf(`[${statusText(low)}]`)),
};

function writeField(lines: LineBuffer, call: CallRecord, at: number, field: ShownField): void {
	const { bytes, form } = field;
	const from = at + field.offset;
	const low = bytes >= 4 ? call.u32At(from) : call.u32At(from) & (bytes === 2 ? 0xffff : 0xff);
	FORMS[form](lines, low, bytes === 8 ? call.u32At(from + 4) : 0, bytes);
}

/**
 * What stands before each field, and behind the last one: "{it_value={tv_sec=", ", tv_nsec=", "}}". A structure that
 * is one number has nothing.
 */
function punctuation(fields: readonly ShownField[]): { before: Uint8Array[]; end: Uint8Array } {
	if (fields.length === 1 && fields[0]?.name === '')
		return { before: [bytesOf('')], end: bytesOf('') };
	let inside = '';
	const before = fields.map(({ name }, i) => {
		const [member = '', outer = ''] = name.split('.').reverse();
		const close = inside !== '' && inside !== outer ? '}' : '';
		const open = outer !== '' && inside !== outer ? `${outer}={` : '';
		inside = outer;
		return bytesOf(`${i === 0 ? '{' : `${close}, `}${open}${member}=`);
	});
	return { before, end: bytesOf(inside === '' ? '}' : '}}') };
}

/**
 * Writes as many of the structure as were captured: more than one in brackets. `which`: 'list' also one, as there
 * could be more; 'first' only one, whatever is behind it.
 */
export function structWriter(
	struct: ShownStruct,
	which: 'all' | 'list' | 'first' = 'all',
): WriteCapture {
	const { before, end } = punctuation(struct.fields);
	const writeOne = (lines: LineBuffer, call: CallRecord, at: number) => {
		for (const [i, field] of struct.fields.entries()) {
			lines.add(before[i] as Uint8Array);
			writeField(lines, call, at, field);
		}
		lines.add(end);
	};
	return (lines, call, capture) => {
		const count = Math.floor(call.lengthOf(capture) / struct.bytes);
		const at = call.textAt(capture);
		if (which === 'first' || (count === 1 && which === 'all' && !call.isCut(capture))) {
			writeOne(lines, call, at);
			return;
		}
		lines.byte(BRACKET);
		for (let i = 0; i < count; i++) {
			if (i > 0) lines.add(SEPARATOR);
			writeOne(lines, call, at + i * struct.bytes);
		}
		if (call.isCut(capture)) lines.add(DOTS);
		lines.byte(END_BRACKET);
	};
}
