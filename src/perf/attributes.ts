/**
 * struct perf_event_attr as bytes. Source: include/uapi/linux/perf_event.h, man 2 perf_event_open.
 * Its layout is the same on x86-64 and arm64: both are little-endian and align 64-bit fields.
 */

/** enum perf_type_id */
export const PERF_TYPE = { hardware: 0, software: 1, tracepoint: 2, hw_cache: 3, raw: 4 } as const;

/** enum perf_event_sample_format */
export const PERF_SAMPLE = {
	ip: 1 << 0,
	tid: 1 << 1,
	time: 1 << 2,
	callchain: 1 << 5,
	id: 1 << 6,
	cpu: 1 << 7,
	period: 1 << 8,
} as const;

/** What follows each record that is no sample, with sample_id_all: struct sample_id. */
export const SAMPLE_ID_TYPE = PERF_SAMPLE.tid | PERF_SAMPLE.time | PERF_SAMPLE.id | PERF_SAMPLE.cpu;

/** What a sample holds. src/perf/parse.ts reads records of these forms. */
export const SAMPLE_TYPE =
	SAMPLE_ID_TYPE | PERF_SAMPLE.ip | PERF_SAMPLE.period | PERF_SAMPLE.callchain;

/** enum perf_event_read_format: PERF_FORMAT_LOST */
const FORMAT_LOST = 1 << 4;

/** man 2 clock_gettime: the clock of bpf_ktime_get_ns and of process.hrtime. */
const CLOCK_MONOTONIC = 1;

/** PERF_ATTR_SIZE_VER7. Kernels that know less take it as long as what they do not know is 0. */
export const ATTRIBUTES_BYTES = 128;

/** The number of each bit-field, beginning with the lowest bit of the word at offset 40. */
export const FLAG_BITS = {
	disabled: 0,
	inherit: 1,
	exclude_user: 4,
	exclude_kernel: 5,
	exclude_hv: 6,
	exclude_idle: 7,
	mmap: 8,
	comm: 9,
	freq: 10,
	enable_on_exec: 12,
	task: 13,
	watermark: 14,
	mmap_data: 17,
	sample_id_all: 18,
	exclude_guest: 20,
	exclude_callchain_kernel: 21,
	exclude_callchain_user: 22,
	mmap2: 23,
	comm_exec: 24,
	use_clockid: 25,
} as const;

export type Flag = keyof typeof FLAG_BITS;

/** What makes a software event report programs, mappings and threads as they come and go. */
export const SIDEBAND_FLAGS = ['mmap', 'mmap2', 'comm', 'comm_exec', 'task'] as const;

export interface PerfEventAttributes {
	/** PERF_TYPE, and what it is in that type: see parseEvent. */
	readonly type: number;
	readonly config: bigint;
	/** Events between two samples (ns for the clocks), or how many samples a second. */
	readonly period?: number;
	readonly frequency_hz?: number;
	/** A combination of PERF_SAMPLE. */
	readonly sampleType?: number;
	/** Bytes in the ring before its reader is woken. */
	readonly watermark_bytes?: number;
	/** The most frames of a stack; without it /proc/sys/kernel/perf_event_max_stack. */
	readonly maxStack?: number;
	/** Whether PerfEvent.lost can tell: since 6.0, see canReadLost. */
	readonly countLost?: boolean;
	readonly flags?: readonly Flag[];
}

/** The bytes for perf_event_open. Times are those of CLOCK_MONOTONIC. */
export function encodeAttributes(attributes: PerfEventAttributes): Uint8Array {
	const { period = 0, frequency_hz, sampleType = 0, watermark_bytes, maxStack = 0 } = attributes;
	const flags = new Set<Flag>(attributes.flags ?? []).add('use_clockid');
	if (frequency_hz !== undefined) flags.add('freq');
	if (watermark_bytes !== undefined) flags.add('watermark');
	let bits = 0;
	for (const flag of flags) bits |= 1 << FLAG_BITS[flag];

	const bytes = new Uint8Array(ATTRIBUTES_BYTES);
	const view = new DataView(bytes.buffer);
	view.setUint32(0, attributes.type, true);
	view.setUint32(4, ATTRIBUTES_BYTES, true);
	view.setBigUint64(8, attributes.config, true);
	view.setBigUint64(16, BigInt(frequency_hz ?? period), true); // sample_freq or sample_period
	view.setUint32(24, sampleType, true);
	view.setUint32(32, attributes.countLost ? FORMAT_LOST : 0, true); // read_format
	view.setUint32(40, bits, true);
	view.setUint32(48, watermark_bytes ?? 0, true); // wakeup_watermark
	view.setInt32(92, CLOCK_MONOTONIC, true); // clockid
	view.setUint16(108, maxStack, true); // sample_max_stack
	return bytes;
}
