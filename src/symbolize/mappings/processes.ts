/**
 * Which processes there were, and what they had mapped when: from /proc for those that ran at
 * the start, and from the records of perf events from then on.
 */

import { boundedName } from '../../bounded-names.js';
import type { MmapRecord, SidebandRecord } from '../../perf/records.js';
import { type MapsEntry, parseMaps } from '../../proc/maps.js';
import { exeOf, type ProcessFacts, readFacts, readMaps } from '../../proc/process-facts.js';
import { processIds } from '../../proc/threads.js';
import { AddressSpace, type Life, type Mapping, MappingIndex } from './address-space.js';
import { MappedFiles } from './mapped-files.js';

/** Mappings, starts and names in all, some 100 bytes each; a machine that compiles makes 10,000/s. */
const MAX_KEPT = 300_000;
/** When there are more, the processes that ended first are forgotten until it is this part of them. */
const KEPT_SHARE = 2 / 3;
/** Of one process; browsers have 2,000. */
const MAX_MAPPINGS = 16_384;
/** Forks of forks without exec, that is. */
const MAX_LINE = 100;

interface Start {
	readonly time_ns: number;
	/** Of a fork; undefined for exec, which begins with nothing. */
	readonly parentPid: number | undefined;
}

/** Everything known of one process number. */
interface Chronicle {
	mappings: Mapping[];
	starts: Start[];
	names: { readonly time_ns: number; readonly comm: string }[];
	facts: { readonly time_ns: number; readonly facts: ProcessFacts }[];
	/** It runs something else since facts were read. */
	factsDue: boolean;
	/** Undefined while it runs, as far as is known. */
	ended_ns: number | undefined;
	/** By time; undefined when something was added since. */
	lives: Life[] | undefined;
}

export class ProcessHistory {
	readonly #chronicles = new Map<number, Chronicle>();
	readonly #files = new MappedFiles();
	readonly #most: number;
	#kept = 0;
	/** Whether a process has ended since the last time some were forgotten. */
	#canForget = false;
	#dropped = 0;

	/** `most`: how many mappings, starts and names are kept. */
	constructor(most = MAX_KEPT) {
		this.#most = most;
	}

	/** Takes a record; of one CPU in the order of time, of several in any order. */
	add(record: SidebandRecord): void {
		const { time_ns } = record;
		switch (record.type) {
			case 'mmap':
				this.#addMapping(record.pid, time_ns, record);
				break;
			case 'comm':
				if (record.tid === record.pid) this.#addName(record.pid, time_ns, record.comm);
				if (record.exec) this.#addStart(record.pid, { time_ns, parentPid: undefined });
				break;
			case 'fork':
				// Threads share what there is.
				if (record.pid === record.parentPid) break;
				this.#addStart(record.pid, { time_ns, parentPid: record.parentPid });
				break;
			case 'exit':
				// The address space is left as it is: other threads' stacks may follow the first one's
				// end, and the next process of that number begins with a fork.
				if (record.tid === record.pid) this.#end(record.pid, time_ns);
				break;
		}
	}

	/**
	 * Reads what a running process has mapped, its user, name and program; nothing when it is gone.
	 * What is mapped from now on has to come from records.
	 */
	snapshot(pid: number): void {
		const time_ns = now_ns();
		const mapped = ProcessHistory.mapped(pid);
		if (!mapped) return;
		this.#addFacts(pid, time_ns);
		for (const entry of mapped) this.#addMapping(pid, time_ns, entry);
	}

	/** The code that a running process has mapped now; undefined when it is gone. */
	static mapped(pid: number): readonly MapsEntry[] | undefined {
		const text = readMaps(pid);
		return text ? parseMaps(text) : undefined;
	}

	/**
	 * Whether the history has all code that a process has mapped now, and its files; if not, a record of it was lost. What
	 * the process has unmapped since is not looked at.
	 */
	knows(pid: number, mapped: readonly MapsEntry[]): boolean {
		const space = this.at(pid, now_ns());
		return mapped.every(({ start, end, fileOffset, path }) => {
			const known = space?.find(start);
			if (!path.startsWith('/')) return !known?.file;
			const isSame = known?.path === path && known.start - known.fileOffset === start - fileOffset;
			return isSame && known.end >= end;
		});
	}

	/** Processes that run now and have a user side: kernel threads have not. */
	static pids(): number[] {
		return processIds().filter((pid) => exeOf(pid) !== '');
	}

	/** The address space that process `pid` had then; undefined when nothing is known of it. */
	at(pid: number, time_ns: number): AddressSpace | undefined {
		const line: { life: Life; until_ns: number }[] = [];
		let next: number | undefined = pid;
		let until_ns = time_ns;
		while (next !== undefined && line.length < MAX_LINE) {
			const life = this.#lifeAt(next, until_ns);
			if (!life) break;
			line.push({ life, until_ns });
			next = life.parentPid;
			until_ns = life.since_ns;
		}
		return line[0] && new AddressSpace(line[0].life, line);
	}

