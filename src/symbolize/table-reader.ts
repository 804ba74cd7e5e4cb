/** The thread that reads unwind tables, as the one that traces sees it. */
import {
	MessageChannel,
	type MessagePort,
	receiveMessageOnPort,
	Worker,
} from 'node:worker_threads';
import { type FileIdentity, fileName } from '../bpf/unwind.js';
import type { TableAnswer, TableOrder, WorkerData } from './table-orders.js';

/** Beside the bundle: src/symbolize/table-worker.ts. */
const WORKER = new URL('table-worker.cjs', import.meta.url);
/** Orders without an answer. If a file hangs, no more than these are kept. */
const MAX_OPEN = 4096;

/** Gets the answer to an order. */
type OnAnswer = (file: FileIdentity, answer: TableAnswer) => void;

export class TableReader {
	readonly #worker: Worker;
	readonly #port: MessagePort;
	readonly #onAnswer: OnAnswer;
	readonly #answers = new Int32Array(new SharedArrayBuffer(4));
	/** What was ordered, by name. */
	readonly #open = new Map<string, FileIdentity>();
	#problem: string | undefined;

	constructor(onAnswer: OnAnswer) {
		const { port1, port2 } = new MessageChannel();
		const workerData: WorkerData = { answers: this.#answers, port: port2 };
		this.#onAnswer = onAnswer;
		this.#port = port1;
		this.#worker = new Worker(WORKER, { workerData, transferList: [port2], execArgv: [] });
		this.#worker.on('error', (error) => {
			this.#problem = error.message;
			this.#open.clear();
		});
		this.#port.on('message', (answer: TableAnswer) => this.#take(answer));
		// A run does not last longer for it.
		this.#worker.unref();
		this.#port.unref();
	}

	/** What ended the thread before its time; undefined: nothing did. */
	get problem(): string | undefined {
		return this.#problem;
	}

	/** Has a table read, and its answer come; false: there are too many orders, or the thread has failed. */
	order(file: FileIdentity, path: string | undefined, version: string): boolean {
		if (this.#problem !== undefined || this.#open.size >= MAX_OPEN) return false;
		const { inode, changed_ns } = file;
		const name = fileName(file);
		const isOrdered = this.#open.has(name);
		// Who asks later knows better when it was changed.
		this.#open.set(name, file);
		const order: TableOrder = { name, path, inode, changed_ns, version };
		if (!isOrdered) this.#port.postMessage(order);
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
		const file = this.#open.get(answer.name);
		this.#open.delete(answer.name);
		if (file) this.#onAnswer(file, answer);
	}
}
