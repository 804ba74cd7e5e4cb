/** What is in the maps that a process holds, looked at from outside while it runs. */
import assert from 'node:assert/strict';
import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import {
	unwind_file as FILE,
	unwind_file_key as FILE_KEY,
	maps as MAPS,
	unwind_constant as UNWIND,
} from '../../src/generated/common.js';
import { libbpf, libbpfFunction } from '../../src/loader/ffi.js';
import { possibleCpus } from '../../src/loader/map.js';
import { PROT, pageSizeBytes, SharedMapping } from '../../src/loader/memory.js';

/** include/uapi/linux/bpf.h: struct bpf_map_info, enum bpf_map_type. */
const INFO_BYTES = 88;
const AT = { type: 0, keySize: 8, valueSize: 12, maxEntries: 16, name: 24 } as const;
const NAME_BYTES = 16;
const HASH = 1;
const ARRAY = 2;
const RING = 27;
const ENOENT = -2;
const PAGE_BYTES = MAPS.unwind_pages.valueSize;

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
	eachMap(pid, (map, { name, type, keySize, valueSize, maxEntries }) => {
		if (type === HASH) entries.set(name, countKeys(map, keySize));
		else if (type === ARRAY && arrays.includes(name))
			entries.set(name, countUsed(map, maxEntries, valueSize));
	});
	return entries;
}

/**
 * How many runs use each place for walked stacks of a process's programs (bpf/lib/stacks/scratch.h): for each place, of
 * all CPUs. `taken`: first sets how many use the places that it names.
 */
export function usersOfPlaces(pid: number, taken: readonly number[] = []): number[][] {
	const places: number[][] = [];
	eachMap(pid, (map, { name, valueSize, maxEntries }) => {
		if (name !== 'scratch') return;
		const stride = Math.ceil(valueSize / 8);
		const values = new BigUint64Array(stride * possibleCpus());
		const bytes = new Uint8Array(values.buffer);
		for (let place = 0; place < maxEntries; place++) {
			assert.equal(libbpf().bpf_map_lookup_elem(map, numberKey(place), bytes), 0);
			const cpus = Array.from({ length: possibleCpus() }, (_, cpu) => cpu * stride);
			const users = taken[place];
			if (users !== undefined) {
				for (const at of cpus) values[at] = BigInt(users);
				assert.equal(libbpf().bpf_map_update_elem(map, numberKey(place), bytes, 0), 0);
			}
			places.push(cpus.map((at) => Number(values[at])));
		}
	});
	return places;
}

/** How many bytes programs have written to each ring of a process, by name. */
export function writtenTo(pid: number): Map<string, number> {
	const written = new Map<string, number>();
	eachMap(pid, (map, { name, type }) => {
		if (type !== RING) return;
		// The second page: kernel/bpf/ringbuf.c, producer_pos.
		const page = pageSizeBytes();
		const producer = new SharedMapping(map, page, PROT.read, page);
		written.set(name, Number(new BigUint64Array(producer.buffer, 0, 1)[0]));
		producer.unmap();
	});
	return written;
}

/**
 * The maps that a process makes for rows of unwind tables, as files need them: how many it holds; how many of these
 * have no row of any file; how many are enough, if rows go where there is room before a map is made; and how many
 * there are besides that no object declares: these have no names.
 */
export function tableMapsOf(
	pid: number,
): Readonly<Record<'held' | 'empty' | 'enough' | 'strange', number>> {
	const made: number[] = [];
	const inner = new Set<number>();
	let pages: Page[] = [];
	const open = new Map<string, number>();
	try {
		eachMap(pid, (map, { id, name, maxEntries }) => {
			if (name === '') made.push(id);
			if (name === 'unwind_rows')
				for (let i = 0; i < maxEntries; i++) {
					const chunk = readValue(map, numberKey(i), 4)?.getUint32(0, true);
					if (chunk) inner.add(chunk);
				}
			else if (name === 'unwind_files' || name === 'unwind_pages') open.set(name, bpf().byId(id));
		});
		const [files, places] = [open.get('unwind_files'), open.get('unwind_pages')];
		if (files !== undefined && places !== undefined) pages = [...pagesOf(files, places)];
	} finally {
		for (const fd of open.values()) closeSync(fd);
	}
	const used = new Set(pages.map(({ first }) => Math.floor(first / UNWIND.UNWIND_CHUNK_ROWS)));
	const rows = pages.reduce((sum, { count }) => sum + count, 0);
	const most = pages.reduce((max, { count }) => Math.max(max, count), 0);
	return {
		held: made.filter((id) => inner.has(id)).length,
		strange: made.filter((id) => !inner.has(id)).length,
		empty: inner.size - used.size,
		enough: Math.ceil(rows / (UNWIND.UNWIND_CHUNK_ROWS - most)),
	};
}

/** Where rows of a page of a file lie. */
interface Page {
	readonly first: number;
	readonly count: number;
}

function* pagesOf(files: number, places: number): Generator<Page> {
	const keys: Uint8Array[] = [];
	eachKey(files, FILE_KEY.size, (key) => keys.push(key));
	for (const key of keys) {
		const file = readValue(files, key, FILE.size);
		const begin = file?.getUint32(FILE.fields.pages_at.offset, true) ?? 0;
		const end = begin + (file?.getUint32(FILE.fields.pages.offset, true) ?? 0);
		for (let at = begin; at < end; at++) {
			const page = readValue(places, numberKey(at), PAGE_BYTES);
			const count = page?.getUint32(4, true) ?? 0;
			if (count > 0) yield { first: page?.getUint32(0, true) ?? 0, count };
		}
	}
}

function numberKey(number: number): Uint8Array {
	const key = new Uint8Array(4);
	new DataView(key.buffer).setUint32(0, number, true);
	return key;
}

/** Undefined: there is none. */
function readValue(fd: number, key: Uint8Array, bytes: number): DataView | undefined {
	const value = new Uint8Array(bytes);
	if (libbpf().bpf_map_lookup_elem(fd, key, value) < 0) return undefined;
	return new DataView(value.buffer);
}

type Info = ReturnType<typeof infoOf> & { readonly id: number };

/** Once for each descriptor; `fd` is ours, and closed afterwards. */
function eachMap(pid: number, look: (fd: number, info: Info) => void): void {
	for (const fd of readdirSync(`/proc/${pid}/fdinfo`)) {
		const id = idOfMap(pid, fd);
		if (id === undefined) continue;
		const map = bpf().byId(id);
		if (map < 0) continue; // it has just been closed
		try {
			look(map, { ...infoOf(map), id });
		} finally {
			closeSync(map);
		}
	}
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
function eachKey(fd: number, keySize: number, look: (key: Uint8Array) => void): void {
	const MOST = 1 << 20;
	let key: Uint8Array | null = null;
	for (let count = 0; count < MOST; count++) {
		const next = new Uint8Array(keySize);
		const result: number = bpf().nextKey(fd, key, next);
		if (result === ENOENT) return;
		if (result < 0) throw new Error(`bpf_map_get_next_key: ${result}`);
		look(next);
		key = next;
	}
	throw new Error('a hash without an end');
}

function countKeys(fd: number, keySize: number): number {
	let count = 0;
	eachKey(fd, keySize, () => count++);
	return count;
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
