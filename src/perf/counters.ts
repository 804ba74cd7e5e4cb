/** Several events counted on several threads, on CPUs, or for a cgroup. Source: man 2 perf_event_open. */
import { uapi } from '../generated/uapi.js';
import { closeAll } from '../loader/close-all.js';
import type { Flag, PerfEventAttributes } from './attributes.js';
import { type Count, NOTHING, plus } from './count.js';
import { onlineCpus, PerCpuEvents } from './cpus.js';
import type { CountedEvent } from './event-list.js';
import { DUMMY } from './events.js';
import { openPerfEvent, type PerfEvent, PerfOpenError, type Target } from './open.js';

/** Whom to count. */
export interface Counted {
	/** The threads there are now; undefined: all that runs on the CPUs. */
	readonly threads?: () => readonly number[];
	/** Count also what these threads create. */
	readonly inherit?: boolean;
	/** Not from `enable` on, but from when they execute another program: as COMMAND is held by a shell. */
	readonly fromExec?: boolean;
	/** The descriptor of a cgroup's folder; not together with `threads`. */
	readonly cgroup?: number;
	/** Only on these CPUs; empty: on all. */
	readonly cpus: readonly number[];
	/** Another source of what is online. */
	readonly online?: () => readonly number[];
}

/** How often the threads are looked for until no new one comes while events are being opened. */
const MOST_LOOKS = 5;

interface BankOptions {
	readonly isThere?: (event: CountedEvent) => boolean | undefined;
	/** With what all events have counted until then. */
	readonly onClose?: (sums: readonly Count[]) => void;
}

export class Counters {
	readonly #events: readonly CountedEvent[];
	readonly #counted: Counted;
	/** Those that may not count in the kernel, and count in user space only. */
	readonly #userOnly = new Set<CountedEvent>();
	readonly #refusals = new Map<CountedEvent, PerfOpenError>();
	readonly #opened = new Set<CountedEvent>();
	#threads: Bank[] = [];
	/** What CPUs share. Should its CPU go offline, the kernel goes on counting on another one. */
	#shared: Bank[] = [];
	#cpus: PerCpuEvents<Bank> | undefined;
	/** What CPUs counted that have gone offline. */
	#gone: readonly Count[];
	#unsettled = 0;
	#enabled = false;

	/**
	 * Opens the events; they count from `enable` on. Throws PerfOpenError where this user may not count any,
	 * and where too many files are open; what the machine cannot count is in `refusal`.
	 */
	constructor(events: readonly CountedEvent[], counted: Counted) {
		this.#events = events;
		this.#counted = counted;
		this.#gone = events.map(() => NOTHING);
		try {
			if (counted.threads) this.#openOnThreads(counted.threads);
			else {
				const { cpus, online = onlineCpus } = counted;
				const choice = { ...(cpus.length > 0 && { cpus }), online };
				for (const cpu of online()) {
					if (cpus.length === 0 || cpus.includes(cpu)) this.#shareOn(cpu);
				}
				this.#cpus = new PerCpuEvents((cpu) => this.#onCpu(cpu), choice);
			}
		} catch (error) {
			this.close();
			throw error;
		}
	}

	/** Of threads or CPUs: how many there are events on. */
	get size(): number {
		return this.#cpus?.open.size ?? this.#threads.length;
	}

	/** Threads that came while events were being opened; what they do is not counted. */
	get unsettled(): number {
		return this.#unsettled;
	}

	/** Why it is counted nowhere; undefined: it is. */
	refusal(event: CountedEvent): PerfOpenError | undefined {
		return this.#opened.has(event) ? undefined : this.#refusals.get(event);
	}

	/** Whether it is counted at all: not if none of its CPUs is online. */
	isOpen(event: CountedEvent): boolean {
		return this.#opened.has(event);
	}

	/** Whether it is counted in user space only, as this user may not count in the kernel. */
	isUserOnly(event: CountedEvent): boolean {
		return this.#userOnly.has(event);
	}

