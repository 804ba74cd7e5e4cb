/** Features of kernels that tools have other ways without, or none; a test that needs one says so. */

import { perfHookMissing } from '../../src/bpf/calls/call-hooks.js';
import { taskStorageMissing } from '../../src/bpf/scheduling/task-storage.js';
import {
	kernelHasHelper,
	kernelHasKprobes,
	kernelHasTracepoint,
	versionOf,
} from '../../src/loader/kernel.js';
import { ringBufferMissing } from '../../src/loader/realtime.js';
import type { Facts } from './lines.js';

interface Feature {
	/** The first kernel with it. */
	readonly since: string;
	/** The first PREEMPT_RT kernel with it, if that is another one. */
	readonly sinceRealtime?: string;
	/** Whether the running kernel has it, by its own types; and what of it is mounted. */
	present(): boolean;
}

export const FEATURES = {
	get_current_task_btf: { since: '5.11', present: () => kernelHasHelper('get_current_task_btf') },
	'calls at perf tracepoints': { since: '5.15', present: () => perfHookMissing() === undefined },
	'a ring buffer': {
		since: '5.8',
		// Debian's 6.1 has the mend, too.
		sinceRealtime: '6.1',
		present: () => ringBufferMissing() === undefined,
	},
	'task storage': {
		since: '6.4',
		present: () => taskStorageMissing() === undefined,
	},
	kprobes: { since: '4.1', present: kernelHasKprobes },
	sched_exit_tp: { since: '6.14', present: () => kernelHasTracepoint('sched_exit_tp') },
} as const satisfies Readonly<Record<string, Feature>>;

export type FeatureName = keyof typeof FEATURES;

/** How a skip for want of a feature begins; the rest is the feature's name. */
export const NEEDS = 'needs ';

export const featureNames = Object.keys(FEATURES) as FeatureName[];

/** The first kernel of its sort with a feature. */
export function sinceOf(name: FeatureName, { realtime }: Pick<Facts, 'realtime'>): string {
	const { since, sinceRealtime = since }: Feature = FEATURES[name];
	return realtime ? sinceRealtime : since;
}

/** Whether a kernel should have a feature, by its version. */
export function isDue(name: FeatureName, facts: Pick<Facts, 'release' | 'realtime'>): boolean {
	return isSince(facts.release, sinceOf(name, facts));
}

/** Whether a kernel "6.1" has what came with "5.12". */
export function isSince(kernel: string, since: string): boolean {
	const [major, minor] = versionOf(kernel);
	const [sinceMajor, sinceMinor] = versionOf(since);
	return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
