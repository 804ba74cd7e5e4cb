/** Commands that benchmarks run: none outlives its time, nor us. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export type Command = readonly string[];

/** For a side whose children were killed to clean up after itself. */
const GRACE_MS = 5000;

const running = new Set<Child>();
process.once('exit', () => {
	for (const child of running) child.kill();
});

/** Signals end us by way of the above. Not `once`: a second one must not stop what cleans up. */
export function endOnSignals(): void {
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
		process.on(signal, () => process.exit(1));
}

/** A command ended as it should not. */
export class Failed extends Error {
	constructor(
		message: string,
		readonly status: number | null,
	) {
		super(message);
	}
}

export class Child {
	readonly process: ChildProcess;
	/** Its status, when it has ended and all that it wrote was read. */
	readonly closed: Promise<number | null>;

	constructor([file = '', ...args]: Command, stdio: StdioOptions, env = process.env) {
		this.process = spawn(file, args, { stdio, env, detached: true });
		running.add(this);
		this.closed = new Promise((resolve, reject) => {
			this.process.once('error', reject);
			this.process.once('close', resolve);
		});
		const forget = () => running.delete(this);
		this.closed.then(forget, forget);
	}

	get pid(): number {
		return this.process.pid ?? 0;
	}

	get hasEnded(): boolean {
		return this.process.exitCode !== null || this.process.signalCode !== null;
	}

	/** All of its group: strace and shells have children of their own, which would go on. */
	kill(): void {
		if (this.pid === 0) return;
		try {
			process.kill(-this.pid, 'SIGKILL');
		} catch {
			// It is gone already.
		}
	}

	/** Kills what is left of it, and waits until nothing is. */
	async end(): Promise<void> {
		this.kill();
		await this.closed.catch(() => undefined);
	}
}

/** Does `work`. If that fails, or takes more than the limit in seconds, what it started is killed. */
export async function withinLimit<T>(limit_s: number, work: () => Promise<T>): Promise<T> {
	const before = new Set(running);
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		const error = new Error(`did not end in time (${limit_s} s)`);
		timer = setTimeout(() => reject(error), limit_s * 1000);
	});
	const done = work();
	try {
		return await Promise.race([done, late]);
	} catch (error) {
		for (const child of running) if (!before.has(child)) child.kill();
		await Promise.race([done.catch(() => undefined), sleep(GRACE_MS, undefined, { ref: false })]);
		throw error;
	} finally {
		clearTimeout(timer);
	}
}
