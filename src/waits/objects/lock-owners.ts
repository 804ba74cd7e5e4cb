/** Which thread has the lock that others wait for: glibc keeps the number of that thread in a mutex. */
import { readFileSync } from 'node:fs';
import type { LockOwner } from '../../aggregate/wait-object.js';
import { boundedName } from '../../bounded-names.js';
import type { GilPlace } from '../../bpf/objects/record.js';
import { readFacts } from '../../proc/process-facts.js';
import { ProcessMemory } from '../../symbolize/mappings/process-memory.js';

/**
 * glibc, sysdeps/nptl/bits/struct_mutex.h, struct __pthread_mutex_s: int __lock, unsigned __count, int __owner; the
 * same on x86-64 and arm64. A thread waits at the address of __lock.
 */
const OWNER_AT = 8;
const READ_BYTES = 12;
/** nptl/lowlevellock.h: it is locked, and others wait. */
const LOCKED_WITH_WAITERS = 2;
/** Of all locks together. */
const TIME_LIMIT_MS = 500;

/** Looks now, so that an owner may have changed since somebody began to wait; one look for each process's memory. */
export class LockOwners {
	readonly #memories = new Map<number, ProcessMemory | undefined>();
	readonly #ourNumbers = new Map<number, boolean>();
	readonly #until_ms = performance.now() + TIME_LIMIT_MS;

	/** Who has the mutex at an address of a process; undefined: nobody, it is no mutex of glibc's, or it cannot be told. */
	ownerOf(pid: number, address: number): LockOwner | undefined {
		if (performance.now() > this.#until_ms) return undefined;
		const mutex = this.#memoryOf(pid)?.readWritten(address, READ_BYTES);
		if (!mutex || mutex.getInt32(0, true) !== LOCKED_WITH_WAITERS) return undefined;
		const tid = mutex.getInt32(OWNER_AT, true);
		// Of anything but a mutex this is no thread of the same process.
		const comm = tid > 0 ? commOf(pid, tid) : undefined;
		return comm === undefined ? undefined : { tid, comm };
	}

	/** The thread that had a GIL when others waited for it; undefined: it cannot be told. */
	lastOwnerOf({ pid, holder: tid, isHolderOurs }: GilPlace): LockOwner | undefined {
		if (tid === 0 || !(isHolderOurs || this.#isOurNumber(pid))) return undefined;
		// Whatever the time is: there are few of them (MOST_GIL_HOLDERS), and to read a name waits for nobody.
		const comm = commOf(pid, tid);
		if (comm !== undefined) return { tid, comm };
		return isHolderOurs ? { tid } : undefined;
	}

	close(): void {
		for (const memory of this.#memories.values()) memory?.close();
		this.#memories.clear();
	}

	#memoryOf(pid: number): ProcessMemory | undefined {
		if (!this.#memories.has(pid))
			this.#memories.set(pid, this.#isOurNumber(pid) ? new ProcessMemory(pid) : undefined);
		return this.#memories.get(pid);
	}

	/** In another PID namespace threads have other numbers. */
	#isOurNumber(pid: number): boolean {
		const known = this.#ourNumbers.get(pid) ?? readFacts(pid)?.nspid === pid;
		this.#ourNumbers.set(pid, known);
		return known;
	}
}

function commOf(pid: number, tid: number): string | undefined {
	try {
		return boundedName(readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8').replace(/\n$/, ''));
	} catch {
		return undefined;
	}
}
