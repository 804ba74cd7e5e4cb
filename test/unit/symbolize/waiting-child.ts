/** Processes that wait for input, and where. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoppedRegisters } from '../../../src/unwind/walk.js';

const READ = process.arch === 'arm64' ? '63' : '0';

interface WaitingChild {
	readonly pid: number;
	readonly stdin: ChildProcessWithoutNullStreams['stdin'];
	/** As it waits. The frame pointer is not known. */
	readonly registers: StoppedRegisters;
}

/** Starts a program, and waits until it reads its standard input. */
export async function waitingChild(
	t: TestContext,
	file: string,
	...args: string[]
): Promise<WaitingChild> {
	const child = spawn(file, args);
	t.after(() => child.kill('SIGKILL'));
	const { pid = 0, stdin } = child;
	for (;;) {
		// What the loader reads has another descriptor.
		const [call, descriptor, ...rest] = callOf(pid);
		if (call === READ && descriptor === '0x0') {
			const registers = { ip: Number(rest.at(-1)), sp: Number(rest.at(-2)), fp: 0 };
			return { pid, stdin, registers };
		}
		await sleep(1);
	}
}

/** The words of /proc/PID/syscall. */
export function callOf(pid: number): string[] {
	return readFileSync(`/proc/${pid}/syscall`, 'latin1').trim().split(' ');
}
