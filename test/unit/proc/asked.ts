/** Who is asked whether something answers, and what comes of it: no program runs but `true` and `sleep`. */
import childProcess, { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

/** Time stands still, but for who waits in vain: so much at each look at the clock. */
export const WAITING_MS = 100;

interface Questions {
	/** The words of each question. */
	readonly asked: string[][];
	now_ms: number;
	/** Nobody answers from now on. */
	silence(): void;
	/** Who was asked has ended without an answer; from now on all answer. */
	speak(): Promise<void>;
}

/** Answers are remembered from test to test, for a while: each test is an hour later. */
let begun_ms = 1e9;

/** Until the test is over. */
export function questions(t: TestContext): Questions {
	const { spawn } = childProcess;
	const children: ChildProcess[] = [];
	let isSilent = false;
	begun_ms += 3_600_000;
	const end = async () => {
		for (const child of children.splice(0)) {
			const ended = once(child, 'exit');
			child.ref();
			child.kill('SIGKILL');
			await ended;
		}
	};
	const all: Questions = {
		asked: [],
		now_ms: begun_ms,
		silence: () => {
			isSilent = true;
		},
		speak: () => {
			isSilent = false;
			return end();
		},
	};
	const clock = t.mock.method(performance, 'now', () => {
		if (isSilent) all.now_ms += WAITING_MS;
		return all.now_ms;
	});
	const ask = (program: string, words: readonly string[], options: object) => {
		all.asked.push([program, ...words]);
		if (!isSilent) return spawn('true', [], options);
		const child = spawn('sleep', ['1000'], options);
		children.push(child);
		return child;
	};
	const spawning = t.mock.method(childProcess, 'spawn', ask as never);
	syncBuiltinESMExports();
	t.after(async () => {
		await end();
		spawning.mock.restore();
		clock.mock.restore();
		syncBuiltinESMExports();
	});
	return all;
}
