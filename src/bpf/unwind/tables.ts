/** Unwind tables in the kernel: user space's side of bpf/lib/unwind/tables.h. */

import {
	unwind_file as FILE,
	unwind_file_key as FILE_KEY,
	unwind_request as REQUEST,
	unwind_file_state as STATE,
	unwind_constant as UNWIND,
} from '../../generated/common.js';
import { readU64 } from '../../loader/layout.js';
import { pageSizeBytes } from '../../loader/memory.js';
import type { BpfObject } from '../../loader/object.js';
import { RingBuffer } from '../../loader/ringbuf.js';
import type { PackedTable } from '../../unwind/packed-table.js';
import { TableMemory, type TablePlace, type UnwoundLayout } from './table-memory.js';

/** The same in all objects that include lib/unwind/tables.h. */
const SECOND_NS = 1_000_000_000n;
/** When there is no room, so many files are forgotten at a time: one in eight. */
const FORGOTTEN_SHARE = 8;
/** Beside those that programs have just asked for. */
const MOST_FILES = 0.75 * UNWIND.UNWIND_MAX_FILES;

/** Which file it is, as the kernel tells files apart; `changed_ns`: when it was changed last, 0 if nobody knows. */
export interface FileIdentity {
	readonly inode: bigint;
	/** As the kernel numbers devices: 12 bits, 20 bits. */
	readonly device: number;
	readonly changed_ns: bigint;
}

/** A file whose table a program has asked for. */
interface TableRequest extends FileIdentity {
	/** Whose mapping it is; 0: it cannot be seen from our PID namespace. */
	readonly pid: number;
	readonly start: number;
	readonly end: number;
}

/** Tells files apart; on btrfs several may have the same name. */
export function fileName({ inode, device }: Pick<FileIdentity, 'inode' | 'device'>): string {
	return `${device} ${inode}`;
}

/** Instead of a file: the code that the kernel maps into every process. */
export const VDSO: FileIdentity = { inode: BigInt(UNWIND.UNWIND_VDSO), device: 0, changed_ns: 0n };

/** A table that programs have. */
interface Placement extends TablePlace {
	readonly key: Uint8Array;
}

/** The tables of one object, which is to be configured, loaded, opened and closed. */
export class UnwindMaps {
	readonly #object: BpfObject<UnwoundLayout>;
	readonly #placed = new Map<string, Placement>();
	/** Files that say nothing of their code, by name. */
	readonly #without = new Map<string, Uint8Array>();
	#memory: TableMemory | undefined;
	#requests: RingBuffer | undefined;
	#round = 0;
	#lacksRoom = false;

	constructor(object: BpfObject<UnwoundLayout>) {
		this.#object = object;
	}

	/** Before loading: makes room, and has programs walk by tables. */
	configure(): void {
		const object = this.#object;
		object.setConstants({ walk_by_tables: true, page_bits: Math.log2(pageSizeBytes()) });
		object.map('unwind_rules').setMaxEntries(UNWIND.UNWIND_MAX_RULES);
		object.map('unwind_pages').setMaxEntries(UNWIND.UNWIND_MAX_PAGES);
		object.map('unwind_files').setMaxEntries(UNWIND.UNWIND_MAX_FILES);
		object.map('unwind_requests').setMaxEntries(UNWIND.UNWIND_REQUESTS_BYTES);
	}

	/** After loading, before attaching. */
	open(): void {
		this.#memory = new TableMemory(this.#object);
		this.#requests = new RingBuffer(this.#object.map('unwind_requests'));
	}

	/** Calls `onRequests` when programs have asked for tables, which `requests` then gives. */
	watch(onRequests: () => Promise<void>): void {
		this.#requests?.watch(this.#object.map('unwind_requests').fd, onRequests);
	}

	/** Whether there was no room for a table: stacks that lead through its file are guessed. */
	get lacksRoom(): boolean {
		return this.#lacksRoom;
	}

