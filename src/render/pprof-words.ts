/** What tstrace's pprof files say in words of its own, for the writer and the reader. */
import type { FrameKind } from '../aggregate/stack.js';

/**
 * Where a frame's code is, for each kind: pprof has no kinds, but shows the file of a mapping. The
 * kernel's is perf's name for it. The user's have none: pprof would take it for the program's name.
 */
export const MAPPING_FILES: Readonly<Record<FrameKind, string>> = {
	user: '',
	kernel: '[kernel.kallsyms]',
	jit: '[jit]',
	inlined: '[inlined]',
	javascript: '[javascript]',
	python: '[python]',
};
/** Of values that nobody has said what they are. */
export const UNKNOWN_TYPE = 'value';

/** Fields of the origin that pprof has none for, as comments: "host: build7". */
export const COMMENT_FIELDS = ['tool', 'event', 'host', 'kernel', 'command'] as const;
