/** Records as programs write them, for tests of what reads them: bpf/lib/trace/records.h. */
import { trace as layout } from '../../../../src/generated/trace.js';

const { call_record, capture_header } = layout.structs;

export interface Given {
	readonly nr?: number;
	readonly abi?: number;
	readonly type?: number;
	readonly flags?: number;
	readonly args?: readonly (number | bigint)[];
	readonly captures?: ReadonlyArray<{
		argument: number;
		text: Uint8Array | string;
		status?: number;
	}>;
	readonly result?: number | bigint;
	readonly end_ns?: number;
	readonly duration_ns?: number;
	readonly tgid?: number;
	readonly tid?: number;
	readonly comm?: string;
	readonly lost?: number;
	/** Instead of arguments and captures. */
	readonly body?: Uint8Array;
}

const padded = (bytes: number) => (bytes + 7) & ~7;

function bodyOf({ args = [], captures = [], body }: Given): Uint8Array {
	if (body) return body;
	const parts: Uint8Array[] = [new Uint8Array(new BigInt64Array(args.map(BigInt)).buffer)];
	for (const { argument, text, status = 0 } of captures) {
		const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
		const part = new Uint8Array(padded(capture_header.size + bytes.length)).fill(0xee);
		const { fields } = capture_header;
		const view = new DataView(part.buffer);
		view.setUint8(fields.argument.offset, argument);
		view.setUint8(fields.status.offset, status);
		view.setUint16(fields.bytes.offset, bytes.length, true);
		part.set(bytes, capture_header.size);
		parts.push(part);
	}
	return Buffer.concat(parts);
}

/** Words with one record that begins at the second; all around it is filled with ones. */
export function recordOf(given: Given): { words: Uint32Array; at: number } {
	const body = bodyOf(given);
	const bytes = new Uint8Array(4 + padded(call_record.size + body.length) + 4096).fill(0xff);
	const view = new DataView(bytes.buffer, 4);
	const { fields } = call_record;
	const { nr = 0, abi = 0, comm = 'worker' } = given;
	view.setBigUint64(fields.end_ns.offset, BigInt(given.end_ns ?? 5_000_000_000), true);
	view.setBigUint64(fields.duration_ns.offset, BigInt(given.duration_ns ?? 1234), true);
	view.setBigInt64(fields.result.offset, BigInt(given.result ?? 0), true);
	view.setUint32(fields.tgid.offset, given.tgid ?? 812, true);
	view.setUint32(fields.tid.offset, given.tid ?? 812, true);
	view.setUint32(fields.call.offset, ((abi << 18) | nr) >>> 0, true);
	view.setUint8(fields.type.offset, given.type ?? 0);
	view.setUint8(fields.flags.offset, given.flags ?? 0);
	view.setUint8(fields.arguments.offset, given.args?.length ?? 0);
	view.setUint32(fields.lost.offset, given.lost ?? 0, true);
	view.setUint32(fields.bytes.offset, body.length, true);
	bytes.fill(0, 4 + fields.comm.offset, 4 + fields.comm.offset + 16);
	bytes.set(Buffer.from(comm), 4 + fields.comm.offset);
	bytes.set(body, 4 + call_record.size);
	return { words: new Uint32Array(bytes.buffer), at: 1 };
}

/** The same as programs put it into the ring. */
export function recordBytes(given: Given): Uint8Array {
	const { words, at } = recordOf(given);
	const bytes = new Uint8Array(words.buffer, at * 4);
	const { offset } = call_record.fields.bytes;
	const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset, true);
	return bytes.slice(0, call_record.size + length);
}
