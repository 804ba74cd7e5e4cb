/** What threads waited for, out of the kernel: user space's side of bpf/lib/waits/objects/objects.h. */
import { endpointText } from '../../abi/address.js';
import { callTables } from '../../abi/syscalls.js';
import type { Holder, LockOwner, MemoryPlace, WaitObject } from '../../aggregate/wait-object.js';
import { off_cpu as layout } from '../../generated/off_cpu.js';
import { readU64 } from '../../loader/layout.js';
import { pageSizeBytes } from '../../loader/memory.js';
import type { BpfObject } from '../../loader/object.js';

const WAY = layout.enums.object_way;
const TYPE = layout.enums.object_type;
const FLAG = layout.enums.object_flag;
/** An object takes 1.4 kB; of most programs' stacks few wait for different ones. */
const STACKS_PER_OBJECT = 8;
/** Of most objects: the other end, who may accept there, and who accepts here. */
const ENDS_PER_OBJECT = 3;
const { GIL_BYTES } = layout.enums.gil_constant;
const AF_INET = 2;
const PROTOCOLS: Readonly<Record<number, string>> = { 6: 'tcp', 17: 'udp' };

/** System calls that wait for what their first argument is. Not close: its descriptor is gone by then. */
const DESCRIPTOR_CALLS =
	'read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 recvfrom recvmsg recvmmsg ' +
	'sendto sendmsg sendmmsg accept accept4 connect flock fcntl ioctl getdents getdents64 fsync fdatasync ' +
	'sync_file_range syncfs ftruncate fallocate vmsplice';
const WAYS: ReadonlyArray<readonly [calls: string, way: number]> = [
	[DESCRIPTOR_CALLS, WAY.WAY_DESCRIPTOR],
	['epoll_wait epoll_pwait epoll_pwait2', WAY.WAY_EPOLL],
	['poll ppoll', WAY.WAY_POLL],
	['select pselect6', WAY.WAY_SELECT],
	['futex futex_wait', WAY.WAY_FUTEX],
	['wait4', WAY.WAY_CHILD],
	['waitid', WAY.WAY_CHILD_BY],
];

const ACCEPTED = { accepted: true } as const;

type Objects = BpfObject<typeof layout>;

/** What is found later of an object. */
export interface FoundLater {
	/** Who holds the other end, by its key; of a pipe, who has that end of it. */
	readonly holders: (key: bigint, end?: 'read' | 'write') => readonly Holder[];
	/** What lies there; '': not known. */
	readonly inMemory: string;
	/** Who has the lock. */
	readonly owner: LockOwner | undefined;
	/** It is this one. */
	readonly gil?: GilPlace | undefined;
}

/** Before loading: which calls to look at, and room for so many stacks' objects. */
export function configureObjects(object: Objects, { maxStacks }: { maxStacks: number }): void {
	const ways = object.constantBytes('object_ways');
	const [native] = callTables();
	for (const [calls, way] of WAYS) {
		const names = new Set(calls.split(' '));
		for (const [nr, name] of Object.entries(native))
			if (names.has(name) && Number(nr) < ways.byteLength) ways.setUint8(Number(nr), way);
	}
	object.setConstants({ find_objects: true, object_page_bits: Math.log2(pageSizeBytes()) });
	const most = Math.ceil(maxStacks / STACKS_PER_OBJECT);
	object.map('wait_objects').setMaxEntries(most);
	object.map('wanted_ends').setMaxEntries(ENDS_PER_OBJECT * most);
}

type Number32 = 'type' | 'flags' | 'pid' | 'text_bytes' | 'device' | 'holder';

/** Whose it is, and which thread had it last. */
export interface GilPlace {
	readonly pid: number;
	readonly address: number;
	/** As the process numbers it; 0: unknown. */
	readonly holder: number;
	/** So does tstrace. */
	readonly isHolderOurs: boolean;
}

/** Whether a futex is a part of it. */
export const isOfGil = ({ pid, address }: MemoryPlace, gil: Pick<GilPlace, 'pid' | 'address'>) =>
	pid === gil.pid && address >= gil.address && address < gil.address + GIL_BYTES;

/** A `struct wait_object`. */
export class ObjectRecord {
	readonly #record: DataView;

	constructor(record: DataView) {
		this.#record = record;
	}

