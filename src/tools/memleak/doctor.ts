/** What `tstrace doctor` says of memleak: how it attaches probes, and to which allocator. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { attempt, type Check, missing, NEWER_KERNEL, ok, warn } from '../../doctor/check.js';
import type { ExaminedProcess } from '../../doctor/process.js';
import { multiProbeType } from '../../loader/probes.js';
import { pathTo } from '../../symbolize/mappings/code-files.js';
import { readHeapFile } from './heap/files.js';
import { whyNoReturnProbes } from './heap/probe-ways.js';

export const doctor = {
	machine: (): Check[] => [
		attempt('uprobes', () =>
			judgeUprobes(
				existsSync('/sys/bus/event_source/devices/uprobe'),
				multiProbeType() !== undefined,
			),
		),
	],
	process: (examined: ExaminedProcess) => {
		const { pid, files, is32 } = examined;
		const allocators = files.filter((entry) => readHeapFile(pathTo(pid, entry), '').isAllocator);
		const found = allocators.map(({ path }) => basename(path));
		const [why, fix] = whyNoHeap(pid, is32, found);
		return {
			checks: [judgeAllocator(found, why, fix)],
			...(why === undefined ? {} : { cannot: `process ${pid}: ${why}; --growth works` }),
		};
	},
};

export function judgeUprobes(has: boolean, multi: boolean): Check {
	if (!has)
		return missing(
			'uprobes',
			'none',
			'memleak can run with --growth only',
			'a kernel with CONFIG_UPROBE_EVENTS=y',
		);
	if (multi) return ok('uprobes', 'one link attaches many probes');
	return warn(
		'uprobes',
		'each probe needs a link of its own',
		'memleak takes longer to start and to end',
		`Linux 6.13: ${NEWER_KERNEL}`,
	);
}

/** Why memleak cannot run for a process, and what would help; undefined: it can. */
function whyNoHeap(
	pid: number,
	is32: boolean,
	allocators: readonly string[],
): [why?: string, fix?: string] {
	if (is32) return ['it is a 32-bit program', 'a 64-bit build, or memleak --growth'];
	if (allocators.length === 0) return ['it has no malloc and free that tstrace can find'];
	const filtered = whyNoReturnProbes(pid);
	return filtered === undefined ? [] : [filtered, 'a newer kernel, or memleak --growth'];
}

export function judgeAllocator(
	files: readonly string[],
	noHeap: string | undefined,
	fix = 'name its file with memleak -O FILE, or its prefix with --prefix (je_)',
): Check {
	if (noHeap === undefined) return ok('allocator', `malloc and free are in ${files.join(', ')}`);
	return missing('allocator', noHeap, 'memleak can run with --growth only', fix);
}
