/** Where faulthandler says that the threads of waiting.py are. */
import assert from 'node:assert/strict';
import type { Python } from './python.js';

/** Threads of waiting.py that nobody wakes. */
export const NEVER_WOKEN = ['by_executor', 'sleep_in_loop', 'wait_for_event'];
/** TIMES in waiting.py. */
export const TIMES = 20;

/** A function as faulthandler tells it, which knows no qualified names: its name, its file, the line where it is. */
export interface ToldFrame {
	readonly name: string;
	readonly file: string;
	readonly line: number;
}

/** What waiting.py says. By the names of its threads: their numbers, and by pthread_self() what faulthandler told. */
export async function toldBy(python: Python, word: 'stacks' | 'wake') {
	python.tell(word);
	const { numbers, told } = JSON.parse(await python.line()) as {
		numbers: Record<string, [number, number]>;
		told: string;
	};
	const stacks = new Map<number, ToldFrame[]>();
	for (const text of told.split('\n\n')) {
		const [, identity] = /hread (0x[0-9a-f]+) /.exec(text) ?? assert.fail(text);
		const frames = [...text.matchAll(/^ {2}File "(.+)", line (\d+) in (.+)$/gm)];
		stacks.set(
			Number(identity),
			frames.map(([, file = '', line, name = '']) => ({ name, file, line: Number(line) })),
		);
	}
	return Object.entries(numbers).map(([name, [tid, identity]]) => ({
		name,
		tid,
		frames: stacks.get(identity) ?? assert.fail(`${name}: ${told}`),
	}));
}
