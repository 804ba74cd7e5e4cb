/** Halves of maps: nobody writes to the one that is handed out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Window } from '../../../src/bpf/window.js';

/** Programs that read which half is current as they begin, and write to it as they end: after that, or much later. */
class Programs {
	current = 0;
	readonly written = [0, 0];
	#running: number[] = [];

	begin(): void {
		this.#running.push(this.current);
	}

	end(): void {
		for (const half of this.#running) this.written[half] = (this.written[half] ?? 0) + 1;
		this.#running = [];
	}

	setVariable(name: 'window', value: number): void {
		assert.equal(name, 'window');
		this.current = value;
		// Some begin in the same moment.
		this.begin();
	}

	/** As an RCU grace period does: those that had begun have ended when it returns. */
	waitForPrograms(): void {
		this.end();
	}
}

test('what began before a swap is in the half that is handed out, and nothing comes later', () => {
	const programs = new Programs();
	const window = new Window(programs);
	let read = 0;
	let begun = 0;
	for (let swap = 0; swap < 10; swap++) {
		for (let i = 0; i <= swap; i++) programs.begin();
		begun += swap + 1;
		const half = window.swap();
		assert.notEqual(half, programs.current, 'programs write to the other one');
		const there = programs.written[half] ?? 0;
		// Whoever runs now ends: too late for this half.
		programs.end();
		assert.equal(programs.written[half], there, 'it was still written to');
		read += there;
		programs.written[half] = 0;
		begun += 1;
	}
	assert.equal(read + (programs.written[programs.current] ?? 0), begun, 'all were read once');
});
