/** Keeps account of what has no name, for notices with shares. */
import type { Life } from './address-space.js';
import { type Runtime, runtimeOf } from './jit.js';
import type { MappedFile } from './mapped-file.js';
import type { Notice } from './notices.js';
import type { FileNames } from './object-file.js';
import { installCommand } from './packages.js';
import type { Place } from './place.js';
import type { ProcessHistory } from './processes.js';
import type { RawStack } from './stack.js';

/** Files and processes that get a notice: those with the greatest shares. */
const MAX_FILE_NOTICES = 3;
const MAX_PROCESS_NOTICES = 5;
/** What is smaller is not worth a line. */
const MIN_SHARE = 0.01;

/** What runs Python code; without a perf map its frames are all that is seen of it. */
const PYTHON_FRAME = '_PyEval_EvalFrameDefault';

interface FileAccount {
	readonly names: FileNames | undefined;
	value: number;
}

interface ProcessAccount {
	readonly pid: number;
	readonly at_ns: number;
	readonly runtime: Runtime;
	value: number;
}

export class Account {
	/** Some files or perf maps were not read, as others took too long. */
	ranOutOfTime = false;
	#total = 0;
	readonly #files = new Map<MappedFile, FileAccount>();
	readonly #processes = new Map<string, ProcessAccount | undefined>();
	/** Which processes have a perf map, and whether it was read in part only. */
	readonly #perfMaps = new Map<string, { readonly pid: number; readonly cut: boolean }>();

	constructor(private readonly history: ProcessHistory) {}

	addFile(file: MappedFile, names: FileNames | undefined): void {
		this.#files.set(file, { names, value: this.#files.get(file)?.value ?? 0 });
	}

	addPerfMap(life: Life, cut: boolean): void {
		this.#perfMaps.set(keyOf(life), { pid: life.pid, cut });
	}

	/** Takes a stack with what is known of its user frames. */
	add(stack: RawStack, user: readonly Place[]): void {
		this.#total += stack.value;
		const files = new Set<MappedFile>();
		let lacksPerfMap = false;
		for (const { lacks, file, frame } of user) {
			if (lacks === 'symbols' && file) files.add(file);
			lacksPerfMap ||= lacks === 'perf-map' || frame.name === PYTHON_FRAME;
		}
		for (const file of files) {
			const account = this.#files.get(file);
			if (account) account.value += stack.value;
		}
		if (lacksPerfMap) this.#addWithoutPerfMap(stack);
	}

	notices(): Notice[] {
		const dropped = this.history.dropped;
		return [
			...(this.ranOutOfTime ? [{ kind: 'out-of-time' } as const] : []),
			...this.#perfMapNotices(),
			...this.#fileNotices(),
			...(dropped > 0 ? [{ kind: 'records-dropped', count: dropped } as const] : []),
		];
	}

	#addWithoutPerfMap({ pid, at_ns, value }: RawStack): void {
		const space = this.history.at(pid, at_ns);
		if (!space) return;
		const key = keyOf(space.life);
		if (!this.#processes.has(key)) {
			const runtime = runtimeOf(space.paths());
			this.#processes.set(key, runtime && { pid, at_ns, runtime, value: 0 });
		}
		const account = this.#processes.get(key);
		if (account) account.value += value;
	}

	#perfMapNotices(): Notice[] {
		const missing = [...this.#processes]
			.flatMap(([key, account]) => (account && !this.#perfMaps.has(key) ? [account] : []))
			.filter(({ value }) => this.#share(value) >= MIN_SHARE)
			.sort((a, b) => b.value - a.value)
			.slice(0, MAX_PROCESS_NOTICES)
			.map(({ pid, at_ns, runtime, value }): Notice => {
				const comm = this.history.comm(pid, at_ns) ?? '';
				return { kind: 'perf-map-missing', runtime, pid, comm, share: this.#share(value) };
			});
		const cut = [...this.#perfMaps.values()]
			.filter((perfMap) => perfMap.cut)
			.map(({ pid }): Notice => {
				return { kind: 'perf-map-cut', pid, comm: this.history.comm(pid, Infinity) ?? '' };
			});
		return [...missing, ...cut];
	}

	#fileNotices(): Notice[] {
		return [...this.#files]
			.filter(([, { names, value }]) => !names?.complete && this.#share(value) >= MIN_SHARE)
			.sort(([, a], [, b]) => b.value - a.value)
			.slice(0, MAX_FILE_NOTICES)
			.map(([file, { names, value }]): Notice => {
				const { path } = file;
				return {
					kind: 'symbols-missing',
					path,
					reason: names ? 'stripped' : 'unreadable',
					buildId: names?.buildId,
					install: names && installCommand(path, file.roots()[0] ?? ''),
					share: this.#share(value),
				};
			});
	}

	#share(value: number): number {
		return this.#total > 0 ? value / this.#total : 0;
	}
}

/** The same for a life whatever is learnt of it later. */
function keyOf({ pid, since_ns }: Life): string {
	return `${pid} ${since_ns}`;
}
