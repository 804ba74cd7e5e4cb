/** What kind of code a file's name stands for, in formats that have no kinds. */
import type { FrameKind } from '../aggregate/stack.js';

/**
 * By the names that tstrace writes (render/pprof.ts, render/speedscope.ts) and that perf has for the
 * kernel, its modules and code that was generated.
 */
export function kindOfFile(file: string): FrameKind {
	if (/^\[(guest\.)?kernel\b|\/vmlinux(-[^/]*)?$|\.ko(\.[gx]z|\.zst)?$/.test(file)) return 'kernel';
	if (file === '[jit]' || /\/perf-\d+\.map$/.test(file)) return 'jit';
	if (file === '[inlined]') return 'inlined';
	if (file === '[javascript]') return 'javascript';
	if (file === '[python]') return 'python';
	return 'user';
}
