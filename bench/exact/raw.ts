/** tstrace's own programs, loaded here: their stacks can then be had as addresses, before they have names. */

import type { Subjects } from '../../src/bpf/filter.js';
import { MAX_DEPTH, type StackSettings } from '../../src/bpf/stacks/stacks.js';
import type { StackView } from '../../src/render/stack-text.js';

/** Objects that were built; those of an installation are beside its bundle. */
process.env.TSTRACE_BPF_DIR ??= `dist/bpf/${process.arch}`;

/** User stacks, each thread's apart. */
export const USER_STACKS: StackSettings & StackView & { debuginfod: boolean } = {
	...{ maxStacks: 32_768, maxDepth: MAX_DEPTH, unwind: 'tables' },
	...{ kernel: false, user: true, byThread: true, debuginfod: false },
	...{ delimited: false, annotated: false, top: 0, by: 'thread' },
	...{ grep: undefined, exclude: undefined },
};

/** One process, whole. */
export function onlyProcess(pid: number): Subjects {
	const none = { tids: [], comms: [], cgroups: [], cpus: [] };
	const flags = { userThreads: false, kernelThreads: false, follow: false };
	return { filter: { pids: [pid], ...none, ...flags }, command: undefined, words: [] };
}

/** No messages. */
export const QUIET = { verbose: false, note: () => {} };
