/** Reads functions of runtimes in the memory of processes, as it is now. */
import type { RuntimeFile } from '../runtimes/recognise.js';
import type { FunctionReader, FunctionWord } from '../runtimes/runtime.js';
import type { FunctionName, Named } from './kept-names.js';
import type { ProcessHistory } from './mappings/processes.js';
import { lifeKey, type MetRuntimes } from './met-runtimes.js';
import { OpenProcesses, type Pages } from './open-processes.js';

/** What was read before may have changed. */
const VALID_MS = 5;

export class FunctionMemory {
	readonly #history: Pick<ProcessHistory, 'at'>;
	readonly #met: MetRuntimes;
	readonly #open: OpenProcesses;
	#fresh_ms = -Infinity;

	/** `pagesOf`: the memory of a process. */
	constructor(
		history: Pick<ProcessHistory, 'at'>,
		met: MetRuntimes,
		pagesOf?: (pid: number) => Pages,
	) {
		this.#history = history;
		this.#met = met;
		this.#open = new OpenProcesses(pagesOf);
	}

	/** Which of its programs a process runs now. */
	lifeOf(pid: number): string {
		const space = this.#spaceOf(pid);
		return space ? lifeKey(space.life) : `${pid} ${-Infinity}`;
	}

	/** 'unread', too, if the process runs another program by now: of the one before nothing can be read. */
	nameOf(pid: number, life: string, runtime: RuntimeFile, of: Named): FunctionName {
		if (life !== this.lifeOf(pid)) return 'unread';
		const reader = this.#readerOf(pid, life, runtime);
		const name = typeof of === 'number' ? reader?.madeAt?.(of) : reader?.functionAt(of);
		return name ?? 'unread';
	}

	/** Functions in the code of another one, as FunctionReader. */
	inlinedAt(
		pid: number,
		life: string,
		runtime: RuntimeFile,
		word: FunctionWord,
		call: number,
	): readonly FunctionWord[] | undefined {
		if (life !== this.lifeOf(pid)) return undefined;
		return this.#readerOf(pid, life, runtime)?.inlinedAt?.(call, word);
	}

	/** Reads anew from now on. */
	forget(): void {
		this.#open.forget();
		this.#fresh_ms = performance.now();
	}

	/** As `forget`, every few milliseconds: what a collector moves is not to be put together from different times. */
	refresh(): void {
		if (performance.now() - this.#fresh_ms >= VALID_MS) this.forget();
	}

	/** Holds no process's memory open. */
	rest(): void {
		this.#open.rest();
	}

	close(): void {
		this.#open.close();
	}

	#readerOf(pid: number, life: string, runtime: RuntimeFile): FunctionReader | undefined {
		// What it has mapped may be read after the first names are asked for.
		const space = this.#spaceOf(pid);
		const base = space ? this.#met.codeBaseOf(space, runtime) : 0;
		return this.#open.reader(pid, life, runtime, base, (offset, length_bytes) => {
			const now = this.#spaceOf(pid);
			return now && this.#met.fileOf(now, runtime)?.part(offset, length_bytes);
		});
	}

	#spaceOf(pid: number) {
		return this.#history.at(pid, Number(process.hrtime.bigint()));
	}
}
