/** Perf events that run a BPF program: Documentation/bpf, BPF_PROG_TYPE_PERF_EVENT. */
import { TstraceError } from '../errors.js';
import type { PerfEventAttributes } from './attributes.js';
import { PerCpuEvents } from './cpus.js';
import { openPerfEvent, type PerfEvent } from './open.js';

/**
 * Runs a program at each overflow of an event, on every CPU that is online, or on those of `cpus`.
 * `ringOn` names an event of a CPU that has a ring: the kernel records there when it pauses sampling.
 * Throws PerfOpenError, and TstraceError where none of them is online.
 */
export function runOnOverflow(
	attributes: Omit<PerfEventAttributes, 'flags'>,
	program: { readonly fd: number },
	cpus: readonly number[],
	ringOn: (cpu: number) => PerfEvent | undefined = () => undefined,
): PerCpuEvents<PerfEvent> {
	const open = (cpu: number): PerfEvent => {
		const event = openPerfEvent({ ...attributes, flags: ['disabled'] }, { pid: -1, cpu });
		try {
			event.setBpf(program.fd);
			const ring = ringOn(cpu);
			if (ring) event.setOutput(ring);
			event.enable();
		} catch (error) {
			event.close();
			throw error;
		}
		return event;
	};
	const events = new PerCpuEvents(open, cpus.length > 0 ? { cpus } : {});
	if (events.open.size > 0) return events;
	throw new TstraceError(`none of the CPUs ${cpus.join(', ')} is online; choose others (-C)`);
}
