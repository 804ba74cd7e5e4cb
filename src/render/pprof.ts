/**
 * Stacks as a pprof profile: what `pprof`, Pyroscope and Grafana open. A gzip-ed protocol buffer:
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import {
	emptyTableToken,
	Line,
	Location,
	Mapping,
	Function as PprofFunction,
	Profile,
	type ProfileInput,
	Sample,
	StringTable,
	ValueType,
} from 'pprof-format';
import type { FrameKind } from '../aggregate/stack.js';
import type { Origin, StackProfile } from '../aggregate/stack-profile.js';
import { TstraceError } from '../errors.js';
import { COMMENT_FIELDS, MAPPING_FILES, UNKNOWN_TYPE } from './pprof-words.js';

/** Samples or frames encoded at a time: all samples of a large machine are a lot of objects. */
const ENTRIES_AT_ONCE = 4096;
/** Of a 64-bit integer with a sign. */
const INT64_END = 2 ** 63;
/** Counts with more decimals are rounded. */
const MAX_DECIMALS = 9;

const KINDS = Object.keys(MAPPING_FILES) as FrameKind[];

/**
 * The file, in pieces. Throws TstraceError, before the first of them, for counts that pprof cannot
 * hold. Its values are whole numbers: nanoseconds and bytes are rounded, but nothing that is there
 * to 0; other counts with decimals are multiplied by a power of ten, which their unit then names
 * ("count/1000"). Stacks of which nothing was counted are left out.
 */
export function renderPprof(profile: StackProfile): AsyncIterable<Uint8Array> {
	const scale = scaleOf(profile);
	const gzip = createGzip();
	// Its errors, and those of what it packs, come out of `gzip`.
	pipeline(Readable.from(messages(profile, scale)), gzip, () => undefined);
	return gzip;
}

interface Scale {
	/** What values are multiplied by. */
	readonly factor: number;
	/** Decimals beyond it were rounded away. */
	readonly rounded: boolean;
}

/** One message in parts: protocol buffers add up when they are put one after the other. */
function* messages(profile: StackProfile, scale: Scale): Generator<Uint8Array> {
	const { frames, stacks } = profile;
	const strings = new StringTable();
	const part = (input: ProfileInput) =>
		new Profile({ stringTable: new StringTable(emptyTableToken), ...input }).encode();

	// First what pprof is told by.
	yield part(headOf(profile, scale, strings));

	let samples: Sample[] = [];
	for (const [stack, value] of stacks.values().entries()) {
		if (value === 0) continue;
		const locationId = Array.from(stacks.frames(stack), idOf).reverse();
		samples.push(new Sample({ locationId, value: [scaled(value, scale)] }));
		if (samples.length < ENTRIES_AT_ONCE) continue;
		yield part({ sample: samples });
		samples = [];
	}
	yield part({ sample: samples });

	for (let from = 0; from < frames.size; from += ENTRIES_AT_ONCE) {
		const functions: PprofFunction[] = [];
		const locations: Location[] = [];
		for (let frame = from; frame < Math.min(from + ENTRIES_AT_ONCE, frames.size); frame++) {
			const id = idOf(frame);
			const name = strings.dedup(frames.name(frame));
			functions.push(new PprofFunction({ id, name, systemName: name }));
			const mappingId = 1 + KINDS.indexOf(frames.kind(frame));
			locations.push(new Location({ id, mappingId, line: [new Line({ functionId: id })] }));
		}
		yield part({ function: functions, location: locations });
	}
	yield part({ stringTable: strings });
}

/** Numbers of pprof begin with 1. A frame is a function and its one location. */
const idOf = (frame: number): number => frame + 1;

function headOf(profile: StackProfile, scale: Scale, strings: StringTable): ProfileInput {
	const { origin } = profile;
	const { type, unit } = sampleTypeOf(profile);
	const text = (value: string) => strings.dedup(value);
	const valueType = (of: string, in_: string) => new ValueType({ type: text(of), unit: text(in_) });
	const period_ns = periodOf(origin);
	const start_ms = Date.parse(origin.start ?? '');
	return {
		sampleType: [valueType(type, scale.factor === 1 ? unit : `${unit}/${scale.factor}`)],
		defaultSampleType: text(type),
		mapping: KINDS.map(
			(kind, i) =>
				new Mapping({ id: i + 1, filename: text(MAPPING_FILES[kind]), hasFunctions: true }),
		),
		// More nanoseconds since 1970 than a number holds exactly.
		...(Number.isNaN(start_ms) ? {} : { timeNanos: BigInt(start_ms) * 1_000_000n }),
		...(origin.duration_s === undefined
			? {}
			: { durationNanos: Math.round(origin.duration_s * 1e9) }),
		...(period_ns > 0
			? {
					periodType: valueType(unit === 'nanoseconds' ? type : 'cpu', 'nanoseconds'),
					period: period_ns,
				}
			: {}),
		comment: commentsOf(origin, scale).map(text),
	};
}

/** What values are, in the words of pprof. */
function sampleTypeOf({ tool, origin }: StackProfile): { type: string; unit: string } {
	const { event, unit } = origin;
	switch (unit) {
		case undefined:
			return { type: event ?? UNKNOWN_TYPE, unit: 'count' };
		case 'ns':
			return {
				type: tool?.pprofType ?? event ?? 'time',
				unit: 'nanoseconds',
			};
		case 'samples':
			return { type: 'samples', unit: 'count' };
		case 'bytes':
			return { type: event ?? 'space', unit: 'bytes' };
		default:
			return { type: event ?? UNKNOWN_TYPE, unit };
	}
}

function periodOf({ period_ns, frequency_hz }: Origin): number {
	if (period_ns !== undefined) return Math.round(period_ns);
	return frequency_hz ? Math.round(1e9 / frequency_hz) : 0;
}

function commentsOf(origin: Origin, { factor, rounded }: Scale): string[] {
	const comments = COMMENT_FIELDS.flatMap((field) => {
		const value = origin[field];
		if (value === undefined) return [];
		return [`${field}: ${typeof value === 'string' ? value : value.join(' ')}`];
	});
	if (rounded) comments.push(`counts are rounded to 1/${factor}`);
	return comments;
}

/** The smallest power of ten that makes every count whole. Throws TstraceError. */
function scaleOf({ stacks, origin }: StackProfile): Scale {
	const values = stacks.values();
	let largest = 0;
	for (const value of values) largest = Math.max(largest, value);
	if (!(largest < INT64_END)) {
		throw new TstraceError(
			'a stack has a count of 2^63 or more, which pprof cannot hold; choose --format speedscope or folded',
		);
	}
	if (origin.unit === 'ns' || origin.unit === 'bytes') return { factor: 1, rounded: false };
	let factor = 1;
	for (let decimals = 0; decimals <= MAX_DECIMALS; decimals++) {
		if (values.every((value) => isWhole(value, factor))) return { factor, rounded: false };
		if (largest * factor * 10 > Number.MAX_SAFE_INTEGER) break;
		if (decimals < MAX_DECIMALS) factor *= 10;
	}
	return { factor, rounded: true };
}

/** Whether the value comes back as it was when it is multiplied, rounded and divided. */
function isWhole(value: number, factor: number): boolean {
	return Math.round(value * factor) / factor === value;
}

/** Whole, and not 0: a stack that is there counts. */
function scaled(value: number, { factor }: Scale): number {
	return Math.max(1, Math.round(value * factor));
}
