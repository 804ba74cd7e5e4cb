/** Keeps account of what has no name, for notices with shares. */

import { MIN_SHARE } from '../aggregate/cut-notices.js';
import { type CapturedStack, stackValue } from '../aggregate/stack.js';
import type { RuntimeFile } from '../runtimes/recognise.js';
import type { Place } from './code-place.js';
import type { Life } from './mappings/address-space.js';
import type { MappedFile } from './mappings/mapped-file.js';
import type { ProcessHistory } from './mappings/processes.js';
import type { DebuginfodUse, Notice } from './notices.js';
import { type Runtime, runtimeOf } from './symbols/jit.js';
import type { FileNames } from './symbols/object-file.js';
import { installCommands } from './symbols/packages.js';
import type { Runtimes } from './walks/sleeping-stacks.js';

/** Files and processes that get a notice: those with the greatest shares. */
const MAX_FILE_NOTICES = 3;
const MAX_PROCESS_NOTICES = 5;

/** What runs Python code; without a perf map its frames are all that is seen of it. */
const PYTHON_FRAME = '_PyEval_EvalFrameDefault';

/** More than are in the notices of any one result; a trace of days meets ever new files and processes. */
const MAX_KEPT = 16_384;

interface FileAccount {
	/** Undefined: it cannot be read. */
	readonly symbols: Pick<FileNames, 'complete' | 'buildId'> | undefined;
	value: number;
}

interface ProcessAccount {
	readonly pid: number;
	readonly at_ns: number;
	/** Undefined for one that is not known. */
	readonly runtime: Runtime | undefined;
	/** What has frames that a perf map could name, if there were one. */
	value: number;
	/** What has frames that are not in the perf map that there is. */
	incomplete: number;
	/** What has functions of a runtime's that could not be read. */
	unread: number;
	/** The runtime in it whose functions walks take, or would. */
	readonly file: RuntimeFile | undefined;
}

export class Account {
	/** Some files or perf maps were not read, as others took too long. */
	ranOutOfTime = false;
	#total = 0;
	readonly #files = new Map<MappedFile, FileAccount>();
	readonly #processes = new Map<string, ProcessAccount>();
	/** Which processes have a perf map, and whether it was read in part only. */
	readonly #perfMaps = new Map<string, { readonly pid: number; readonly cut: boolean }>();

	constructor(
		private readonly history: ProcessHistory,
		private readonly debuginfod: DebuginfodUse,
		private readonly functions?: Pick<Runtimes, 'runtimeOf'>,
	) {}

