/** The programs' side of unwind tables: the memory that they read, and what they are told of files. */
import { closeSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { UnwindMaps } from '../../../../src/bpf/unwind/tables.js';
import { TstraceError } from '../../../../src/errors.js';
import {
	unwind_file as FILE,
	unwind_file_key as FILE_KEY,
	unwind_constant as UNWIND,
} from '../../../../src/generated/common.js';
import { libc } from '../../../../src/loader/ffi.js';
import type { PackedTable } from '../../../../src/unwind/packed-table.js';
import { replace } from '../../loader/replaced.js';
import { ringFile } from '../../loader/ring-file.js';
import { temporaryFolder } from '../../symbolize/support.js';
import { structs } from '../../tools/structs.js';

const folder = temporaryFolder();
const CHUNK_BYTES = UNWIND.UNWIND_CHUNK_ROWS * 4;
/** Of a rule and of a page, in the kernel's memory. */
export const [RULE_STRIDE, PAGE_STRIDE] = [16, 8] as const;
export const SECOND_NS = 1_000_000_000n;

export const fileOf = (number: number, changed_ns = 5n * SECOND_NS + 7n) => ({
	...{ inode: BigInt(number), device: 0x801, changed_ns },
});

/** A file of memory, of so many zeros. */
function memoryOf(t: TestContext, name: string, bytes: number): number {
	const fd = openSync(join(folder, name), 'w+');
	ftruncateSync(fd, bytes);
	t.after(() => closeSync(fd));
	return fd;
}

/** The programs' side: their memory, and what they are told of files. */
export class Programs {
	readonly files = new Map<string, DataView>();
	readonly told: string[] = [];
	readonly constants: Record<string, unknown> = {};
	readonly room: Record<string, number> = {};
	/** Of rows. */
	readonly chunks: number[] = [];
	readonly rules: number;
	readonly pages: number;
	readonly requests: ReturnType<typeof ringFile>;
	/** How many chunks the kernel has memory for, and how many it can be told of. */
	mostChunks = 64;
	mostInner = 64;

	constructor(t: TestContext, requests: readonly Uint8Array[] = []) {
		this.rules = memoryOf(t, 'rules', 100 * RULE_STRIDE);
		this.pages = memoryOf(t, 'pages', UNWIND.UNWIND_MAX_PAGES * PAGE_STRIDE);
		this.requests = ringFile(requests.map((bytes) => ({ bytes })));
		t.after(this.requests.close);
		replace(t, libc(), {
			bpf: () => {
				if (this.chunks.length >= this.mostChunks) return -1;
				const fd = openSync(join(folder, `chunk ${this.chunks.length}`), 'w+');
				ftruncateSync(fd, CHUNK_BYTES);
				this.chunks.push(fd);
				return fd;
			},
		});
	}

	get object() {
		return {
			setConstants: (more: object) => Object.assign(this.constants, more),
			setVariable: (name: string, value: number) => this.told.push(`${name} ${value}`),
			waitForPrograms: () => this.told.push('wait'),
			map: (name: string) => this.#map(name),
		} as never;
	}

	#map(name: string) {
		const keyOf = (key: Uint8Array) => Buffer.from(key).toString('hex');
		const setMaxEntries = (entries: number) => {
			this.room[name] = entries;
		};
		if (name === 'unwind_requests') return { ...this.requests.map, setMaxEntries };
		return {
			setMaxEntries,
			fd: name === 'unwind_rules' ? this.rules : this.pages,
			maxEntries: name === 'unwind_rules' ? 100 : UNWIND.UNWIND_MAX_PAGES,
			addInner: ([number = -1]: Uint8Array, fd: number) => {
				if (number >= this.mostInner) throw new TstraceError('there is no room');
				this.told.push(`chunk ${number} ${fd === this.chunks[number]}`);
			},
			update: (key: Uint8Array, value: Uint8Array) =>
				this.files.set(keyOf(key), new DataView(value.buffer, value.byteOffset)),
			delete: (key: Uint8Array) => {
				this.told.push('delete');
				return this.files.delete(keyOf(key));
			},
			readAll: (each: (keys: DataView, values: DataView, count: number) => void) => {
				const keys = Buffer.from([...this.files.keys()].join(''), 'hex');
				const values = Buffer.concat(
					[...this.files.values()].map(({ buffer }) => Buffer.from(buffer as ArrayBuffer)),
				);
				each(
					new DataView(Uint8Array.from(keys).buffer),
					new DataView(Uint8Array.from(values).buffer),
					this.files.size,
				);
			},
		};
	}

	/** What programs are told of a file, by field. */
	ofFile(file: ReturnType<typeof fileOf>): Record<string, number> | undefined {
		const [seconds, nanoseconds] = [file.changed_ns / SECOND_NS, file.changed_ns % SECOND_NS];
		const key = structs(FILE_KEY, [
			{
				...{ inode: file.inode, device: file.device },
				...{ changed_sec: seconds, changed_nsec: nanoseconds },
			},
		]);
		const value = this.files.get(Buffer.from(key.buffer as ArrayBuffer).toString('hex'));
		if (!value) return undefined;
		const fields = Object.entries(FILE.fields);
		return Object.fromEntries(
			fields.map(([name, { offset }]) => [name, value.getUint32(offset, true)]),
		);
	}

	words(fd: number, at: number, count: number): number[] {
		const words = new Uint32Array(count);
		readSync(fd, words, 0, count * 4, at);
		return [...words];
	}
}

/** A table of these pages; each has rows that begin with its number. */
export function tableOf(pages: readonly (readonly [page: number, rows: number])[]): PackedTable {
	return {
		pages: Uint32Array.from(pages, ([page]) => page),
		counts: Uint32Array.from(pages, ([, rows]) => rows),
		rows: Uint32Array.from(
			pages.flatMap(([page, rows]) => Array.from({ length: rows }, (_, i) => page * 1000 + i)),
		),
		rules: new Uint8Array(0),
		firstRule: 0,
	};
}

export function opened(t: TestContext, programs: Programs): UnwindMaps {
	const maps = new UnwindMaps(programs.object);
	maps.configure();
	maps.open();
	t.after(() => maps.close());
	return maps;
}
