/** What threads waited for, while tracing and at its end: for all tools of waits. */

import { remembered } from '../../aggregate/remembered.js';
import type { StackFindings, StackRow, Waker } from '../../aggregate/stack-rows.js';
import { waitKind } from '../../aggregate/wait-kinds.js';
import { fittingObjects, type MemoryPlace, type WaitObject } from '../../aggregate/wait-object.js';
import { blockedOf } from '../../aggregate/wait-parts.js';
import {
	type FoundLater,
	type GilPlace,
	isOfGil,
	type ObjectRecord,
	readObjects,
} from '../../bpf/objects/record.js';
import type { off_cpu as layout } from '../../generated/off_cpu.js';
import type { BpfObject } from '../../loader/object.js';
import type { ProcessWatch } from '../../symbolize/process-watch.js';
import { OtherEnds } from './ends.js';
import { LockOwners } from './lock-owners.js';

export class WaitObjects {
	readonly #object: BpfObject<typeof layout>;
	readonly #ends: OtherEnds;

	constructor(object: BpfObject<typeof layout>) {
		this.#object = object;
		this.#ends = new OtherEnds(object);
	}

	begin(): void {
		this.#ends.begin();
	}

	/** All objects, by the hash that stacks refer to them by. Tracing has ended. */
	async read(processes: ProcessWatch): Promise<Map<bigint, WaitObject>> {
		await this.#ends.end();
		const records = readObjects(this.#object);
		const places = new Map<ObjectRecord, MemoryPlace>();
		for (const record of records.values()) {
			const place = record.place();
			if (place) places.set(record, place);
		}
		const gils = distinctGils(records.values());
		const names = processes.memoryNames([...places.values()]);
		const holders: FoundLater['holders'] = (key, end) => this.#ends.holders(key, end);
		const owners = new LockOwners();
		const decoded = (record: ObjectRecord) => {
			const place = places.get(record);
			const own = record.gil();
			// Of waits that go on programs do not see that it is one.
			const gil = own ?? (place && gils.find((each) => isOfGil(place, each)));
			if (gil) {
				const owner = own && owners.lastOwnerOf(own);
				return record.decoded({ holders, inMemory: '', owner, gil });
			}
			if (!place) return record.decoded({ holders, inMemory: '', owner: undefined });
			const owner = owners.ownerOf(place.pid, place.address);
			return record.decoded({ holders, inMemory: names.get(place) ?? '', owner });
		};
		try {
			return new Map(Array.from(records, ([hash, record]) => [hash, decoded(record)]));
		} finally {
			owners.close();
		}
	}

	/** What the user should know. */
	notices(): string[] {
		return this.#ends.notices();
	}

	close(): void {
		this.#ends.close();
	}
}

/** Each once, whoever had it. */
function distinctGils(records: Iterable<ObjectRecord>): GilPlace[] {
	const gils = new Map<string, GilPlace>();
	for (const record of records) {
		const gil = record.gil();
		if (gil) gils.set(`${gil.pid} ${gil.address}`, gil);
	}
	return [...gils.values()];
}

/**
 * Without what the calls of threads were about, but not their waits, as the stacks show: rows, and the wakers behind
 * them.
 */
export function withFittingObjects(rows: readonly StackRow[]): StackRow[] {
	/** Undefined: it stays as it is, as most do. */
	const fitting = ({ frames, objects = [], waker }: StackRow | Waker): Waited | undefined => {
		const some = objects.length > 0 ? fittingObjects(waitKind(frames), objects) : [];
		const behind = waker && wakerOf(waker);
		if (some.length === objects.length && behind === waker) return undefined;
		return {
			...(some.length > 0 ? { objects: some } : {}),
			...(behind ? { waker: behind } : {}),
		};
	};
	// Rows share theirs.
	const wakerOf = remembered((waker: Waker): Waker => {
		const waited = fitting(waker);
		return waited ? { ...withoutWaited(waker), ...waited } : waker;
	});
	return rows.map((row) => {
		const waited = fitting(row);
		return waited ? { ...withoutWaited(row), ...waited } : row;
	});
}

type Waited = Pick<Waker, 'objects' | 'waker'>;

const withoutWaited = <Of extends Waited>({ objects: _, waker: __, ...rest }: Of) => rest;

/** For programs: with the kind of what is blocked. What could run, and waited for a CPU only, has no object. */
export function withKinds(findings: StackFindings): StackFindings {
	const withKind = ({ objects, ...row }: StackRow): StackRow =>
		blockedOf(row) === 0
			? row
			: { ...row, waitKind: waitKind(row.walked ?? row.frames), ...(objects ? { objects } : {}) };
	return { ...findings, stacks: findings.stacks.map(withKind) };
}
