/** Processes with functions of JavaScript in their memory, whose stacks are met as a test says. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { FunctionMaps } from '../../../src/bpf/runtimes/functions.js';
import type { FunctionWord } from '../../../src/runtimes/runtime.js';
import { printAt } from '../../../src/runtimes/v8/frame.js';
import { Heap } from '../../../src/runtimes/v8/heap.js';
import type { V8File } from '../../../src/runtimes/v8/layout.js';
import { FunctionNames } from '../../../src/symbolize/function-names.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { FakeMemory, FUNCTION_FLAGS, LAYOUT } from '../runtimes/v8/memory.js';
import { optimisedCode, position, writeCall } from '../runtimes/v8/optimised.js';

/** Above the kernel's limit of 2^22. */
export const PID = 5_000_000;
export const NODE = { inode: 77, major: 8, minor: 1 };
export const CODE = { start: 1000, end: 2000 };
export const RUNTIME: V8File = {
	runtime: 'v8',
	version: '11.3.244',
	layout: {
		heap: LAYOUT,
		builtins: CODE,
		interpreter: CODE,
		resumes: [],
		wasm: undefined,
		loaded: [],
	},
	problem: undefined,
};

/** The memory of a process, and what was read there when. */
export class Pages extends FakeMemory {
	rests = 0;
	isGone = false;
	/** What it takes to read one function. */
	cost_ms = 0;
	readonly words = new Map<string, FunctionWord>();
	/** Names of functions that were read, in order. */
	readonly reads: string[] = [];

	constructor(readonly clock: { now_ms: number }) {
		super();
	}

	override read(address: number, length_bytes: number): DataView | undefined {
		if (this.isGone) return undefined;
		for (const [name, { place }] of this.words)
			if (place === address) {
				this.reads.push(name);
				this.clock.now_ms += this.cost_ms;
			}
		return super.read(address, length_bytes);
	}

	/** A function that is in it from now on. */
	function(name: string): FunctionWord {
		const scope = this.scope([FUNCTION_FLAGS, 0, 0, name, -1, '', 0, 5]);
		const place = this.shared(scope, this.script('/srv/a.js', this.string('x')));
		const print = printAt(new Heap(this, LAYOUT), place) ?? assert.fail();
		const word = { place, print, isCallers: false };
		this.words.set(name, word);
		return word;
	}

	forgets = 0;
	forget(): void {
		this.forgets++;
	}

	rest(): void {
		this.rests++;
	}
}

/** Processes with memory of their own, whose stacks are met as a test says. Time stands still by itself. */
/** `limits`: as FunctionNames has them. */
export function world(context: TestContext, runtime: V8File = RUNTIME, limits = {}) {
	const clock = { now_ms: 1000 };
	// mock.method would keep where each of a million calls came from.
	const { now } = performance;
	performance.now = () => clock.now_ms;
	context.after(() => {
		performance.now = now;
	});
	context.mock.timers.enable({ apis: ['setTimeout'] });
	const history = new ProcessHistory();
	const all = new Map<number, Pages>();
	const met: ReturnType<FunctionMaps['met']> = [];
	let onMet: () => Promise<void> = async () => {};
	const maps = {
		watch: (call: () => Promise<void>) => {
			onMet = call;
		},
		met: () => met.splice(0),
		runtimeIn: ({ inode }: { inode: bigint }) =>
			inode === BigInt(NODE.inode) ? runtime : undefined,
	};
	const names = new FunctionNames(maps, history, (pid) => all.get(pid) ?? assert.fail(), limits);
	let taken = 0;
	names.begin(() => taken++);
	const map = { ...NODE, start: 0x1000, end: 0x2000, fileOffset: 0, path: '/usr/bin/node' };
	return {
		names,
		clock,
		timesTaken: () => taken,
		begin(pid: number): Pages {
			const pages = new Pages(clock);
			all.set(pid, pages);
			history.add({ type: 'mmap', pid, tid: pid, time_ns: 10, ...map });
			return pages;
		},
		/** It runs another program from now on. */
		execute(pid: number): void {
			history.add({ type: 'comm', pid, tid: pid, time_ns: 20, comm: 'x', exec: true });
		},
		/** Of the child nothing can be read, as it has ended. */
		fork(parentPid: number, pid: number): void {
			const pages = new Pages(clock);
			pages.isGone = true;
			all.set(pid, pages);
			history.add({ type: 'fork', pid, tid: pid, parentPid, time_ns: 12 });
		},
		pagesOf: (pid: number) => all.get(pid) ?? assert.fail(),
		meet(words: readonly FunctionWord[], pid = PID, call?: number): void {
			const frames = words.map((word) => ({ word, call }));
			met.push({ pid, runtime, base: 0, frames, others: [] });
		},
		/** Code that no function was taken of. */
		meetAddresses(others: number[], pid = PID): void {
			met.push({ pid, runtime, base: 0, frames: [], others });
		},
		/** The ring has what was met. */
		tell: () => onMet(),
		pause: (ms: number) => context.mock.timers.tick(ms),
		withInlined(call: number, word: FunctionWord, pid = PID) {
			return names.withInlined(history.at(pid, 15) ?? assert.fail(), call, [word]);
		},
		nameOf(word: FunctionWord, { pid = PID, time_ns = 15 } = {}) {
			const name = this.functionOf(word, { pid, time_ns });
			return typeof name === 'string' ? name : name.name;
		},
		functionOf(word: FunctionWord, { pid = PID, time_ns = 15 } = {}) {
			return names.nameOf(history.at(pid, time_ns) ?? assert.fail(), word);
		},
	};
}

/** A function with one call, of a function that was put into it, and that one. */
export function inlinedIn(pages: Pages) {
	const [word, inlined] = [pages.function('outer'), pages.function('inner')];
	const start = optimisedCode(pages, {
		outer: word.place,
		functions: [inlined.place],
		count: 1,
		inlinings: [[position(0), 0]],
		entries: [[0x10, position(1)]],
		size_bytes: 0x100,
	});
	writeCall(pages, start + 0x20);
	return { word, inlined, call: start + 0x20 };
}
