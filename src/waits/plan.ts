/** Which programs follow waits, and how they are set: for all tools of waits. */
import type { StateMask } from '../abi/states.js';
import type { Subjects } from '../bpf/filter.js';
import { configureObjects } from '../bpf/objects/record.js';
import { chooseInterrupts } from '../bpf/scheduling/interrupts.js';
import { chooseOffcpu, type ResumedHook } from '../bpf/scheduling/off-cpu.js';
import { StackSums } from '../bpf/stacks/sums.js';
import { off_cpu as layout } from '../generated/off_cpu.js';
import type { BpfObject } from '../loader/object.js';
import type { Note } from '../reader.js';
import { unwindTables } from '../symbolize/walks/unwind-tables.js';
import type { Plan } from '../tool.js';
import { configureRecords } from './records.js';
import type { WaitSettings } from './waits.js';

type Layout = typeof layout;
type Program = Layout['programs'][number];

/** Which waits count. */
export interface WaitChoice {
	/** 0: no limit. */
	readonly min_usec: number;
	/** 0: no limit. */
	readonly max_usec: number;
	readonly states: StateMask;
}

const RESUMED_PROGRAMS: Readonly<Record<ResumedHook, Program>> = {
	sched_exit_tp: 'offcpu_resumed',
	finish_task_switch: 'offcpu_finish',
	'finish_task_switch.isra.0': 'offcpu_finish_isra',
};
const { RESUMED_SCRATCH, WAKER_SCRATCH, SAMPLE_SCRATCH } = layout.enums.wait_scratch;

/** Where nothing tells that threads resume, their stacks are walked as they stop. */
const switchProgram = (resumed: ResumedHook | undefined): Program =>
	resumed ? 'offcpu_switch' : 'offcpu_switch_walks';

/** The object is open, and not yet loaded. `withSamples`: threads that run are sampled, and summed up by stack, too. */
export function planWaits(
	object: BpfObject<Layout>,
	settings: WaitSettings & WaitChoice,
	subjects: Subjects,
	note: Note,
	{ withSamples = false }: { readonly withSamples?: boolean } = {},
): Plan<Layout> {
	const way = chooseOffcpu();
	// Only a single thread can be called idle.
	const byThread = settings.byThread || settings.hideIdle;
	// Waits that come one by one are not summed up in the kernel.
	const hasSums = settings.followed === 0 || withSamples;
	new StackSums(object).configure({ ...settings, byThread }, hasSums ? settings.maxStacks : 0);
	const woken = settings.wakers ? WAKER_SCRATCH : RESUMED_SCRATCH;
	object.map('scratch').setMaxEntries((withSamples ? SAMPLE_SCRATCH : woken) + 1);
	object.setConstants({
		shortest_ns: settings.min_usec * 1000,
		longest_ns: settings.max_usec * 1000,
		state_mask: settings.states.mask,
		state_exclusive: settings.states.letters,
		threads_in_hash: way.threadsInHash,
		has_sched_info: way.hasSchedInfo,
		switch_has_state: way.switchHasState,
		walk_at_switch: way.resumed === undefined,
	});
	// Without kernel frames nobody can tell whether a thread waited for what its call is about.
	if (settings.kernel) configureObjects(object, settings);
	const wakers = settings.wakers ? planWakers(object, settings) : undefined;
	return {
		attach: [
			...(way.resumed ? [RESUMED_PROGRAMS[way.resumed]] : []),
			...way.others,
			...(wakers?.programs ?? []),
			switchProgram(way.resumed),
		],
		runOnce: settings.edges || settings.followed > 0 ? ['seed_waiting'] : [],
		load: [
			...(settings.edges ? (['end_waiting'] as const) : []),
			...(settings.kernel ? (['find_holders'] as const) : []),
		],
		withoutMaps: [way.threadsInHash ? 'off_cpus' : 'off_cpus_by_pid'],
		because: wakers ? `${way.because}; ${wakers.because}` : way.because,
		tables: unwindTables(object, settings, subjects, note),
	};
}

/** Programs that see who wakes the threads. */
function planWakers(
	object: BpfObject<Layout>,
	{ wakers, followed, edges, maxStacks }: WaitSettings,
): { programs: readonly Program[]; because: string } {
	const { programs, because, ...constants } = chooseInterrupts();
	object.setConstants({ ...constants, with_wakers: true, walk_wakers: wakers === 'stacks' });
	object.map('wakers').setMaxEntries(maxStacks);
	if (followed > 0) {
		configureRecords(object, { followed, edges });
	}
	return { programs: [...programs, 'offcpu_waking'], because };
}
