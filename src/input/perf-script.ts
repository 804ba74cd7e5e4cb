/** Reads what `perf script` prints; the same stacks as stackcollapse-perf.pl makes of it. */
import { FrameTable, hashOf } from '../aggregate/frame-table.js';
import type { Origin, StackProfile } from '../aggregate/stack-profile.js';
import { MAX_STACK_FRAMES } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import type { Notify, ReadOptions } from './format-reader.js';
import { readLines } from './lines.js';
import { PerfEvents } from './perf-events.js';
import { type FrameNameOptions, namedFrames, parseFrame } from './perf-frames.js';
import { ownerName, parseHeader, parseName, type SampleHeader } from './perf-header.js';
import { DeferredFrames } from './perf-inline.js';

const SPACE = 0x20;
const TAB = 0x09;
const HASH_SIGN = 0x23;
/** Of a line of source below a frame, which perf script -F +srcline prints. */
const SOURCE_INDENT = 2;
/** Frames that read the same are looked at once; so many are remembered, and so many bytes of them. */
const MAX_REMEMBERED = 1 << 18;
const MAX_REMEMBERED_BYTES = 64 << 20;

/** A profile for each event. Throws TstraceError for text without a sample, or with too deep a stack. */
export async function readPerfScript(
	chunks: AsyncIterable<Buffer>,
	options: ReadOptions,
	notify: Notify,
): Promise<StackProfile[]> {
	const reader = new PerfScriptReader(options);
	await readLines(chunks, (bytes, from, to, number) => reader.line(bytes, from, to, number));
	return await reader.end(notify);
}

class PerfScriptReader {
	readonly #options: ReadOptions;
	readonly #frames = new FrameTable();
	readonly #events = new PerfEvents();
	readonly #deferred: DeferredFrames | undefined;
	#memories = { java: new FrameMemory(), other: new FrameMemory() };
	#origin: Origin = { tool: 'perf' };
	/** The sample whose frames are being read, and the line that began it. */
	#sample: SampleHeader | undefined;
	#sampleLine = 0;
	#java = false;
	/** Leaf first. */
	readonly #stack = new Int32Array(MAX_STACK_FRAMES);
	#depth = 0;
	readonly #path = new Int32Array(MAX_STACK_FRAMES);
	#samples = 0;
	#withoutChain = 0;
	#withoutProcess = 0;
	#unfit = { lines: 0, first: 0 };
	#lines = 0;

	constructor(options: ReadOptions) {
		this.#options = options;
		this.#deferred = options.inline ? new DeferredFrames(this.#frames) : undefined;
	}

	line(bytes: Buffer, from: number, to: number, number: number): void {
		let start = from;
		while (start < to && isBlank(bytes[start])) start++;
		if (start === to) {
			this.#flush();
			return;
		}
		this.#lines++;
		const indented = start > from;
		if (bytes[from] === HASH_SIGN) this.#comment(bytes.toString('utf8', from, to));
		else if (indented && bytes[from] === TAB) this.#frameOrUnfit(bytes, start, to, number);
		else this.#begin(bytes, { from, start, to, number });
	}

	/** Throws TstraceError where there is no sample. */
	async end(notify: Notify): Promise<StackProfile[]> {
		this.#flush();
		const { lines, first } = this.#unfit;
		if (this.#samples === 0) {
			throw new TstraceError(lines === 0 ? NO_SAMPLES : NOT_PERF_SCRIPT);
		}
		if (lines > 0) {
			notify(
				`left out ${lines} of ${this.#lines} lines: they are neither a sample nor a frame ` +
					`(the first: line ${first})`,
			);
		}
		if (this.#withoutChain > 0) {
			notify(
				`${this.#withoutChain} of ${this.#samples} samples have no call chain: you see only the function ` +
					'that ran; for call chains, use perf record -g',
			);
		}
		if (this.#withoutProcess > 0 && this.#options.identify !== 'none') {
			notify(
				`${this.#withoutProcess} of ${this.#samples} samples have no process number, shown as "?"; ` +
					'print it with perf script -F +pid',
			);
		}
		const profiles = this.#events.profiles(this.#frames, this.#origin);
		return this.#deferred ? await this.#deferred.resolved(profiles, notify) : profiles;
	}