	/** Counts from now on. */
	enable(): void {
		this.#enabled = true;
		if (this.#counted.fromExec) return;
		for (const bank of this.#banks()) bank.enable();
	}

	/** What each of the events has counted so far. */
	read(): readonly Count[] {
		return this.#banks().reduce((sums, bank) => bank.addTo(sums), this.#gone);
	}

	/** Follows CPUs that came online or went. To be called every second. */
	refresh(): void {
		this.#cpus?.refresh();
	}

	/** Twice is once. */
	close(): void {
		const banks = [...this.#threads.splice(0), ...this.#shared.splice(0)];
		closeAll([() => this.#cpus?.close(), ...banks.map((bank) => () => bank.close())]);
	}

	#banks(): Bank[] {
		return [...this.#threads, ...this.#shared, ...(this.#cpus?.open.values() ?? [])];
	}

	#shareOn(cpu: number): void {
		const isThere = ({ shared, onCpus }: CountedEvent) => shared && onCpus?.includes(cpu);
		if (!this.#events.some(isThere)) return;
		this.#shared.push(this.#open({ pid: -1, cpu }, { isThere }));
	}

	#onCpu(cpu: number): Bank {
		const { cgroup } = this.#counted;
		const target =
			cgroup === undefined ? { pid: -1, cpu } : { pid: cgroup, cpu, flags: uapi.FLAG_PID_CGROUP };
		const bank = this.#open(target, {
			isThere: ({ shared, onCpus }) => !shared && (onCpus?.includes(cpu) ?? true),
			onClose: (last) => {
				this.#gone = last;
			},
		});
		if (this.#enabled) bank.enable();
		return bank;
	}

	/**
	 * What a thread creates inherits its events, and a thread that is created while events are being opened may
	 * have inherited some, or none: nothing tells. So, where one has come, all begins anew.
	 */
	#openOnThreads(threads: () => readonly number[]): void {
		let there = threads();
		for (let look = 1; ; look++) {
			this.#openOn(there);
			const before = new Set(there);
			there = threads();
			const fresh = there.filter((tid) => !before.has(tid));
			if (fresh.length === 0 || !this.#counted.inherit) return;
			if (look === MOST_LOOKS) {
				this.#unsettled = fresh.length;
				return;
			}
			for (const bank of this.#threads.splice(0)) bank.close();
		}
	}

	#openOn(tids: readonly number[]): void {
		const { cpus } = this.#counted;
		for (const pid of tids) {
			for (const cpu of cpus.length > 0 ? cpus : [-1]) {
				try {
					this.#threads.push(this.#open({ pid, cpu }));
				} catch (error) {
					// It has ended meanwhile; the CPU is offline, so nothing runs there.
					if (!isOne(error, ['ESRCH', 'ENODEV'])) throw error;
				}
			}
		}
	}

	/** Opens those events that are there. Throws PerfOpenError for what stops all of them alike. */
	#open(target: Target, { isThere = () => true, onClose }: BankOptions = {}): Bank {
		const open: (PerfEvent | undefined)[] = [];
		const leaders = new Map<number, PerfEvent>();
		let clock: PerfEvent | undefined;
		try {
			// Of a thread on one CPU, "enabled" is whenever it runs; a dummy's "running" is when it runs there.
			if (target.pid >= 0 && target.cpu >= 0 && this.#counted.threads)
				clock = openPerfEvent(this.#attributes(THERE), target);
			for (const event of this.#events) {
				const { group } = event;
				const leader = group === undefined ? undefined : leaders.get(group);
				const opened = isThere(event) ? this.#tryOpen(event, { ...target, leader }) : undefined;
				open.push(opened);
				if (opened && group !== undefined && !leader) leaders.set(group, opened);
			}
		} catch (error) {
			for (const event of [clock, ...open]) event?.close();
			throw error;
		}
		return new Bank(open, clock, onClose && ((bank) => onClose(bank.addTo(this.#gone))));
	}

	/** Undefined where this event cannot be counted there; `denied`: why not in the kernel, too. */
	#tryOpen(event: CountedEvent, target: Target, denied?: PerfOpenError): PerfEvent | undefined {
		try {
			const opened = openPerfEvent(this.#attributes(event), target);
			this.#opened.add(event);
			return opened;
		} catch (error) {
			if (!(error instanceof PerfOpenError)) throw error;
			if (isOne(error, ['ESRCH', 'ENODEV', 'EMFILE', 'ENFILE'])) throw error;
			if (isOne(error, ['EACCES', 'EPERM']) && this.#retriesInUserSpace(event)) {
				this.#userOnly.add(event);
				return this.#tryOpen(event, target, error);
			}
			this.#refuse(event, error, denied);
			return undefined;
		}
	}

	#refuse(event: CountedEvent, error: PerfOpenError, denied: PerfOpenError | undefined): void {
		// What cannot tell user space from the kernel is counted in both, or not at all.
		const isWhole = denied !== undefined && error.errno === 'EINVAL';
		if (isWhole) this.#userOnly.delete(event);
		if (!this.#refusals.has(event)) this.#refusals.set(event, isWhole ? denied : error);
	}

	/** What happens in the kernel alone is then not counted at all, which would look like 0. */
	#retriesInUserSpace(event: CountedEvent): boolean {
		const { kernelOnly, shared = false, spaces } = event;
		return !kernelOnly && !shared && spaces.length === 0 && !this.#userOnly.has(event);
	}

	#attributes(event: CountedEvent): PerfEventAttributes {
		const { inherit, fromExec } = this.#counted;
		const flags: Flag[] = ['disabled'];
		if (inherit) flags.push('inherit');
		if (fromExec) flags.push('enable_on_exec');
		const spaces = this.#userOnly.has(event) ? (['user'] as const) : event.spaces;
		if (spaces.length > 0) {
			if (!spaces.includes('user')) flags.push('exclude_user');
			if (!spaces.includes('kernel')) flags.push('exclude_kernel');
			if (!spaces.includes('hypervisor')) flags.push('exclude_hv');
		}
		const { type, config, config1 = 0n, config2 = 0n } = event;
		return { type, config, config1, config2, readTimes: true, flags };
	}
}

const isOne = (error: unknown, names: readonly string[]): boolean =>
	error instanceof PerfOpenError && names.includes(error.errno);

/** Any user may open it; it counts nothing, and takes turns with nothing. */
const THERE: CountedEvent = {
	...DUMMY,
	name: 'dummy',
	text: 'dummy',
	spaces: ['user'],
	group: undefined,
	kernelOnly: false,
};

/** All events on one thread or CPU. */
class Bank {
	readonly #events: readonly (PerfEvent | undefined)[];
	readonly #clock: PerfEvent | undefined;
	readonly #onClose: ((bank: Bank) => void) | undefined;

	/** `clock` tells how long there was something to count, if not each event does; `onClose` may still read. */
	constructor(
		events: readonly (PerfEvent | undefined)[],
		clock: PerfEvent | undefined,
		onClose?: (bank: Bank) => void,
	) {
		this.#events = events;
		this.#clock = clock;
		this.#onClose = onClose;
	}

	enable(): void {
		for (const event of [this.#clock, ...this.#events]) event?.enable();
	}

	addTo(sums: readonly Count[]): readonly Count[] {
		// First: else an event that counts all the time would seem not to.
		const enabled_ns = this.#clock?.count().running_ns;
		return sums.map((sum, i) => {
			const count = this.#events[i]?.count();
			if (!count) return sum;
			return plus(sum, enabled_ns === undefined ? count : { ...count, enabled_ns });
		});
	}

	close(): void {
		const read = () => this.#onClose?.(this);
		closeAll([read, ...[this.#clock, ...this.#events].map((event) => () => event?.close())]);
	}
}
