/** Runs a program in a process group of its own and for so long at most, and clears up behind it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { kernelObjects } from '../live/kernel-objects.js';
import { clearUp } from './leftovers.js';

interface GroupRun {
	/** The last of what it said, on both streams. */
	readonly said: string;
	/** null: a signal ended it. */
	readonly status: number | null;
	/** It was ended, as it took too long. */
	readonly hung: boolean;
	readonly ms: number;
	/** What it left behind, in words; it is gone now. */
	readonly left: readonly string[];
}

/** What is kept of what it says. */
const KEEP_CHARACTERS = 1 << 20;

/** The one that runs. */
let running: ChildProcess | undefined;

/** Kills the program that runs, if one does, and its group. */
export function killRunning(): void {
	if (running?.pid === undefined) return;
	try {
		process.kill(-running.pid, 'SIGKILL');
	} catch {
		// It has ended.
	}
}

/** `args`: of node. The current folder is the scratch copy, and temporary files are in its `tmp`. */
export async function runInGroup(args: readonly string[], limit_ms: number): Promise<GroupRun> {
	const before = kernelObjects();
	const began_ms = performance.now();
	const child = spawn(process.execPath, args, {
		detached: true,
		env: { ...process.env, TMPDIR: join(process.cwd(), 'tmp') },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	running = child;
	let said = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding('utf8').on('data', (text) => {
			said = (said + text).slice(-KEEP_CHARACTERS);
		});
	}
	const closed = once(child, 'close');
	let hung = false;
	const timer = setTimeout(() => {
		hung = true;
		killRunning();
	}, limit_ms);
	if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
	clearTimeout(timer);
	const ms = performance.now() - began_ms;
	const left = await clearUp(before, process.cwd());
	// Nobody is left who could hold them open.
	await closed;
	running = undefined;
	return { said, status: child.exitCode, hung, ms, left };
}
