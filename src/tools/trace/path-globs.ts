/** Patterns of paths, for programs: bpf/lib/trace/path_glob.h. */
import { compileGlobs, type GlobTables } from '../../bpf/glob.js';
import type { trace as layout } from '../../generated/trace.js';
import type { BpfObject } from '../../loader/object.js';

/** Throws RangeError for patterns that are too long, or too many, in words for the user. */
export function compilePathGlobs(globs: readonly string[]): GlobTables {
	return compileGlobs(globs, Number.POSITIVE_INFINITY);
}

/** Before loading. */
export function pathConstants(object: BpfObject<typeof layout>, globs: readonly string[]): void {
	const { accepts, stays, begins, ends } = compilePathGlobs(globs);
	const memory = object.constantBytes('path_accepts');
	for (const [byte, states] of accepts.entries()) memory.setBigUint64(8 * byte, states, true);
	object.constantBytes('path_stays').setBigUint64(0, stays, true);
	object.constantBytes('path_begins').setBigUint64(0, begins, true);
	const all = ends.reduce((some, end) => some | end, 0n);
	object.constantBytes('path_ends').setBigUint64(0, all, true);
	object.setConstants({ by_path: true });
}
