/** struct perf_event_attr as bytes. Source: include/uapi/linux/perf_event.h, man 2 perf_event_open. */
import { perf_event_attr, perf_event_sample_format, uapi } from '../generated/uapi.js';

const { PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_CPU } =
	perf_event_sample_format;
const { PERF_SAMPLE_IP, PERF_SAMPLE_PERIOD, PERF_SAMPLE_CALLCHAIN } = perf_event_sample_format;

/** What follows each record that is no sample, with sample_id_all: struct sample_id. */
export const SAMPLE_ID_TYPE = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU;

/** What a sample holds. src/perf/parse.ts reads records of these forms. */
export const SAMPLE_TYPE =
	SAMPLE_ID_TYPE | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;

/** man 2 clock_gettime: the clock of bpf_ktime_get_ns and of process.hrtime. */
const CLOCK_MONOTONIC = 1;

const FIELDS = perf_event_attr.fields;

/** The names of bit-fields. */
export type Flag = {
	[Name in keyof typeof FIELDS]: (typeof FIELDS)[Name] extends { bit: number } ? Name : never;
}[keyof typeof FIELDS];

/** What makes a software event report programs, mappings and threads as they come and go. */
export const SIDEBAND_FLAGS = ['mmap', 'mmap2', 'comm', 'comm_exec', 'task'] as const;

export interface PerfEventAttributes {
	/** enum perf_type_id, and what it is in that type: see eventOf. */
	readonly type: number;
	readonly config: bigint;
	readonly config1?: bigint;
	readonly config2?: bigint;
	/** Events between two samples (ns for the clocks), or how many samples a second. */
	readonly period?: number;
	readonly frequency_hz?: number;
	/** A combination of enum perf_event_sample_format. */
	readonly sampleType?: number;
	/** Bytes in the ring before its reader is woken. */
	readonly watermark_bytes?: number;
	/** The most frames of a stack; without it /proc/sys/kernel/perf_event_max_stack. */
	readonly maxStack?: number;
	/** Whether PerfEvent.lost can tell: since 6.0, see canReadLost. */
	readonly countLost?: boolean;
	/** Whether PerfEvent.count can tell how long it counted; not together with `countLost`. */
	readonly readTimes?: boolean;
	readonly flags?: readonly Flag[];
}

/** The bytes for perf_event_open. Times are those of CLOCK_MONOTONIC. */
export function encodeAttributes(attributes: PerfEventAttributes): Uint8Array {
	const { period = 0, frequency_hz, sampleType = 0, watermark_bytes, maxStack = 0 } = attributes;
	const flags = new Set<Flag>(attributes.flags ?? []).add('use_clockid');
	if (frequency_hz !== undefined) flags.add('freq');
	if (watermark_bytes !== undefined) flags.add('watermark');

	// Kernels that know less take it as long as what they do not know is 0.
	const bytes = new Uint8Array(perf_event_attr.size);
	const view = new DataView(bytes.buffer);
	const set32 = (field: keyof typeof FIELDS, value: number) =>
		view.setUint32(FIELDS[field].offset, value, true);
	set32('type', attributes.type);
	set32('size', perf_event_attr.size);
	view.setBigUint64(FIELDS.config.offset, attributes.config, true);
	view.setBigUint64(FIELDS.config1.offset, attributes.config1 ?? 0n, true);
	view.setBigUint64(FIELDS.config2.offset, attributes.config2 ?? 0n, true);
	view.setBigUint64(FIELDS.sample_period.offset, BigInt(frequency_hz ?? period), true); // or sample_freq
	set32('sample_type', sampleType);
	set32('read_format', readFormat(attributes));
	set32('wakeup_watermark', watermark_bytes ?? 0);
	set32('clockid', CLOCK_MONOTONIC);
	view.setUint16(FIELDS.sample_max_stack.offset, maxStack, true);
	for (const flag of flags) {
		const at = FIELDS[flag].offset + (FIELDS[flag].bit >> 3);
		view.setUint8(at, view.getUint8(at) | (1 << (FIELDS[flag].bit & 7)));
	}
	return bytes;
}

function readFormat({ countLost, readTimes }: PerfEventAttributes): number {
	if (readTimes) return uapi.FORMAT_TIME_ENABLED | uapi.FORMAT_TIME_RUNNING;
	return countLost ? uapi.FORMAT_LOST : 0;
}
