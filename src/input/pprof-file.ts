/** What is in a pprof file, in any order: strings, and entries by their field's number. */
import { TstraceError } from '../errors.js';
import { damaged, Fields, LENGTH_DELIMITED } from './protobuf.js';

/** Strings, functions, locations, mappings, lines: so many of each. They take 100 bytes each. */
const MAX_ENTRIES = 1 << 21;
/** Of units, comments, files' names. */
const MAX_TEXT_BYTES = 4096;

/** Numbers of the fields of a profile that are read. */
export const PROFILE = {
	sampleType: 1,
	sample: 2,
	mapping: 3,
	location: 4,
	function: 5,
	string: 6,
	time: 9,
	duration: 10,
	periodType: 11,
	period: 12,
	comment: 13,
	defaultType: 14,
} as const;

/** Names things in a file: a varint of 64 bits, exact. */
export type Id = number | bigint;

interface ByteRange {
	readonly from: number;
	readonly to: number;
}

/** Nothing is copied out of the file until it is asked for. Everything throws TstraceError for damage. */
export class PprofFile {
	readonly bytes: Buffer;
	readonly #strings: ByteRange[] = [];

	constructor(bytes: Buffer) {
		this.bytes = bytes;
		this.each(PROFILE.string, ({ from, to }) => this.#strings.push({ from, to }));
	}

	/** Its fields; none is a message's yet. */
	fields(): Fields {
		return new Fields(this.bytes);
	}

	/** Calls for each of the messages or strings of one field. */
	each(field: number, visit: (entry: Fields) => void): void {
		let entries = 0;
		for (const all = this.fields(); all.next(); ) {
			if (all.field !== field) continue;
			if (all.wireType !== LENGTH_DELIMITED) throw damaged();
			if (field !== PROFILE.sample) checkEntries(++entries);
			visit(all);
		}
	}

	/** Where a string's bytes are. */
	string(number: number): ByteRange {
		const string = this.#strings[number];
		if (!string) throw damaged();
		return string;
	}

	/** A string that is shown, so not a long one. */
	text(number: number): string {
		const { from, to } = this.string(number);
		return this.bytes.toString('utf8', from, Math.min(to, from + MAX_TEXT_BYTES));
	}
}

/** Throws TstraceError when there are too many. */
export function checkEntries(entries: number): void {
	if (entries > MAX_ENTRIES) {
		throw new TstraceError(
			`it has more than ${MAX_ENTRIES} names or addresses; record a shorter time`,
		);
	}
}
