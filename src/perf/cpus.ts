/** One of something on each CPU, as CPUs come and go. */

import { readFileSync } from 'node:fs';
import { closeAll } from '../loader/close-all.js';
import { PerfOpenError } from './open.js';

/** Documentation/admin-guide/cputopology.rst */
const ONLINE_PATH = '/sys/devices/system/cpu/online';

/** "0-3,8" as numbers. */
export function parseCpuList(text: string): number[] {
	const cpus: number[] = [];
	for (const range of text.trim().split(',')) {
		if (range === '') continue;
		const [first = 0, last = first] = range.split('-').map(Number);
		for (let cpu = first; cpu <= last; cpu++) cpus.push(cpu);
	}
	return cpus;
}

/** Kernel parameters isolcpus= and nohz_full=: Documentation/admin-guide/kernel-parameters.txt */
const QUIET_PATHS = ['/sys/devices/system/cpu/isolated', '/sys/devices/system/cpu/nohz_full'];

/** The CPUs that somebody keeps free of interruptions; none where the kernel has no such files. */
export function quietCpus(): number[] {
	const cpus = QUIET_PATHS.flatMap((path) => {
		try {
			const text = readFileSync(path, 'utf8');
			// Of none, nohz_full is "(null)".
			return text.startsWith('(') ? [] : parseCpuList(text);
		} catch {
			return [];
		}
	});
	return [...new Set(cpus)].sort((a, b) => a - b);
}

/** The CPUs that are online now. */
export function onlineCpus(): number[] {
	return parseCpuList(readFileSync(ONLINE_PATH, 'utf8'));
}

interface Closable {
	close(): void;
}

export interface CpuChoice {
	/** These only, as far as they are online; without it all that are. */
	readonly cpus?: readonly number[];
	/** Another source of what is online. */
	readonly online?: () => readonly number[];
}

/** Something that is open on each CPU that is online: an event, an event and its ring. */
export class PerCpuEvents<T extends Closable> {
	readonly #open: (cpu: number) => T;
	readonly #chosen: ReadonlySet<number> | undefined;
	readonly #online: () => readonly number[];
	readonly #byCpu = new Map<number, T>();

	/** Opens it on each; when one fails, the others are closed again, and its error is thrown. */
	constructor(open: (cpu: number) => T, { cpus, online = onlineCpus }: CpuChoice = {}) {
		this.#open = open;
		this.#chosen = cpus && new Set(cpus);
		this.#online = online;
		try {
			this.refresh();
		} catch (error) {
			this.close();
			throw error;
		}
	}

	/** By CPU. */
	get open(): ReadonlyMap<number, T> {
		return this.#byCpu;
	}

	/**
	 * Opens it on CPUs that came online since, closes it on those that went. To be called every
	 * second. Throws what the opening of one throws.
	 */
	refresh(): void {
		const online = new Set(this.#online());
		for (const cpu of [...this.#byCpu.keys()]) if (!online.has(cpu)) this.#close(cpu);
		for (const cpu of online) if (this.#wants(cpu)) this.#tryOpen(cpu);
	}

	/** Closes all. Twice is once. */
	close(): void {
		closeAll([...this.#byCpu.keys()].map((cpu) => () => this.#close(cpu)));
	}

	#wants(cpu: number): boolean {
		return !this.#byCpu.has(cpu) && (this.#chosen?.has(cpu) ?? true);
	}

	#tryOpen(cpu: number): void {
		try {
			this.#byCpu.set(cpu, this.#open(cpu));
		} catch (error) {
			// It went between our look and our call; the next refresh knows.
			if (!(error instanceof PerfOpenError && error.errno === 'ENODEV')) throw error;
		}
	}

	#close(cpu: number): void {
		const open = this.#byCpu.get(cpu);
		this.#byCpu.delete(cpu);
		open?.close();
	}
}
