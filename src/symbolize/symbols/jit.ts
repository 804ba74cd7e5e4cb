/** Code that run-time compilers made: its names, and which programs make such code. */
import type { FrameKind } from '../../aggregate/stack.js';
import { readFile } from '../../proc/open.js';
import type { ProcessFacts } from '../../proc/process-facts.js';
import { type PerfMapNames, searchPerfMap } from './perf-map.js';
import { openPerfMap } from './perf-map-files.js';

/** Names addresses by a process's perf map; undefined when it has none, or it cannot be read. */
export function perfMapNames(
	pid: number,
	facts: ProcessFacts,
	wanted: Float64Array,
): PerfMapNames | undefined {
	return readFile(
		openPerfMap(pid, facts),
		(bytes) => searchPerfMap(bytes, wanted),
		() => undefined,
	);
}

/** V8's log.cc, of functions of JavaScript; CPython's perf_trampoline.c. */
const MAPPED: ReadonlyArray<readonly [pattern: RegExp, kind: FrameKind]> = [
	[/^(JS|LazyCompile|Function|Script|Eval):/, 'javascript'],
	[/^py::/, 'python'],
];

/** The language of a function, by how its runtime writes it into a perf map; 'jit': that does not tell. */
export function kindOfMapped(name: string): FrameKind {
	return MAPPED.find(([pattern]) => pattern.test(name))?.[1] ?? 'jit';
}

export type Runtime = 'node' | 'jvm' | 'python' | 'python before 3.12';

/** Which run-time compiler's process this is, by what it has mapped. */
export function runtimeOf(paths: Iterable<string>): Runtime | undefined {
	for (const path of paths) {
		const name = path.slice(path.lastIndexOf('/') + 1);
		if (/^(node|nodejs|libnode\.so.*)$/.test(name)) return 'node';
		if (/^(java|libjvm\.so)$/.test(name)) return 'jvm';
		// 3.12 is the first that writes perf maps.
		if (/^(lib)?python3\.(1[2-9]|[2-9]\d)(\.so.*)?$/.test(name)) return 'python';
		if (/^(lib)?python3\.(\d|1[01])(m?\.so.*|m)?$/.test(name)) return 'python before 3.12';
	}
	return undefined;
}
