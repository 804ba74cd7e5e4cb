/** What a test has left behind: processes, BPF programs, mounts. All of it goes. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOurs, leftInKernel, processes } from '../live/kernel-objects.js';

/** The kernel frees with a delay, and processes take a moment to end. */
const PATIENCE_MS = 10_000;
/** For those that a test has told to end, and did not wait for. */
const GRACE_MS = 2000;

/** Whatever we started, and what that started, but not ourselves. */
function ourProcesses(): number[] {
	return processes().filter((pid) => {
		try {
			return pid !== process.pid && isOurs(pid);
		} catch {
			return false; // it has ended, or is the kernel's
		}
	});
}

function nameOf(pid: number): string {
	try {
		return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
	} catch {
		return `${pid}`;
	}
}

/** Calls until nothing is left, or the time is over; returns what is left. */
async function untilNone<T>(left: () => T[], limit_ms: number): Promise<T[]> {
	const until_ms = performance.now() + limit_ms;
	for (;;) {
		const now = left();
		if (now.length === 0 || performance.now() > until_ms) return now;
		await sleep(20);
	}
}

/** Kills all that we started. At once, so that it can be done as we exit. */
export function endOurs(): void {
	for (const pid of ourProcesses()) {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {
			// It was quicker.
		}
	}
}

/** Mounts at or below a folder, the last one first. */
function mountsBelow(folder: string): string[] {
	const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
	return mounts
		.flatMap((line) => line.split(' ')[1] ?? [])
		.filter((at) => at.startsWith(folder))
		.reverse();
}

/** Unmounts what is mounted at or below a folder; returns how much that was. At once, as endOurs. */
export function unmountBelow(folder: string): number {
	const mounts = mountsBelow(folder);
	for (const at of mounts) spawnSync('umount', ['--lazy', at]);
	return mounts.length;
}

/**
 * Ends and removes what is left of a test that has ended, or was ended: returns what that was, in words.
 * `before`: what the kernel held when it began. `scratch`: where it worked.
 */
export async function clearUp(before: ReadonlySet<string>, scratch: string): Promise<string[]> {
	const names = (await untilNone(ourProcesses, GRACE_MS)).map(nameOf);
	const living = await untilNone(() => {
		endOurs();
		return ourProcesses();
	}, PATIENCE_MS);
	const mounts = unmountBelow(scratch);
	const objects = await untilNone(() => leftInKernel(before), PATIENCE_MS);
	return [
		...(names.length > 0 ? [`processes: ${names.join(', ')}`] : []),
		...(living.length > 0 ? [`and could not be ended: ${living.join(', ')}`] : []),
		...(mounts > 0 ? [`mounts: ${mounts}`] : []),
		...mountsBelow(scratch).map((at) => `and ${at} could not be unmounted`),
		...(objects.length > 0 ? [`in the kernel: ${objects.join(', ')}`] : []),
	];
}
