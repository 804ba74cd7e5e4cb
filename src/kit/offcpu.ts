/** How threads off the CPU are followed on the running kernel: user space's side of offcpu.h. */
import type { offcputime } from '../generated/offcputime.js';
import {
	kernelBtf,
	kernelFunctions,
	kernelHasKprobes,
	kernelHasTracepoint,
	tracepointArguments,
} from '../loader/kernel.js';
import { storageHasOwnMemory } from '../loader/realtime.js';
import { delayedDequeue, schedInfoMissing, taskStorageMissing } from './waits.js';
import { chooseWay, type Way } from './ways.js';

type Program = (typeof offcputime)['programs'][number];

export interface OffcpuWay {
	/** The program that runs in the thread that resumes; undefined: there is no hook for one. */
	readonly resumed: Program | undefined;
	readonly others: readonly Program[];
	readonly threadsInHash: boolean;
	readonly hasSchedInfo: boolean;
	/** Whether sched_switch says in which state a thread stopped. */
	readonly switchHasState: boolean;
	readonly because: string;
}

type Hook = 'sched_exit' | 'kprobe' | 'switch';

const FINISH = 'finish_task_switch';
const FINISH_PROGRAMS: Readonly<Record<string, Program>> = {
	[FINISH]: 'offcputime_finish',
	[`${FINISH}.isra.0`]: 'offcputime_finish_isra',
};

const HOOKS: ReadonlyArray<Way<Hook>> = [
	{
		name: 'sched_exit',
		missing: () =>
			kernelHasTracepoint('sched_exit_tp') ? undefined : 'no tracepoint sched_exit_tp (6.14)',
	},
	{ name: 'kprobe', missing: () => (finishProgram() ? undefined : `no kprobe on ${FINISH}`) },
	{ name: 'switch', missing: () => undefined },
];

const SWITCH_ARGUMENTS_WITH_STATE = 4;

/**
 * Entries are made at a switch, under the run queue's lock. Until 6.4 (08a7ce384e33) that took memory from
 * kmalloc, which may wake a thread for it, and need the same lock.
 */
function storageMissing(): string | undefined {
	const safe = storageHasOwnMemory(kernelBtf());
	return taskStorageMissing() ?? (safe ? undefined : 'task storage needs kmalloc (before 6.4)');
}

function finishProgram(): Program | undefined {
	if (!kernelHasKprobes()) return undefined;
	return FINISH_PROGRAMS[kernelFunctions(Object.keys(FINISH_PROGRAMS))[0] ?? ''];
}

/** Where stacks are walked, best first: as a thread resumes, or its user stack as it stops. */
export function chooseOffcpu(): OffcpuWay {
	const { name, because } = chooseWay(HOOKS, 'this hook runs in the thread that resumes');
	const resumed =
		name === 'sched_exit' ? 'offcputime_resumed' : name === 'kprobe' ? finishProgram() : undefined;
	const missing = schedInfoMissing();
	const others: Program[] = missing ? ['offcpu_wakeup'] : [];
	if (!missing && delayedDequeue()) others.push('offcpu_migrate');
	return {
		resumed,
		others,
		threadsInHash: storageMissing() !== undefined,
		hasSchedInfo: missing === undefined,
		switchHasState: tracepointArguments('sched_switch') >= SWITCH_ARGUMENTS_WITH_STATE,
		because:
			`walks stacks at ${name}: ${because}; ` +
			`keeps threads in ${storageMissing() ? 'a hash' : 'task storage'}`,
	};
}
