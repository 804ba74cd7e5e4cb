/** Why an event has no count, and what can be counted instead. */
import { existsSync } from 'node:fs';
import { TstraceError } from '../../errors.js';
import { perf_type_id } from '../../generated/uapi.js';
import type { Counted } from '../../perf/counters.js';
import type { CountedEvent } from '../../perf/event-list.js';
import { hasPmu } from '../../perf/events.js';
import { PerfOpenError, type Refusal } from '../../perf/open.js';
import { openFilesLimit } from '../../proc/limits.js';
import { grouped } from '../../render/numbers.js';
import { textOf } from '../../text-of.js';

const { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW } = perf_type_id;
const OF_PROCESSOR: readonly number[] = [PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW];

/** What is known of the machine. */
export interface Machine {
	/** Whether its hardware counters can be used. */
	readonly pmu: boolean;
	readonly virtual: boolean;
}

export function thisMachine(): Machine {
	return {
		pmu: hasPmu(),
		virtual:
			/^flags\s*:.* hypervisor\b/m.test(textOf('/proc/cpuinfo') ?? '') ||
			existsSync('/sys/hypervisor/type'),
	};
}

const ELSE =
	'the clocks, context switches, migrations, page faults and tracepoints can be counted here';

/** In words, without the event's name: the same for all that lack the same thing. */
export function whyNot(event: CountedEvent, refusal: Refusal, machine: Machine): string {
	const { errno } = refusal;
	const isAbsent = ['ENOENT', 'EOPNOTSUPP', 'ENXIO'].includes(errno);
	if (isAbsent && OF_PROCESSOR.includes(event.type) && !machine.pmu)
		return machine.virtual
			? `this virtual machine has no hardware counters (its hypervisor hides them); ${ELSE}`
			: `this machine has no hardware counters that the kernel can use; ${ELSE}`;
	if (isAbsent && OF_PROCESSOR.includes(event.type)) return 'this processor does not count it';
	if (isAbsent) return 'this kernel does not count it';
	if (errno === 'EINVAL' && event.group !== undefined)
		return (
			'its group does not fit: the processor has too few counters for all of it at once, or cannot count ' +
			'these together; make the group smaller'
		);
	if (errno === 'EINVAL' && event.shared !== undefined && event.spaces.length > 0)
		return (
			'this kernel refuses it with a modifier (EINVAL): many PMUs do not tell user space from the kernel; ' +
			'leave out the modifier'
		);
	return refusal.message;
}

/** Why an event of a PMU is counted nowhere, though nothing was refused. */
export const noneOnline = ({ onCpus = [] }: CountedEvent): string =>
	`it is counted on CPU ${onCpus.join(', ')} only, which is offline or was not chosen`;

/** Of an error that is about the number of descriptors one that says how many are needed; else the error itself. */
export function tooManyFiles(error: unknown, events: number, { threads, cpus }: Counted): unknown {
	if (!(error instanceof PerfOpenError) || error.errno !== 'EMFILE' || !threads) return error;
	const { soft } = openFilesLimit();
	return new TstraceError(
		descriptorsText(threads().length, events, cpus.length, soft),
		error.detail,
	);
}

/** What to do where threads × events (× CPUs chosen) are more than the limit. */
export function descriptorsText(
	threads: number,
	events: number,
	cpus: number,
	limit: number,
): string {
	const needed = threads * events * Math.max(1, cpus);
	const factors = [
		`${grouped(threads)} threads`,
		`${events} events`,
		...(cpus > 0 ? [`${cpus} CPUs`] : []),
	];
	// For node's own files, and for threads that come meanwhile.
	const enough = Math.ceil((needed * 1.1) / 1000) * 1000;
	return (
		`too many open files: ${factors.join(' x ')} need ${grouped(needed)} descriptors, and the limit is ` +
		`${grouped(limit)}: raise it (ulimit -Hn ${enough}; ulimit -n ${enough}), name fewer events (-e), ` +
		'or count the cgroup (--cgroup), which needs one for each event and CPU'
	);
}