	addFile(file: MappedFile, names: FileNames | undefined): void {
		const symbols = names && { complete: names.complete, buildId: names.buildId };
		this.#files.set(file, { symbols, value: this.#files.get(file)?.value ?? 0 });
		keepLargest(this.#files, ({ value }) => value);
	}

	has(file: MappedFile): boolean {
		return this.#files.has(file);
	}

	/** The build-id of a file that has no table of all its symbols. */
	lackingBuildId(file: MappedFile): string | undefined {
		const symbols = this.#files.get(file)?.symbols;
		return symbols?.complete === false ? symbols.buildId : undefined;
	}

	addPerfMap(life: Life, cut: boolean): void {
		this.#perfMaps.set(keyOf(life), { pid: life.pid, cut });
		keepLargest(this.#perfMaps, () => 0);
	}

	/** Takes a stack with what is known of its user frames. `isUnread`: of a function of a runtime's nothing is. */
	add(stack: CapturedStack, user: readonly Place[], isUnread = false): void {
		const value = stackValue(stack);
		this.#total += value;
		const lacking = user.filter(({ lacks }) => lacks !== undefined);
		for (const file of filesLackingNames(lacking)) {
			const account = this.#files.get(file);
			if (account) account.value += value;
		}
		this.#addPerfMapLacks(stack, user);
		const process = isUnread ? this.#processOf(stack) : undefined;
		if (process) process.unread += value;
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

	#addPerfMapLacks(stack: CapturedStack, user: readonly Place[]): void {
		let [lacksMap, lacksLine] = [false, false];
		for (const { lacks, frame } of user) {
			lacksMap ||= lacks === 'perf-map' || frame.name === PYTHON_FRAME;
			lacksLine ||= lacks === 'perf-map-line';
		}
		const account = lacksMap || lacksLine ? this.#processOf(stack) : undefined;
		if (account && lacksMap) account.value += stackValue(stack);
		if (account && lacksLine) account.incomplete += stackValue(stack);
	}

	#processOf({ pid, at_ns }: CapturedStack): ProcessAccount | undefined {
		const space = this.history.at(pid, at_ns);
		if (!space) return undefined;
		const key = keyOf(space.life);
		let account = this.#processes.get(key);
		if (!account) {
			const runtime = runtimeOf(space.paths());
			const file = this.functions?.runtimeOf(space);
			account = { pid, at_ns, runtime, file, value: 0, incomplete: 0, unread: 0 };
			keepLargest(this.#processes, ({ value, incomplete, unread }) =>
				Math.max(value, incomplete, unread),
			);
			this.#processes.set(key, account);
		}
		return account;
	}

	#perfMapNotices(): Notice[] {
		const largest = (all: ProcessAccount[], amountIn: (of: ProcessAccount) => number) =>
			all
				.filter((each) => amountIn(each) > 0 && this.#share(amountIn(each)) >= MIN_SHARE)
				.sort((a, b) => amountIn(b) - amountIn(a))
				.slice(0, MAX_PROCESS_NOTICES)
				.map((each) => {
					const { pid, at_ns, runtime, file } = each;
					const comm = this.history.comm(pid, at_ns) ?? '';
					return { runtime, file, pid, comm, share: this.#share(amountIn(each)) };
				});
		const without = [...this.#processes].flatMap(([key, account]) =>
			// What is left without a name where functions are read is no function.
			account.runtime && !account.file?.layout && !this.#perfMaps.has(key) ? [account] : [],
		);
		const missing = largest(without, ({ value }) => value).flatMap(
			({ runtime, file, ...of }): Notice[] => {
				if (!runtime) return [];
				if (!file?.problem) return [{ kind: 'perf-map-missing', runtime, ...of }];
				if (file.problem === 'unwanted') return [];
				const { runtime: which, version, problem } = file;
				return [{ kind: 'runtime-unknown', runtime: which, version, problem, ...of }];
			},
		);
		const all = [...this.#processes.values()];
		const incomplete = largest(all, (of) => of.incomplete).map(
			({ file, ...of }): Notice => ({ kind: 'perf-map-incomplete', ...of }),
		);
		const cut = [...this.#perfMaps.values()]
			.filter((perfMap) => perfMap.cut)
			.map(({ pid }): Notice => {
				return { kind: 'perf-map-cut', pid, comm: this.history.comm(pid, Infinity) ?? '' };
			});
		const unread = largest(all, (of) => of.unread).map(({ runtime, file, ...of }): Notice => {
			const language = file?.runtime === 'python' ? 'Python' : 'JavaScript';
			return { kind: 'functions-unread', language, ...of };
		});
		return [...missing, ...unread, ...incomplete, ...cut];
	}

	#fileNotices(): Notice[] {
		const largest = [...this.#files]
			.filter(([, { symbols, value }]) => !symbols?.complete && this.#share(value) >= MIN_SHARE)
			.sort(([, a], [, b]) => b.value - a.value)
			.slice(0, MAX_FILE_NOTICES);
		const readable = largest.filter(([, { symbols }]) => symbols).map(([file]) => file);
		const commands = installCommands(
			readable.map((file) => ({ path: file.path, root: file.roots()[0] ?? '' })),
		);
		const installs = new Map(readable.map((file, i) => [file, commands[i]]));
		return largest.map(
			([file, { symbols, value }]): Notice => ({
				kind: 'symbols-missing',
				path: file.path,
				reason: symbols ? 'stripped' : 'unreadable',
				buildId: symbols?.buildId,
				install: installs.get(file),
				debuginfod: this.debuginfod,
				share: this.#share(value),
			}),
		);
	}

	#share(value: number): number {
		return this.#total > 0 ? value / this.#total : 0;
	}
}

/** Of too many, forgets the half with the least values; of the same, those that came first. */
function keepLargest<K, V>(all: Map<K, V>, amountIn: (of: V) => number): void {
	if (all.size <= MAX_KEPT) return;
	const byValue = [...all].sort(([, a], [, b]) => amountIn(a) - amountIn(b));
	for (const [key] of byValue.slice(0, MAX_KEPT / 2)) all.delete(key);
}

/** Files that these frames are in, where their symbols lack some of them. */
export function filesLackingNames(user: readonly Place[]): Set<MappedFile> {
	return new Set(user.flatMap(({ lacks, file }) => (lacks === 'symbols' && file ? [file] : [])));
}

/** The same for a life whatever is learnt of it later. */
function keyOf({ pid, since_ns }: Life): string {
	return `${pid} ${since_ns}`;
}
