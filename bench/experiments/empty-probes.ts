/** Programs that do nothing, at the plain entries of malloc and free, and malloc's return. */

import type { ObjectLayout } from '../../src/loader/layout.js';
import { BpfObject } from '../../src/loader/object.js';
import { multiProbeType, UserProbes } from '../../src/loader/probes.js';
import { parseMaps } from '../../src/proc/maps.js';
import { readMaps } from '../../src/proc/process-facts.js';
import { readHeapFile } from '../../src/tools/memleak/heap/files.js';

const LAYOUT = {
	name: 'empty',
	structs: {},
	enums: {},
	sections: {},
	maps: {},
	programs: ['empty_entry', 'empty_return'],
} as const satisfies ObjectLayout;

/** Probes a process's C library; returns what takes the probes away again. */
export function probeEmptily(pid: number): () => void {
	const path = parseMaps(readMaps(pid) ?? '').find((entry) =>
		/\/libc\.so\.6$/.test(entry.path),
	)?.path;
	if (path === undefined) throw new Error(`process ${pid} has no C library`);
	const found = readHeapFile(path, '').functions;
	const points = (...names: string[]) =>
		found.filter(({ of }) => names.includes(of.name)).map(({ offset }) => ({ offset, cookie: 0n }));
	const object = new BpfObject(`build/test-bpf/${process.arch}/empty.bpf.o`, LAYOUT);
	const type = multiProbeType();
	const [entry, back] = LAYOUT.programs.map((name) => object.program(name));
	if (!entry || !back) throw new Error('the object has no such programs');
	if (type !== undefined) for (const program of [entry, back]) program.setAttachType(type);
	object.load(LAYOUT.programs);
	const probes = new UserProbes(type);
	probes.attach({ program: back, returns: true, path, pid, points: points('malloc') });
	probes.attach({ program: entry, returns: false, path, pid, points: points('malloc', 'free') });
	return () => {
		probes.close();
		object.close();
	};
}
