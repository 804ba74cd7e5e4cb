/**
 * JavaScript whose functions say in their names what they are. Prints "ready PID PID"; runs, then waits, again and
 * again, until standard input ends.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

const { burnInCommonJs } = createRequire(import.meta.url)('./functions.cjs');
const cell = new Int32Array(new SharedArrayBuffer(4));
const numbers = Array.from({ length: 64 }, (_, i) => i);

class Chain {
	#times = 3;

	runMethod(ms) {
		return Chain.runStatic(ms, this.#times);
	}

	static runStatic(ms, times) {
		return new Chain().runLast(ms / times);
	}

	runLast(ms) {
		return runArrow(ms);
	}

	waitInMethod(ms) {
		waitHere(ms);
	}
}

const runArrow = (ms) =>
	numbers.slice(0, 3).map(function runInCallback() {
		return burnInModule(ms);
	});

function burnInModule(ms) {
	const end = performance.now() + ms;
	let sum = 0;
	while (performance.now() < end) for (let i = 0; i < 2000; i++) sum += Math.sqrt(i ^ sum);
	return sum;
}

function waitHere(ms) {
	Atomics.wait(cell, 0, 0, ms);
}

function waitForChild() {
	execFileSync('sleep', ['0.02']);
}

const handlers = {
	onTurn: () => {
		new Chain().runMethod(12);
		burnInCommonJs(12);
		new Chain().waitInMethod(15);
		readFileSync(new URL(import.meta.url));
	},
};

async function turnForever() {
	for (;;) {
		handlers.onTurn();
		waitForChild();
		await new Promise((resolve) => setImmediate(resolve));
	}
}

process.stdin.on('data', () => {}).on('end', () => process.exit());
new Worker(new URL('./thread.mjs', import.meta.url)).once('message', () => {
	process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
	turnForever();
});
