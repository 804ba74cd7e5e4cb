/** What `tstrace doctor` says of offcputime: where it walks user stacks. */
import { chooseOffcpu, type Hook } from '../../bpf/scheduling/off-cpu.js';
import { attempt, type Check, ok, warn } from '../../doctor/check.js';
import { kernelHasKprobes } from '../../loader/kernel.js';

export const doctor = {
	machine: (): Check[] => [
		attempt('off-CPU hook', () => judgeHook(chooseOffcpu().hook, kernelHasKprobes())),
	],
};

export function judgeHook(hook: Hook, kprobes: boolean): Check {
	const name = 'off-CPU hook';
	if (hook === 'sched_exit')
		return ok(
			name,
			`sched_exit_tp${kprobes ? '' : '; this kernel has no kprobes, and none are needed'}`,
		);
	if (hook === 'kprobe') return ok(name, 'a kprobe on finish_task_switch');
	return warn(
		name,
		`none: the kernel has no sched_exit_tp (Linux 6.14 has it), and no ${kprobes ? 'function finish_task_switch' : 'kprobes'}`,
		'offcputime walks user stacks at every context switch (734 ns each), and misses the user stacks of threads that already sleep when it starts',
		'a kernel with CONFIG_KPROBE_EVENTS=y, or Linux 6.14',
	);
}
