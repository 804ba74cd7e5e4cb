/** A file with what the kernel would have written to a ring buffer: Documentation/bpf/ringbuf.rst. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BpfMap } from '../../../src/loader/map.js';
import { pageSizeBytes } from '../../../src/loader/memory.js';
import { temporaryFolder } from '../symbolize/support.js';

export const HEADER_BYTES = 8;
export const PAGE_BYTES = pageSizeBytes();
export const RING_BYTES = 16 * PAGE_BYTES;

interface RecordInRing {
	readonly bytes: Uint8Array;
	/** BPF_RINGBUF_BUSY_BIT, BPF_RINGBUF_DISCARD_BIT. */
	readonly flags?: number;
}

/** A map whose ring has these records, the first one at `from`; `at`: where the next one would be. */
export function ringFile(records: readonly RecordInRing[], from = 0, ring_bytes = RING_BYTES) {
	const file = Buffer.alloc(2 * PAGE_BYTES + 2 * ring_bytes);
	let at = from;
	for (const { bytes, flags = 0 } of records) {
		const record = Buffer.alloc(HEADER_BYTES + bytes.length);
		record.writeUInt32LE((bytes.length | flags) >>> 0, 0);
		record.set(bytes, HEADER_BYTES);
		// The kernel maps the data twice in a row.
		for (const [i, byte] of record.entries()) {
			const place = (at + i) % ring_bytes;
			file[2 * PAGE_BYTES + place] = byte;
			file[2 * PAGE_BYTES + ring_bytes + place] = byte;
		}
		at += Math.ceil(record.length / 8) * 8;
	}
	file.writeBigUInt64LE(BigInt(from), 0);
	file.writeBigUInt64LE(BigInt(at), PAGE_BYTES);
	const path = join(temporaryFolder(), 'ring');
	writeFileSync(path, file);
	const fd = openSync(path, 'r+');
	const map = { fd, maxEntries: ring_bytes } as unknown as BpfMap;
	return { map, path, at, close: () => closeSync(fd) };
}