	/** What programs have asked for since the last call. */
	requests(): TableRequest[] {
		const found: TableRequest[] = [];
		const { file, tgid, start, end } = REQUEST.fields;
		const { inode, device, changed_sec, changed_nsec } = FILE_KEY.fields;
		this.#requests?.read((record) => {
			const changed_s = record.getBigInt64(file.offset + changed_sec.offset, true);
			const nanoseconds = record.getUint32(file.offset + changed_nsec.offset, true);
			found.push({
				inode: record.getBigUint64(file.offset + inode.offset, true),
				device: record.getUint32(file.offset + device.offset, true),
				changed_ns: changed_s * SECOND_NS + BigInt(nanoseconds),
				pid: record.getUint32(tgid.offset, true),
				start: readU64(record, start.offset),
				end: readU64(record, end.offset),
			});
		});
		return found;
	}

	/** Gives the rules to the programs that a table brings: before the table, or any later one. */
	addRules(table: PackedTable): void {
		this.#memory?.addRules(table);
	}

	/**
	 * Gives a file's table to the programs; undefined: the file says nothing of its code. `runtime`: the number of the one
	 * that is in the file (FunctionMaps), 0 if none is.
	 */
	put(file: FileIdentity, table: PackedTable | undefined, runtime = 0): void {
		const key = keyOf(file);
		const hasRows = table && table.pages.length > 0;
		this.#tell(
			key,
			this.#placed.get(nameOf(key)) ?? (hasRows ? this.#place(key, table) : undefined),
			runtime,
		);
		// What walks remember of processes that run this file is without the runtime.
		if (runtime > 0) this.#object.setVariable('unwind_round', ++this.#round);
	}

	/** For a file that could not be read: the next walk through it asks again. */
	drop(file: FileIdentity): void {
		this.#object.map('unwind_files').delete(keyOf(file));
	}

	/** From now on, what is used counts as used later than what was used before. Sees to it that new files have room. */
	nextRound(): void {
		if (this.#placed.size + this.#without.size > MOST_FILES) this.#makeRoom();
		this.#object.setVariable('unwind_round', ++this.#round);
	}

	close(): void {
		this.#requests?.close();
		this.#memory?.close();
		this.#requests = undefined;
		this.#memory = undefined;
		this.#placed.clear();
	}

	/** Undefined: there is no room, even without the tables that were not used for longest. */
	#place(key: Uint8Array, table: PackedTable): Placement | undefined {
		let place = this.#memory?.place(table);
		if (!place) {
			this.#makeRoom();
			place = this.#memory?.place(table);
		}
		this.#lacksRoom ||= !place;
		if (!place) return undefined;
		const placement = { ...place, key };
		this.#placed.set(nameOf(key), placement);
		return placement;
	}

	#tell(key: Uint8Array, placement: Placement | undefined, runtimeNumber: number): void {
		const value = new DataView(new ArrayBuffer(FILE.size));
		const { state, pages_at, first_page, pages, used, runtime } = FILE.fields;
		const kind = placement ? STATE.UNWIND_FILE_HAS_TABLE : STATE.UNWIND_FILE_WITHOUT;
		value.setUint32(state.offset, kind, true);
		value.setUint32(pages_at.offset, placement?.pagesAt ?? 0, true);
		value.setUint32(first_page.offset, placement?.firstPage ?? 0, true);
		value.setUint32(pages.offset, placement?.pages ?? 0, true);
		value.setUint32(used.offset, this.#round, true);
		value.setUint32(runtime.offset, runtimeNumber, true);
		this.#object.map('unwind_files').update(key, new Uint8Array(value.buffer));
		if (placement) this.#without.delete(nameOf(key));
		else this.#without.set(nameOf(key), key);
	}

	#makeRoom(): void {
		for (const key of this.#without.values()) this.#object.map('unwind_files').delete(key);
		this.#without.clear();
		const used = new Map<string, number>();
		this.#object.map('unwind_files').readAll((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				const key = new Uint8Array(keys.buffer, i * FILE_KEY.size, FILE_KEY.size);
				used.set(nameOf(key), values.getUint32(i * FILE.size + FILE.fields.used.offset, true));
			}
		});
		const age = ({ key }: Placement) => used.get(nameOf(key)) ?? 0;
		const all = [...this.#placed.values()].sort((a, b) => age(a) - age(b));
		this.#forgetAll(all.slice(0, Math.ceil(all.length / FORGOTTEN_SHARE)));
	}

	/** A program that has found such a file reads its rows until it ends: then they may be others'. */
	#forgetAll(placements: readonly Placement[]): void {
		if (placements.length === 0) return;
		for (const { key } of placements) this.#object.map('unwind_files').delete(key);
		// They remember where rows lie, until the round ends.
		this.#object.setVariable('unwind_round', ++this.#round);
		this.#object.waitForPrograms();
		for (const placement of placements) {
			this.#memory?.free(placement);
			this.#placed.delete(nameOf(placement.key));
		}
	}
}

function keyOf({ inode, device, changed_ns }: FileIdentity): Uint8Array {
	const key = new DataView(new ArrayBuffer(FILE_KEY.size));
	const at = FILE_KEY.fields;
	// Before 1970 the kernel counts nanoseconds from the second below, as from any.
	const nsec = ((changed_ns % SECOND_NS) + SECOND_NS) % SECOND_NS;
	key.setBigUint64(at.inode.offset, inode, true);
	key.setUint32(at.device.offset, device, true);
	key.setBigInt64(at.changed_sec.offset, (changed_ns - nsec) / SECOND_NS, true);
	key.setUint32(at.changed_nsec.offset, Number(nsec), true);
	return new Uint8Array(key.buffer);
}

function nameOf(key: Uint8Array): string {
	return Buffer.from(key).toString('hex');
}
