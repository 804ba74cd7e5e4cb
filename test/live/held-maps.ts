/** What is in the maps that a process holds, looked at from outside while it runs. */
import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { libbpf, libbpfFunction } from '../../src/loader/ffi.js';

/** include/uapi/linux/bpf.h: struct bpf_map_info, enum bpf_map_type. */
const INFO_BYTES = 88;
const AT = { type: 0, keySize: 8, valueSize: 12, maxEntries: 16, name: 24 } as const;
const NAME_BYTES = 16;
const HASH = 1;
const ARRAY = 2;
const ENOENT = -2;

type ById = (id: number) => number;
type GetInfo = (fd: number, info: Uint8Array, size: [number]) => number;
type NextKey = (fd: number, key: Uint8Array | null, next: Uint8Array) => number;

interface Functions {
	readonly byId: ById;
	readonly info: GetInfo;
	readonly nextKey: NextKey;
}

let functions: Functions | undefined;

function bpf(): Functions {
	functions ??= {
		byId: libbpfFunction('int bpf_map_get_fd_by_id(uint32_t id)') as ById,
		info: libbpfFunction(
			'int bpf_obj_get_info_by_fd(int fd, void *info, _Inout_ uint32_t *size)',
		) as GetInfo,
		nextKey: libbpfFunction(
			'int bpf_map_get_next_key(int fd, const void *key, void *next)',
		) as NextKey,
	};
	return functions;
}

/** How many entries each hash of a process has, by name; of arrays that are asked for, how many are not zero at first. */
export function entriesOf(pid: number, arrays: readonly string[] = []): Map<string, number> {
	const entries = new Map<string, number>();
	for (const fd of readdirSync(`/proc/${pid}/fdinfo`)) {
		const id = idOfMap(pid, fd);
		if (id === undefined) continue;
		const map = bpf().byId(id);
		if (map < 0) continue; // it has just been closed
		try {
			const { name, type, keySize, valueSize, maxEntries } = infoOf(map);
			if (type === HASH) entries.set(name, countKeys(map, keySize));
			else if (type === ARRAY && arrays.includes(name))
				entries.set(name, countUsed(map, maxEntries, valueSize));
		} finally {
			closeSync(map);
		}
	}
	return entries;
}

/** What a process's descriptors are, in words: "anon_inode:bpf-map", a path without numbers. */
export function descriptorsOf(pid: number): Map<string, number> {
	const kinds = new Map<string, number>();
	for (const fd of readdirSync(`/proc/${pid}/fd`)) {
		try {
			const kind = readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/\d+/g, 'N');
			kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
		} catch {
			// Closed between the two.
		}
	}
	return kinds;
}

function idOfMap(pid: number, fd: string): number | undefined {
	try {
		const [, id] =
			/^map_id:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? [];
		return id === undefined ? undefined : Number(id);
	} catch {
		return undefined;
	}
}

function infoOf(fd: number) {
	const info = new Uint8Array(INFO_BYTES);
	const failed = bpf().info(fd, info, [INFO_BYTES]);
	if (failed < 0) throw new Error(`bpf_obj_get_info_by_fd: ${failed}`);
	const view = new DataView(info.buffer);
	const name = Buffer.from(info.subarray(AT.name, AT.name + NAME_BYTES)).toString('latin1');
	return {
		name: name.slice(0, name.indexOf('\0')),
		type: view.getUint32(AT.type, true),
		keySize: view.getUint32(AT.keySize, true),
		valueSize: view.getUint32(AT.valueSize, true),
		maxEntries: view.getUint32(AT.maxEntries, true),
	};
}

/** At most as many as the largest of our hashes has: keys that go meanwhile begin it anew. */
function countKeys(fd: number, keySize: number): number {
	const MOST = 1 << 20;
	let key: Uint8Array | null = null;
	for (let count = 0; count < MOST; count++) {
		const next = new Uint8Array(keySize);
		const result: number = bpf().nextKey(fd, key, next);
		if (result === ENOENT) return count;
		if (result < 0) throw new Error(`bpf_map_get_next_key: ${result}`);
		key = next;
	}
	throw new Error('a hash without an end');
}

/** In one call: an element at a time would take longer than what is looked at lasts. */
function countUsed(fd: number, entries: number, valueSize: number): number {
	const values = new Uint8Array(entries * valueSize);
	const keys = new Uint8Array(entries * 4);
	const next = new Uint8Array(8);
	const count: [number] = [entries];
	const result = libbpf().bpf_map_lookup_batch(fd, null, next, keys, values, count, null);
	if (result < 0 && result !== ENOENT) throw new Error(`bpf_map_lookup_batch: ${result}`);
	const view = new DataView(values.buffer);
	let used = 0;
	for (let i = 0; i < count[0]; i++) if (view.getBigUint64(i * valueSize, true) !== 0n) used++;
	return used;
}
