/** How threads off the CPU are followed on the running kernel: user space's side of scheduling/off_cpu.h. */
import {
	kernelFunctions,
	kernelHasKprobes,
	kernelHasTracepoint,
	tracepointArguments,
} from '../../loader/kernel.js';
import { chooseWay, type Way } from '../fallback.js';
import { delayedDequeue, schedInfoMissing } from './run-queue.js';
import { taskStorageMissing } from './task-storage.js';

/** Where a program runs in the thread that resumes. */
export type ResumedHook = 'sched_exit_tp' | 'finish_task_switch' | 'finish_task_switch.isra.0';
/** Of bpf/lib/scheduling/off_cpu.h. */
type Program = 'offcpu_wakeup' | 'offcpu_migrate';

interface OffcpuWay {
	readonly hook: Hook;
	/** Undefined: there is no hook for it. */
	readonly resumed: ResumedHook | undefined;
	readonly others: readonly Program[];
	readonly threadsInHash: boolean;
	readonly hasSchedInfo: boolean;
	/** Whether sched_switch says in which state a thread stopped. */
	readonly switchHasState: boolean;
	readonly because: string;
}

/** Where stacks are walked; by these names TSTRACE_FORCE chooses. */
export type Hook = 'sched_exit' | 'kprobe' | 'switch';

const FINISH = 'finish_task_switch';
/** The second is what gcc calls it where it has changed its arguments. */
const FINISH_FUNCTIONS = [FINISH, 'finish_task_switch.isra.0'] as const;

const HOOKS: ReadonlyArray<Way<Hook>> = [
	{
		name: 'sched_exit',
		missing: () =>
			kernelHasTracepoint('sched_exit_tp')
				? undefined
				: 'the kernel has no tracepoint sched_exit_tp (Linux 6.14 has it)',
	},
	{
		name: 'kprobe',
		missing: () => (finishFunction() ? undefined : `the kernel allows no kprobe on ${FINISH}`),
	},
	{ name: 'switch', missing: () => undefined },
];

const SWITCH_ARGUMENTS_WITH_STATE = 4;

function finishFunction(): ResumedHook | undefined {
	if (!kernelHasKprobes()) return undefined;
	const [first] = kernelFunctions(FINISH_FUNCTIONS);
	return FINISH_FUNCTIONS.find((name) => name === first);
}

/** Where stacks are walked, best first: as a thread resumes, or its user stack as it stops. */
export function chooseOffcpu(): OffcpuWay {
	const { name, because } = chooseWay(HOOKS, 'this hook runs in the thread that resumes');
	const resumed =
		name === 'sched_exit' ? 'sched_exit_tp' : name === 'kprobe' ? finishFunction() : undefined;
	const missing = schedInfoMissing();
	const threadsInHash = taskStorageMissing() !== undefined;
	const others: Program[] = missing ? ['offcpu_wakeup'] : [];
	if (!missing && delayedDequeue()) others.push('offcpu_migrate');
	return {
		hook: name,
		resumed,
		others,
		threadsInHash,
		hasSchedInfo: missing === undefined,
		switchHasState: tracepointArguments('sched_switch') >= SWITCH_ARGUMENTS_WITH_STATE,
		because:
			`walks stacks at ${name}: ${because}; ` +
			`keeps threads in ${threadsInHash ? 'a hash' : 'task storage'}`,
	};
}
