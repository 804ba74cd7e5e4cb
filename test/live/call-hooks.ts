/** The two kinds of tracepoints that tell of system calls, and which kernels have them. */
import { release } from 'node:os';
import { type CallHook, rawCanBePreempted } from '../../src/bpf/calls/call-hooks.js';
import { needs } from './support.js';

export const HOOKS = ['raw', 'perf'] as const;
/** Where programs at raw tracepoints are preempted they miss calls; that many are said. */
export const misses = (hook: CallHook) => hook === 'raw' && rawCanBePreempted(release());
/** Those that miss none. */
export const EXACT = HOOKS.filter((hook) => !misses(hook));
export const needsHook = (hook: CallHook) =>
	needs(hook === 'perf' ? 'calls at perf tracepoints' : undefined);