	/** A line that may begin a sample. */
	#begin(
		bytes: Buffer,
		{ from, start, to, number }: { from: number; start: number; to: number; number: number },
	): void {
		const text = bytes.toString('utf8', from, to);
		const header = parseHeader(text);
		const framed = this.#sample !== undefined && isFrame(bytes, start, to, start === from);
		if (header?.certain) this.#open(header, number);
		else if (framed) this.#frameOrUnfit(bytes, start, to, number);
		else if (this.#depth > 0 && start - from === SOURCE_INDENT) return;
		// Within a sample it may be the rest of a name with a newline in it.
		else if (this.#sample?.certain || this.#depth > 0) this.#leaveOut(number);
		else if (header) this.#open(header, number);
		else if (start === from) this.#open(parseName(text), number);
		else this.#leaveOut(number);
	}

	#open(header: SampleHeader, number: number): void {
		this.#flush();
		if (header.sideband) return;
		this.#sample = header;
		this.#sampleLine = number;
		this.#java = header.comm.startsWith('java');
	}

	#frameOrUnfit(bytes: Buffer, start: number, to: number, number: number): void {
		if (this.#sample && isFrame(bytes, start, to, false)) this.#frame(bytes, start, to, number);
		else this.#leaveOut(number);
	}

	#frame(bytes: Buffer, start: number, to: number, number: number): void {
		const memory = this.#memory();
		// Where the address is not in the name, frames are the same without it.
		const withAddress = this.#options.addresses || this.#options.inline;
		let key = start;
		if (!withAddress) while (key < to && !isBlank(bytes[key])) key++;
		const text = memory.number(bytes, key, to);
		let frames = memory.frames[text];
		if (!frames) {
			frames = this.#named(bytes.toString('utf8', start, to));
			memory.frames[text] = frames;
		}
		// One is kept for the name of whose stack it is.
		if (this.#depth + frames.length >= MAX_STACK_FRAMES) {
			throw new TstraceError(
				`the stack in line ${number} has more than ${MAX_STACK_FRAMES} frames; check that the input is perf script text`,
			);
		}
		for (let i = frames.length - 1; i >= 0; i--) this.#stack[this.#depth++] = frames[i] as number;
	}

	#memory(): FrameMemory {
		const which = this.#java ? 'java' : 'other';
		if (this.#memories[which].full) this.#memories[which] = new FrameMemory();
		return this.#memories[which];
	}

	/** The numbers of a frame's names, root first; negative where addr2line is to be asked. */
	#named(text: string): number[] {
		const frame = parseFrame(text);
		const naming: FrameNameOptions = {
			addresses: this.#options.addresses,
			arrowMarks: this.#options.arrowMarks ?? false,
			java: this.#java,
		};
		const numbers = namedFrames(frame, naming).map(({ name, kind }) =>
			this.#frames.intern(name, kind),
		);
		return this.#deferred?.deferred(frame, numbers) ?? numbers;
	}

	/** The sample is complete: it ends with an empty line, with the next one, or with the file. */
	#flush(): void {
		const sample = this.#sample;
		if (!sample) return;
		this.#sample = undefined;
		const depth = this.#depth;
		this.#depth = 0;
		if (depth === 0 && !sample.certain) {
			this.#leaveOut(this.#sampleLine);
			return;
		}
		this.#samples++;
		if (depth === 0) this.#withoutChain++;
		if (sample.pid === undefined) this.#withoutProcess++;
		let length = 0;
		this.#path[length++] = this.#frames.intern(ownerName(sample, this.#options.identify));
		if (depth === 0 && sample.frame !== undefined) {
			for (const frame of this.#named(sample.frame)) this.#path[length++] = frame;
		}
		for (let i = depth - 1; i >= 0; i--) this.#path[length++] = this.#stack[i] as number;
		this.#events.add(sample, this.#path, length);
	}

	#leaveOut(number: number): void {
		this.#unfit.lines++;
		this.#unfit.first ||= number;
	}

	/** What perf script --header says of the recording. */
	#comment(text: string): void {
		const [name, value = ''] = commentField(text.slice(0, MAX_COMMENT));
		if (name === 'cmdline') this.#origin = { ...this.#origin, command: value.trim().split(' ') };
		if (name === 'hostname') this.#origin = { ...this.#origin, host: value };
		if (name === 'os release') this.#origin = { ...this.#origin, kernel: value };
	}
}

const MAX_COMMENT = 4096;

/** "hostname" and "web1" of "# hostname : web1", or nothing. */
function commentField(text: string): [] | [name: string, value: string] {
	const colon = text.indexOf(': ');
	return text.startsWith('# ') && colon >= 0
		? [text.slice(2, colon).trimEnd(), text.slice(colon + 2)]
		: [];
}

const NO_SAMPLES =
	'there is no sample in this text of perf script; was anything recorded? Check with perf report --header-only';
const NOT_PERF_SCRIPT =
	'no line of it begins a sample; give what perf script prints, or choose fields with ' +
	'perf script -F comm,pid,tid,time,period,event,ip,sym,dso';

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

/** Begins with an address; `strict`: and ends with a module in parentheses. */
function isFrame(bytes: Buffer, start: number, to: number, strict: boolean): boolean {
	let at = start;
	while (at < to && isHex(bytes[at] as number)) at++;
	if (at === start || (at < to && !isBlank(bytes[at]))) return false;
	// Nearly every line is a frame: none is decoded only to be asked.
	if (!strict) return true;
	const end = bytes.toString('latin1', Math.max(at, to - 512), to).trimEnd();
	return end.endsWith(')') && end.includes('(');
}

const isHex = (byte: number): boolean =>
	(byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/** Texts of frames and what they are: hardly any is new, so that most are neither decoded nor tidied. */
class FrameMemory {
	readonly #texts = new FrameTable();
	/** By the text's number: the frames' numbers, root first. */
	readonly frames: number[][] = [];
	#bytes = 0;

	get full(): boolean {
		return this.#texts.size >= MAX_REMEMBERED || this.#bytes >= MAX_REMEMBERED_BYTES;
	}

	/** The text's number, a new one if it was not met before. */
	number(bytes: Buffer, from: number, to: number): number {
		const before = this.#texts.size;
		const number = this.#texts.internBytes(bytes, from, to, hashOf(bytes, from, to));
		if (this.#texts.size > before) this.#bytes += to - from;
		return number;
	}
}
