/** Patterns of paths, for programs: bpf/lib/trace/path_glob.h. */
import { compileGlobs, type GlobTables, writeGlobs } from '../../bpf/glob.js';
import type { trace as layout } from '../../generated/trace.js';
import type { BpfObject } from '../../loader/object.js';

/** Throws RangeError for patterns that are too long, or too many, in words for the user. */
export function compilePathGlobs(globs: readonly string[]): GlobTables {
	return compileGlobs(globs, Number.POSITIVE_INFINITY);
}

/** Before loading. */
export function pathConstants(object: BpfObject<typeof layout>, globs: readonly string[]): void {
	writeGlobs(compilePathGlobs(globs), (table) => object.constantBytes(`path_${table}`));
	object.setConstants({ by_path: true });
}