	/** What is known of the process at that time; of a running one, it is asked now if need be. */
	facts(pid: number, time_ns: number): ProcessFacts | undefined {
		const life = this.#lifeAt(pid, time_ns);
		const known = this.#chronicles.get(pid)?.facts ?? [];
		const find = () => known.findLast((each) => this.#lifeAt(pid, each.time_ns) === life);
		const found = find();
		if (found || !life) return found?.facts;
		// Where it is no longer the same process, what is learnt is of another life.
		this.#addFacts(pid, now_ns());
		return find()?.facts;
	}

	/** The name that the process had then, as far as it is known. */
	comm(pid: number, time_ns: number): string | undefined {
		const names = this.#chronicles.get(pid)?.names ?? [];
		// Earlier names are of an earlier program, or of another process that had the number.
		const since_ns = this.#lifeAt(pid, time_ns)?.since_ns ?? -Infinity;
		let latest: Chronicle['names'][number] | undefined;
		for (const name of names) {
			const isLater = name.time_ns >= (latest?.time_ns ?? since_ns);
			if (name.time_ns <= time_ns && isLater) latest = name;
		}
		return latest?.comm ?? this.facts(pid, time_ns)?.comm;
	}

	/** How many records and mappings were not kept, or not for long, as there were too many. */
	get dropped(): number {
		return this.#dropped;
	}

	/** Closes what is held open; names of files that are gone are not found any more. */
	close(): void {
		this.#files.close();
	}

	#addMapping(
		pid: number,
		time_ns: number,
		of: Omit<MmapRecord, 'type' | 'pid' | 'tid' | 'time_ns'>,
	) {
		const chronicle = this.#chronicle(pid);
		if (chronicle.mappings.length >= MAX_MAPPINGS) this.#keepLatest(chronicle);
		if (!this.#hasRoom()) return;
		const { start, end, fileOffset } = of;
		const file = this.#files.add(pid, time_ns, of);
		const path = file?.path ?? boundedName(of.path);
		chronicle.mappings.push({ time_ns, start, end, fileOffset, path, file });
		chronicle.lives = undefined;
		// Code made at run time: whose it is matters when the process is gone, too.
		if (!file && chronicle.factsDue) this.#addFacts(pid, now_ns());
	}

	/** One process that maps and unmaps code all the time must not crowd out all others. */
	#keepLatest(chronicle: Chronicle): void {
		const dropped = chronicle.mappings.splice(0, MAX_MAPPINGS / 2);
		this.#forgetFiles(dropped);
		this.#kept -= dropped.length;
		this.#dropped += dropped.length;
	}

	/** Of mappings that are not remembered any more. */
	#forgetFiles(mappings: readonly Mapping[]): void {
		for (const { file } of mappings) {
			if (file) this.#files.release(file);
		}
	}

	#addStart(pid: number, start: Start): void {
		if (!this.#hasRoom()) return;
		const chronicle = this.#chronicle(pid);
		chronicle.starts.push(start);
		chronicle.factsDue = true;
		chronicle.ended_ns = undefined;
		chronicle.lives = undefined;
	}

	#end(pid: number, time_ns: number): void {
		const chronicle = this.#chronicles.get(pid);
		if (!chronicle) return;
		chronicle.ended_ns = time_ns;
		this.#canForget = true;
	}

	#addName(pid: number, time_ns: number, comm: string): void {
		if (!this.#hasRoom()) return;
		this.#chronicle(pid).names.push({ time_ns, comm: boundedName(comm) });
	}

	#addFacts(pid: number, time_ns: number): void {
		const chronicle = this.#chronicle(pid);
		chronicle.factsDue = false;
		const facts = readFacts(pid);
		if (facts) chronicle.facts.push({ time_ns, facts });
	}

	/** For one thing more, which is counted as kept or as dropped. */
	#hasRoom(): boolean {
		if (this.#kept >= this.#most && this.#canForget) this.#forgetEnded();
		const hasRoom = this.#kept < this.#most;
		if (hasRoom) this.#kept++;
		else this.#dropped++;
		return hasRoom;
	}

	#forgetEnded(): void {
		// To look again before another one has ended would take long, each time, and find nothing.
		this.#canForget = false;
		const ended = [...this.#chronicles]
			.filter(([, { ended_ns }]) => ended_ns !== undefined)
			.sort(([, a], [, b]) => (a.ended_ns ?? 0) - (b.ended_ns ?? 0));
		for (const [pid, { mappings, starts, names }] of ended) {
			if (this.#kept <= KEPT_SHARE * this.#most) return;
			this.#chronicles.delete(pid);
			this.#forgetFiles(mappings);
			const count = mappings.length + starts.length + names.length;
			this.#kept -= count;
			this.#dropped += count;
		}
	}

	#chronicle(pid: number): Chronicle {
		let chronicle = this.#chronicles.get(pid);
		if (!chronicle) {
			chronicle = {
				mappings: [],
				starts: [],
				names: [],
				facts: [],
				factsDue: true,
				ended_ns: undefined,
				lives: undefined,
			};
			this.#chronicles.set(pid, chronicle);
		}
		return chronicle;
	}

	#lifeAt(pid: number, time_ns: number): Life | undefined {
		const chronicle = this.#chronicles.get(pid);
		if (!chronicle) return undefined;
		chronicle.lives ??= livesOf(pid, chronicle);
		return chronicle.lives.findLast(({ since_ns }) => since_ns <= time_ns);
	}
}

/** Sorts out which mapping belongs to which life of a process number. */
function livesOf(pid: number, { mappings, starts }: Chronicle): Life[] {
	const byTime = mappings.toSorted((a, b) => a.time_ns - b.time_ns);
	const begins = [
		{ time_ns: -Infinity, parentPid: undefined },
		...starts.toSorted((a, b) => a.time_ns - b.time_ns),
	];
	let from = 0;
	return begins.map(({ time_ns, parentPid }, i) => {
		const until_ns = begins[i + 1]?.time_ns ?? Infinity;
		let to = from;
		while (to < byTime.length && (byTime[to] as Mapping).time_ns < until_ns) to++;
		const index = new MappingIndex(byTime.slice(from, to));
		from = to;
		return { pid, since_ns: time_ns, index, parentPid };
	});
}

/** CLOCK_MONOTONIC, like the records. */
function now_ns(): number {
	return Number(process.hrtime.bigint());
}
