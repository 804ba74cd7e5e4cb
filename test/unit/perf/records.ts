/** Writes records as the kernel does: include/uapi/linux/perf_event.h. */

interface Id {
	readonly pid: number;
	readonly tid: number;
	readonly time_ns: number;
	readonly id?: number;
	readonly cpu?: number;
}

/** A number after which 8 bytes follow, or 4; text is padded to 8 bytes. */
type Part =
	| { readonly u64: number | bigint }
	| { readonly u32: number }
	| { readonly text: string };

export function record(type: number, misc: number, parts: readonly Part[]): Uint8Array {
	const body = Buffer.concat(parts.map(bytesOf));
	const header = Buffer.alloc(8);
	header.writeUInt32LE(type, 0);
	header.writeUInt16LE(misc, 4);
	header.writeUInt16LE(8 + body.length, 6);
	return Buffer.concat([header, body]);
}

function bytesOf(part: Part): Buffer {
	if ('text' in part) {
		const length = Buffer.byteLength(part.text) + 1;
		const padded = Buffer.alloc(Math.ceil(length / 8) * 8);
		padded.write(part.text);
		return padded;
	}
	const bytes = Buffer.alloc('u64' in part ? 8 : 4);
	if ('u64' in part) bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(part.u64)));
	else bytes.writeUInt32LE(part.u32 >>> 0);
	return bytes;
}

const u32 = (...values: number[]) => values.map((value) => ({ u32: value }));
const u64 = (...values: (number | bigint)[]) => values.map((value) => ({ u64: value }));

/** struct sample_id: tid, time, id, cpu. */
function sampleId({ pid, tid, time_ns, id = 1, cpu = 0 }: Id): Part[] {
	return [...u32(pid, tid), ...u64(time_ns, id), ...u32(cpu, 0)];
}

export function mmap2(
	id: Id,
	mapped: { start: number; bytes: number; fileOffset: number; inode: number; path: string },
): Uint8Array {
	const { start, bytes, fileOffset, inode, path } = mapped;
	return record(10, 2, [
		...u32(id.pid, id.tid),
		...u64(start, bytes, fileOffset),
		...u32(254, 1),
		...u64(inode, 77),
		...u32(5, 2),
		{ text: path },
		...sampleId(id),
	]);
}

export function comm(id: Id, name: string, exec: boolean): Uint8Array {
	return record(3, exec ? 1 << 13 : 0, [...u32(id.pid, id.tid), { text: name }, ...sampleId(id)]);
}

/** Type 7: fork; 4: exit. The sample_id is of whoever did it, at about that time. */
export function task(type: 7 | 4, id: Id, parent: { pid: number; tid: number }): Uint8Array {
	return record(type, 0, [
		...u32(id.pid, parent.pid, id.tid, parent.tid),
		...u64(id.time_ns),
		...sampleId({ ...parent, time_ns: id.time_ns + 5 }),
	]);
}

export function lost(count: number): Uint8Array {
	return record(2, 0, [...u64(1, count), ...sampleId({ pid: 1, tid: 1, time_ns: 1 })]);
}

export function sample(
	id: Id,
	{
		ip,
		period,
		chain,
	}: { ip: number | bigint; period: number; chain: readonly (number | bigint)[] },
): Uint8Array {
	return record(9, 2, [
		...u64(ip),
		...u32(id.pid, id.tid),
		...u64(id.time_ns, id.id ?? 1),
		...u32(id.cpu ?? 0, 0),
		...u64(period, chain.length, ...chain),
	]);
}
