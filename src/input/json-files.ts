/** Reads JSON: results of tstrace, one on each line, and files of speedscope, in any form. */
import { getHeapStatistics } from 'node:v8';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { TstraceError } from '../errors.js';
import { FrameBudget, readWhole } from './bounds.js';
import type { FormatReader, Notify } from './format-reader.js';
import { readLines } from './lines.js';
import { isSpeedscope, speedscopeProfiles } from './speedscope.js';
import { type JsonObject, tstraceProfile } from './tstrace-json.js';

/** V8 has no longer strings. */
const MAX_JSON_BYTES = 500 << 20;
const NEWLINE = 0x0a;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Results of tstrace and speedscope have 8; what a command line was filtered by may be deeper. */
const MAX_DEPTH = 100;

export const readJson: FormatReader = async (chunks, _options, notify) => {
	const { start, all } = await firstLine(chunks);
	const profiles: StackProfile[] = [];
	const budget = new FrameBudget();
	const parse = (bytes: Buffer, what: string): void => {
		if (bytes.length === 0) return;
		for (const profile of profilesOf(parsed(bytes, what), budget, notify)) {
			profiles.push(profile);
		}
	};
	// A line that ends as an object does is one; else the object goes on in the next line.
	if (start.endsWith('}')) {
		await readLines(
			all,
			(bytes, from, to, line) => parse(trimmed(bytes.subarray(from, to)), `line ${line}`),
			MAX_JSON_BYTES,
		);
	} else {
		parse(await readWhole(all, MAX_JSON_BYTES, 'JSON'), 'it');
	}
	return profiles;
};

function profilesOf(value: JsonObject, budget: FrameBudget, notify: Notify): StackProfile[] {
	return isSpeedscope(value)
		? speedscopeProfiles(value, budget, notify)
		: [tstraceProfile(value, budget)];
}

/** How the first line with something in it ends; and all chunks, those too that were looked at. */
async function firstLine(
	chunks: AsyncIterable<Buffer>,
): Promise<{ start: string; all: AsyncIterable<Buffer> }> {
	const iterator = chunks[Symbol.asyncIterator]();
	const seen: Buffer[] = [];
	let bytes = 0;
	/** The last bytes of the line so far that are not blank. */
	let start = '';
	for (let ended = false; !ended && bytes <= MAX_JSON_BYTES; ) {
		const { done, value } = await iterator.next();
		if (done) break;
		seen.push(value);
		bytes += value.length;
		for (let from = 0; !ended && from < value.length; ) {
			const newline = value.indexOf(NEWLINE, from);
			const to = newline < 0 ? value.length : newline;
			start = value.toString('latin1', Math.max(from, to - ENDING_BYTES), to).trim() || start;
			from = to + 1;
			ended = newline >= 0 && start !== '';
		}
	}
	return { start, all: again(seen, iterator) };
}

const ENDING_BYTES = 64;

/** Does not keep what it has handed over. */
async function* again(seen: Buffer[], others: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
	for (let chunk = seen.shift(); chunk; chunk = seen.shift()) yield chunk;
	for (let next = await others.next(); !next.done; next = await others.next()) yield next.value;
}

/** Throws TstraceError for what is no object, and for what would not fit in memory. */
function parsed(bytes: Buffer, what: string): JsonObject {
	const { memory_bytes, depth } = measure(bytes);
	if (depth > MAX_DEPTH) {
		throw new TstraceError(
			`${what} is nested too deeply to be a result; give a result of tstrace, or a speedscope file`,
		);
	}
	if (memory_bytes > getHeapStatistics().heap_size_limit / 2) {
		throw new TstraceError(
			`${what} would take too much memory as JSON; record a shorter time, or give folded stacks`,
		);
	}
	try {
		const value: unknown = JSON.parse(bytes.toString());
		if (typeof value === 'object' && value !== null) return value as JsonObject;
	} catch (error) {
		throw new TstraceError(
			`${what} begins like JSON but is not valid, so it is damaged or was cut off; record it again`,
			String(error),
		);
	}
	throw new TstraceError(
		`${what} is neither a result of tstrace nor a speedscope file; give one of these`,
	);
}

/** About what V8 takes for a value, by the character that it has one of. */
const VALUE_BYTES: Readonly<Record<string, number>> = {
	'{': 64,
	'[': 64,
	',': 16,
	':': 32,
	'"': 16,
};
const COSTS = Uint8Array.from(
	{ length: 256 },
	(_, byte) => VALUE_BYTES[String.fromCharCode(byte)] ?? 0,
);

/**
 * What it takes to parse it. When V8 is out of memory, the process ends and nothing can be caught:
 * three bytes are an object. And what is nested deeply overflows the stack of the code that goes through it.
 */
function measure(bytes: Buffer): { memory_bytes: number; depth: number } {
	let memory_bytes = bytes.length;
	let open = 0;
	let depth = 0;
	let inText = false;
	for (let i = 0; i < bytes.length; i++) {
		const byte = bytes[i] as number;
		memory_bytes += COSTS[byte] as number;
		if (byte === QUOTE) inText = !inText;
		else if (inText) i += byte === BACKSLASH ? 1 : 0;
		else if (byte === BRACE || byte === BRACKET) depth = Math.max(depth, ++open);
		else if (byte === BRACE_END || byte === BRACKET_END) open--;
	}
	return { memory_bytes, depth };
}

function trimmed(bytes: Buffer): Buffer {
	const isBlank = (byte: number | undefined) => byte !== undefined && byte <= 0x20;
	let [from, to] = [0, bytes.length];
	while (to > from && isBlank(bytes[to - 1])) to--;
	while (from < to && isBlank(bytes[from])) from++;
	return bytes.subarray(from, to);
}
