/** What the kernel holds of BPF, before a test and after it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { libbpfFunction } from '../../src/loader/ffi.js';
import { takeMessages } from '../../src/loader/libbpf-messages.js';
import { MARK } from './mark.js';
import { until } from './until.js';

type NextId = (start: number, next: [number]) => number;

let nextIds: ReadonlyArray<readonly [kind: string, next: NextId]> | undefined;

function idFunctions() {
	nextIds ??= (['prog', 'map', 'link'] as const).map((kind) => [
		kind === 'prog' ? 'program' : kind,
		libbpfFunction(`int bpf_${kind}_get_next_id(uint32_t start, _Out_ uint32_t *next)`) as NextId,
	]);
	return nextIds;
}

/** The ids of everything BPF that the kernel holds: "program 7", "map 9", "link 3". */
export function kernelObjects(): Set<string> {
	takeMessages();
	const ids = new Set<string>();
	for (const [kind, next] of idFunctions()) {
		const id: [number] = [0];
		while (next(id[0], id) === 0) ids.add(`${kind} ${id[0]}`);
	}
	return ids;
}

/**
 * Whether we are to answer for what a process holds: our tests started it. Of one whose environment is
 * empty, because somebody has cleared it, the folder it works in tells.
 * Throws where it has ended, or is a thread of the kernel: these have no environment.
 */
export function isOurs(pid: number): boolean {
	// Our own environment is what we were started with: the mark came later.
	if (pid === process.pid) return true;
	const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
	if (environment !== '') return environment.split('\0').includes(`${MARK}=${process.env[MARK]}`);
	return readlinkSync(`/proc/${pid}/cwd`) === process.cwd();
}

/** The numbers of all processes that there are now. */
export function processes(): number[] {
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.map(Number);
}

/** The ids in what /proc/PID/fdinfo says of a descriptor: a link's has its program's, too. */
export function idsIn(info: string): string[] {
	return [...info.matchAll(/^(prog|map|link)_id:\s*(\d+)$/gm)].map(
		([, kind, id]) => `${kind === 'prog' ? 'program' : kind} ${id}`,
	);
}

/** What processes of somebody else hold: another run of tests, say. */
function objectsOfOthers(): Set<string> {
	const ids = new Set<string>();
	for (const pid of processes()) {
		try {
			if (isOurs(pid)) continue;
			for (const fd of readdirSync(`/proc/${pid}/fdinfo`)) {
				const info = readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
				for (const id of idsIn(info)) ids.add(id);
			}
		} catch {
			// It has ended, or closed it.
		}
	}
	return ids;
}

/** What the kernel holds that it did not hold before, and that nobody else holds. */
export function leftInKernel(before: ReadonlySet<string>): string[] {
	const left = [...kernelObjects()].filter((id) => !before.has(id));
	if (left.length === 0) return [];
	const others = objectsOfOthers();
	return left.filter((id) => !others.has(id));
}

/**
 * Waits until the kernel holds nothing that it did not hold before, but what others hold; it frees
 * with a delay.
 */
export async function untilReleased(before: ReadonlySet<string>): Promise<void> {
	await until(() => leftInKernel(before).length === 0);
}
