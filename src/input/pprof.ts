/**
 * Reads pprof profiles, unpacked already:
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 */
import type { StackProfile } from '../aggregate/stack-profile.js';
import { MAX_STACK_FRAMES, StackTable } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import { FrameBudget, readWhole } from './bounds.js';
import type { Notify, ReadOptions } from './format-reader.js';
import { PprofFile, PROFILE } from './pprof-file.js';
import { PprofFrames } from './pprof-frames.js';
import { chosenTypes, type SampleType, sampleTypes } from './pprof-origin.js';
import { damaged, Fields, LENGTH_DELIMITED } from './protobuf.js';

/** Unpacked; 200,000 stacks of 20 frames are 8 MiB. */
const MAX_PPROF_BYTES = 256 << 20;
/** Numbers of fields. */
const SAMPLE = { location: 1, value: 2 } as const;

/** Fields of a profile, by their wire types. The comment may be either. */
const NUMBERS = [7, 8, 9, 10, 12, 13, 14, 15];
const MESSAGES = [1, 2, 3, 4, 5, 6, 11, 13];
/** How many fields, and bytes, tell what a file is. */
const TELLING_FIELDS = 16;
const TELLING_BYTES = 64;

/** Whether content begins with a profile's fields, in any order, and with bytes that no text has. */
export function isPprof(beginning: Buffer): boolean {
	if (!beginning.subarray(0, TELLING_BYTES).some((byte) => byte < 0x09)) return false;
	const all = new Fields(beginning);
	let fields = 0;
	try {
		for (; fields < TELLING_FIELDS && all.next(); fields++) {
			const possible = all.wireType === LENGTH_DELIMITED ? MESSAGES : NUMBERS;
			if (!possible.includes(all.field)) return false;
		}
	} catch {
		// It goes on after the beginning, or is damaged; then its reader says so.
	}
	return fields > 0;
}

/** A profile for each type of samples. */
export async function readPprof(
	chunks: AsyncIterable<Buffer>,
	options: ReadOptions,
	notify: Notify,
): Promise<StackProfile[]> {
	const file = new PprofFile(await readWhole(chunks, MAX_PPROF_BYTES, 'pprof'));
	const types = sampleTypes(file);
	const chosen = chosenTypes(types, options.event);
	const frames = new PprofFrames(file, options.addresses);
	const tables = chosen.map((type) => ({ type, stacks: new StackTable() }));
	const samples = new SampleReader(types.length, frames, tables);
	file.each(PROFILE.sample, (entry) => samples.add(entry.message()));
	const { without } = samples;
	if (without > 0)
		notify(`left out ${without} ${without === 1 ? 'sample' : 'samples'} without a stack`);
	return tables.map(({ type, stacks }) => ({
		frames: frames.table,
		stacks,
		origin: type.origin,
		marked: true,
		preferred: type.preferred,
	}));
}

interface TypedStacks {
	readonly type: SampleType;
	readonly stacks: StackTable;
}

class SampleReader {
	/** Samples without a stack. */
	without = 0;
	readonly #frames: PprofFrames;
	readonly #tables: readonly TypedStacks[];
	/** Of the sample. */
	readonly #values: Float64Array;
	readonly #locations: (readonly number[])[] = [];
	readonly #path = new Int32Array(MAX_STACK_FRAMES);
	readonly #budget = new FrameBudget();

	/** `width`: how many values each sample has. */
	constructor(width: number, frames: PprofFrames, tables: readonly TypedStacks[]) {
		this.#frames = frames;
		this.#tables = tables;
		this.#values = new Float64Array(width);
	}

	add(sample: Fields): void {
		const depth = this.#read(sample);
		this.#budget.take(depth);
		if (depth === 0) {
			this.without++;
			return;
		}
		// Leaf first, to root first.
		let at = 0;
		for (let i = this.#locations.length - 1; i >= 0; i--) {
			for (const frame of this.#locations[i] as readonly number[]) this.#path[at++] = frame;
		}
		for (const { type, stacks } of this.#tables) {
			const value = this.#values[type.index] as number;
			if (value < 0) throw new TstraceError(NEGATIVE);
			if (value > 0) stacks.add(this.#path, depth, (value * type.unit.factor) / type.divisor);
		}
	}

	/** Fills `#values` and `#locations`; returns how many frames there are. */
	#read(sample: Fields): number {
		this.#locations.length = 0;
		let depth = 0;
		let values = 0;
		while (sample.next()) {
			if (sample.field === SAMPLE.value) {
				sample.eachNumber(({ value }) => {
					if (values === this.#values.length) throw damaged();
					this.#values[values++] = value;
				});
			} else if (sample.field === SAMPLE.location) {
				sample.eachNumber(({ exact }) => {
					const frames = this.#frames.at(exact);
					depth += frames.length;
					// A deeper one is refused as a whole.
					if (depth <= MAX_STACK_FRAMES) this.#locations.push(frames);
				});
			}
		}
		if (values < this.#values.length) throw damaged();
		return depth;
	}
}

const NEGATIVE =
	'it has negative counts, so it is a difference of two profiles; give both profiles to tstrace diff';
