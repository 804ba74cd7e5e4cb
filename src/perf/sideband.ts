/**
 * What happens to programs besides what is traced: mappings of code, new names, threads that
 * begin and end, on the whole machine. Without it addresses of programs that ended mean nothing.
 * Source: man 2 perf_event_open.
 */
import { pageSizeBytes } from '../loader/memory.js';
import { SAMPLE_ID_TYPE, SIDEBAND_FLAGS } from './attributes.js';
import type { CpuChoice } from './cpus.js';
import { canReadLost, DUMMY } from './events.js';
import { openPerfEvent, type PerfEvent } from './open.js';
import type { SidebandRecord } from './records.js';
import { PerfRings } from './rings.js';

const RING_BYTES = 256 * 1024;

export class Sideband extends PerfRings {
	/**
	 * Begins to record, on each CPU, with `ring_bytes` of memory there (a power of two of pages).
	 * Throws TstraceError where this user may not (CAP_PERFMON, or perf_event_paranoid below 1).
	 */
	constructor({ ring_bytes = RING_BYTES, ...cpus }: { ring_bytes?: number } & CpuChoice = {}) {
		super({ ring_bytes: Math.max(ring_bytes, pageSizeBytes()), open, ...cpus });
	}

	/**
	 * Delivers what was and will be recorded, in the order of time: when a ring is a quarter full,
	 * and at `drain`.
	 */
	override start(onRecord: (record: SidebandRecord) => void): void {
		super.start((record) => {
			// A dummy has no samples; what lives outside this PID namespace has no number here.
			if (record.type !== 'sample' && record.pid > 0) onRecord(record);
		});
	}

	/** The event of a CPU, whose ring other events there may use; undefined: that CPU has none. */
	eventOn(cpu: number): PerfEvent | undefined {
		return this.open.get(cpu)?.owner;
	}
}

function open(cpu: number, watermark_bytes: number): PerfEvent {
	const attributes = {
		...DUMMY,
		sampleType: SAMPLE_ID_TYPE,
		watermark_bytes,
		countLost: canReadLost(),
		flags: [...SIDEBAND_FLAGS, 'sample_id_all', 'exclude_kernel', 'exclude_hv'],
	} as const;
	return openPerfEvent(attributes, { pid: -1, cpu });
}