	/** Of a futex. */
	place(): MemoryPlace | undefined {
		if (this.#number('type') !== TYPE.OBJECT_FUTEX) return undefined;
		const { address, first_ns, user_sp } = layout.structs.wait_object.fields;
		return {
			pid: this.#number('pid'),
			address: readU64(this.#record, address.offset),
			at_ns: readU64(this.#record, first_ns.offset),
			sp: readU64(this.#record, user_sp.offset),
			inHeap: this.#has(FLAG.OBJECT_IN_HEAP),
		};
	}

	/** Of the lock of a Python interpreter. */
	gil(): GilPlace | undefined {
		if (this.#number('type') !== TYPE.OBJECT_GIL) return undefined;
		const address = readU64(this.#record, layout.structs.wait_object.fields.address.offset);
		const isHolderOurs = this.#has(FLAG.OBJECT_HOLDER_OURS);
		return { pid: this.#number('pid'), address, holder: this.#number('holder'), isHolderOurs };
	}

	decoded(later: FoundLater): WaitObject {
		const { holders } = later;
		const { inode, peer_inode, other_end, listener, own_listener } =
			layout.structs.wait_object.fields;
		const key = ({ offset }: { offset: number }) => this.#record.getBigUint64(offset, true);
		const u64 = ({ offset }: { offset: number }) => readU64(this.#record, offset);
		const peers = () => {
			const found = holders(key(other_end));
			return found.length > 0 ? found : holders(key(listener));
		};
		switch (this.#number('type')) {
			case TYPE.OBJECT_CHANGED:
				return { type: 'unknown', why: 'descriptor closed or used again' };
			case TYPE.OBJECT_SEVERAL:
				return { type: 'unknown', why: this.#several() };
			case TYPE.OBJECT_FILE:
				return { type: 'file', ...this.#file() };
			case TYPE.OBJECT_MAPPED:
				return { type: 'file', ...this.#file(), mapped: true };
			case TYPE.OBJECT_BLOCK:
			case TYPE.OBJECT_CHARACTER:
				return { type: 'device', ...this.#file() };
			case TYPE.OBJECT_PIPE: {
				const end = this.#has(FLAG.OBJECT_WRITES) ? 'write' : 'read';
				const other = end === 'write' ? 'read' : 'write';
				const path = this.#has(FLAG.OBJECT_WITHOUT_ROOT) ? '' : this.#path();
				return {
					type: 'pipe',
					end,
					path,
					inode: u64(inode),
					other_end: holders(key(other_end), other),
				};
			}
			case TYPE.OBJECT_UNIX: {
				const numbers = { inode: u64(inode), peer_inode: u64(peer_inode) };
				return {
					type: 'unix socket',
					path: unixPath(this.#text()),
					...numbers,
					other_end: peers(),
					...(this.#has(FLAG.OBJECT_ACCEPTED) ? ACCEPTED : {}),
				};
			}
			case TYPE.OBJECT_INET:
				return {
					...socketOf(this.#record, this.#has(FLAG.OBJECT_LISTENS)),
					other_end: peers(),
					...(holders(key(own_listener)).length > 0 ? ACCEPTED : {}),
				};
			case TYPE.OBJECT_EVENT:
				return { type: 'event', name: this.#path().replace(/^anon_inode:/, '') };
			case TYPE.OBJECT_FUTEX:
			case TYPE.OBJECT_GIL:
				return this.#futex(later);
			case TYPE.OBJECT_CHILD:
				return { type: 'child', pid: this.#number('pid'), comm: untilZero(this.#text()) };
			default:
				return { type: 'unknown', why: 'a kind of descriptor that tstrace does not know' };
		}
	}

	#futex({ inMemory, owner, gil }: FoundLater): WaitObject {
		const at =
			gil?.address ?? readU64(this.#record, layout.structs.wait_object.fields.address.offset);
		const futex = { pid: this.#number('pid'), address: `0x${at.toString(16)}` };
		const where = gil ? ({ in: 'GIL', gil: true } as const) : { in: inMemory };
		return { type: 'futex', ...futex, ...where, ...(owner ? { owner } : {}) };
	}

	#number(name: Number32): number {
		return this.#record.getUint32(layout.structs.wait_object.fields[name].offset, true);
	}

	#has(flag: number): boolean {
		return (this.#number('flags') & flag) !== 0;
	}

	#text(): Buffer {
		const at = this.#record.byteOffset + layout.structs.wait_object.fields.text.offset;
		return Buffer.from(this.#record.buffer, at, this.#number('text_bytes'));
	}

	#file(): { path: string; deleted?: true } {
		// What never had a name is not deleted.
		const deleted = this.#has(FLAG.OBJECT_DELETED) && !this.#has(FLAG.OBJECT_WITHOUT_ROOT);
		return { path: this.#path(), ...(deleted ? { deleted } : {}) };
	}

	/** Names come leaf first, a 0 behind each. */
	#path(): string {
		const names = this.#text().toString('utf8').split('\0').slice(0, -1).reverse();
		if (this.#has(FLAG.OBJECT_WITHOUT_ROOT)) return names.join('/');
		return `${this.#has(FLAG.OBJECT_CUT) ? '…' : ''}/${names.join('/')}`;
	}

	#several(): string {
		const count = readU64(this.#record, layout.structs.wait_object.fields.address.offset);
		return count > 0 ? `one of ${count} descriptors` : 'one of several';
	}
}

/** All that are kept, by their hash. */
export function readObjects(object: Objects): Map<bigint, ObjectRecord> {
	const { size } = layout.structs.wait_object;
	const objects = new Map<bigint, ObjectRecord>();
	object.map('wait_objects').readAll((keys, values, count) => {
		for (let i = 0; i < count; i++) {
			const at = values.byteOffset + i * size;
			// A copy: the rest of what is read at once need not be kept.
			const record = new DataView(values.buffer.slice(at, at + size) as ArrayBuffer);
			objects.set(keys.getBigUint64(i * 8, true), new ObjectRecord(record));
		}
	});
	return objects;
}

/** An abstract one begins with a 0, for which ss and others write "@". */
function unixPath(bytes: Buffer): string {
	if (bytes[0] === 0) return `@${bytes.toString('utf8', 1)}`;
	return untilZero(bytes);
}

const untilZero = (bytes: Buffer) => bytes.toString('utf8').replace(/\0.*$/s, '');

function socketOf(
	record: DataView,
	listens: boolean,
): Omit<WaitObject & { type: 'socket' }, 'other_end'> {
	const { family, protocol, local, remote, local_port, remote_port } =
		layout.structs.wait_object.fields;
	const u16 = ({ offset }: { offset: number }) => record.getUint16(offset, true);
	const bytes = u16(family) === AF_INET ? 4 : 16;
	const end = ({ offset }: { offset: number }, port: { offset: number }) => {
		const address = new Uint8Array(record.buffer, record.byteOffset + offset, bytes);
		return endpointText(address, u16(port));
	};
	return {
		type: 'socket',
		protocol: PROTOCOLS[u16(protocol)] ?? `protocol ${u16(protocol)}`,
		local: end(local, local_port),
		remote: listens || u16(remote_port) === 0 ? '' : end(remote, remote_port),
	};
}
