/** System calls of 32-bit programs. */
import { spawnSync } from 'node:child_process';

let missing: { skip?: string } | undefined;

/**
 * Options of tests that need them. arm64 makes none from a 64-bit program; on x86-64 some hypervisors (PVM) end whoever
 * makes one.
 */
export function needsNarrowCalls(): { skip?: string } {
	missing ??= probe();
	return missing;
}

function probe(): { skip?: string } {
	if (process.arch !== 'x64') return { skip: 'this architecture has no 32-bit calls' };
	// A byte to begin, a byte to end.
	const { signal } = spawnSync('build/workloads/calls', ['compat', '1'], { input: 'xx' });
	return signal === 'SIGSEGV' ? { skip: 'this machine ends whoever makes a 32-bit call' } : {};
}
