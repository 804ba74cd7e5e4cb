/** How threads off the CPU are followed on the running kernel: user space's side of offcpu.h. */
import type { offcputime } from '../generated/offcputime.js';
import { kernelFunction, kernelHasKprobes, kernelHasTracepoint } from '../loader/kernel.js';
import { booksMissing, delayedDequeue, taskStorageMissing } from './waits.js';
import { chooseWay, type Way } from './ways.js';

type Program = (typeof offcputime)['programs'][number];

export interface OffcpuWay {
	/** The program that runs in the thread that resumes; undefined: there is no hook for one. */
	readonly resumed: Program | undefined;
	readonly others: readonly Program[];
	readonly threadsInHash: boolean;
	readonly schedulerBooks: boolean;
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

function finishProgram(): Program | undefined {
	return kernelHasKprobes() ? FINISH_PROGRAMS[kernelFunction(FINISH) ?? ''] : undefined;
}

/** Where stacks are walked, best first: as a thread resumes, or its user stack as it stops. */
export function chooseOffcpu(): OffcpuWay {
	const { name, because } = chooseWay(HOOKS, 'a hook runs in the thread that resumes');
	const resumed =
		name === 'sched_exit' ? 'offcputime_resumed' : name === 'kprobe' ? finishProgram() : undefined;
	const books = booksMissing();
	const others: Program[] = books ? ['offcpu_wakeup'] : [];
	if (!books && delayedDequeue()) others.push('offcpu_migrate');
	return {
		resumed,
		others,
		threadsInHash: taskStorageMissing() !== undefined,
		schedulerBooks: books === undefined,
		because: `stacks are walked by way of ${name}: ${because}`,
	};
}
