/** The thread that reads unwind tables, as the one that traces sees it. */
import { readlinkSync } from 'node:fs';
import {
	MessageChannel,
	type MessagePort,
	receiveMessageOnPort,
	Worker,
} from 'node:worker_threads';
import { type FileIdentity, fileName } from '../../bpf/unwind/tables.js';
import type { TableAnswer, TableOrder, WorkerData } from './table-orders.js';

/** Beside the bundle: src/symbolize/walks/table-worker.ts. */
const WORKER = new URL('table-worker.cjs', import.meta.url);
/** Orders without an answer. If a file hangs, no more than these are kept. */
const MAX_OPEN = 4096;

/** A file that takes longer is on a file system that does not answer. */
const STUCK_MS = 5000;
/** Of the thread, whose short-lived objects are small; node would take 48 MB. */
const maxYoungGenerationSizeMb = 2;

interface OpenOrder {
	readonly file: FileIdentity;
	readonly path: string | undefined;
}

/** Gets the answer to an order. */
type OnAnswer = (file: FileIdentity, answer: TableAnswer) => void;

export class TableReader {
	readonly #worker: Worker;
	readonly #port: MessagePort;
	readonly #onAnswer: OnAnswer;
	readonly #answers = new Int32Array(new SharedArrayBuffer(4));
	/** What was ordered, by name. */
	readonly #open = new Map<string, OpenOrder>();
	/** When the thread last came to the next order. */
	#next_ms = 0;
	#problem: string | undefined;

	constructor(onAnswer: OnAnswer) {
		const { port1, port2 } = new MessageChannel();
		const workerData: WorkerData = { answers: this.#answers, port: port2 };
		this.#onAnswer = onAnswer;
		this.#port = port1;
		const options = { workerData, transferList: [port2], execArgv: [] };
		this.#worker = new Worker(WORKER, { ...options, resourceLimits: { maxYoungGenerationSizeMb } });
		this.#worker.on('error', (error) => {
			this.#problem = error.message;
			this.#open.clear();
		});
		this.#port.on('message', (answer: TableAnswer) => this.#take(answer));
		// A run does not last longer for it.
		this.#worker.unref();
		this.#port.unref();
	}

	/** Why answers do not come; undefined: they do. */
	get problem(): string | undefined {
		const [stuck] = this.#open.values();
		if (this.#problem !== undefined || !stuck) return this.#problem;
		if (performance.now() - this.#next_ms < STUCK_MS) return undefined;
		return `a file takes longer than ${STUCK_MS / 1000} s, and others wait for it: ${nameOf(stuck)}`;
	}

	/** Whether all that was ordered is answered. */
	get isIdle(): boolean {
		return this.#open.size === 0;
	}

	/** Has a table read, and its answer come; false: not now. */
	order(file: FileIdentity, path: string | undefined): boolean {
		if (this.#problem !== undefined || this.#open.size >= MAX_OPEN) return false;
		const { inode, changed_ns } = file;
		const name = fileName(file);
		const before = this.#open.get(name);
		// Another version, or another file of the same name: first one, then the other.
		if (before && before.file.changed_ns !== 0n && before.file.changed_ns !== changed_ns)
			return false;
		if (this.#open.size === 0) this.#next_ms = performance.now();
		// Who has met the file knows when it was changed.
		this.#open.set(name, { path, ...before, file });
		const order: TableOrder = { name, path, inode, changed_ns };
		if (!before) this.#port.postMessage(order);
		return true;
	}

	/** Waits until all orders so far are answered, or that long; nothing else runs meanwhile. */
	wait(limit_ms: number): void {
		const until_ms = performance.now() + limit_ms;
		while (this.#open.size > 0) {
			const seen = Atomics.load(this.#answers, 0);
			for (let got = this.#receive(); got; got = this.#receive()) this.#take(got);
			const left_ms = until_ms - performance.now();
			if (this.#open.size === 0 || left_ms <= 0) return;
			Atomics.wait(this.#answers, 0, seen, left_ms);
		}
	}

	/**
	 * The thread ends when it has done what it is at; what it has not answered stays without an answer. tstrace itself
	 * does not wait for it (exitAtOnce): somebody's file system may keep it waiting.
	 */
	close(): void {
		this.#port.close();
		this.#open.clear();
	}

	#receive(): TableAnswer | undefined {
		return receiveMessageOnPort(this.#port)?.message;
	}

	#take(answer: TableAnswer): void {
		const order = this.#open.get(answer.name);
		this.#open.delete(answer.name);
		this.#next_ms = performance.now();
		if (order) this.#onAnswer(order.file, answer);
	}
}

/** What /proc/PID/map_files calls it, which asks no file system. */
function nameOf({ path = '[vdso]' }: OpenOrder): string {
	try {
		return readlinkSync(path);
	} catch {
		return path;
	}
}
