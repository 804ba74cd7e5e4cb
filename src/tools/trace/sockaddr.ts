/** Writes captured socket addresses. Sources: man 7 ip, ipv6, unix, netlink. */
import { endpointText } from '../../abi/address.js';
import type { LineBuffer } from '../../render/line-buffer.js';
import type { CallRecord } from './record.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
const FAMILIES: Readonly<Record<number, string>> = {
	0: 'AF_UNSPEC',
	1: 'AF_UNIX',
	16: 'AF_NETLINK',
};
const QUOTED = bytesOf('{AF_UNIX, "');
const ABSTRACT = bytesOf('{AF_UNIX, @"');
const CLOSED = bytesOf('"}');

/** "10.0.0.1:443", "[::1]:80" of a struct sockaddr; undefined: it is of another family, or cut. */
export function inetText(bytes: Uint8Array, at: number, length: number): string | undefined {
	const family = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
	const port = ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
	if (family === AF_INET && length >= 8) return endpointText(bytes.subarray(at + 4, at + 8), port);
	if (family !== AF_INET6 || length < 24) return undefined;
	return endpointText(bytes.subarray(at + 8, at + 24), port);
}

export function writeSockaddr(lines: LineBuffer, call: CallRecord, capture: number): void {
	const at = call.textAt(capture);
	const length = call.lengthOf(capture);
	const family = (call.u32At(at) & 0xffff) >>> 0;
	if (family === AF_UNIX && length > 2) writeUnix(lines, call.bytes, at, length);
	else lines.add(bytesOf(`{${addressText(call, at, length, family)}}`));
}

function addressText(call: CallRecord, at: number, length: number, family: number): string {
	const inet = inetText(call.bytes, at, length);
	if (inet !== undefined) return `AF_INET${family === AF_INET6 ? '6' : ''}, ${inet}`;
	if (family !== AF_NETLINK || length < 12) return FAMILIES[family] ?? `family=${family}`;
	return `AF_NETLINK, pid=${call.u32At(at + 4)}, groups=0x${call.u32At(at + 8).toString(16)}`;
}

/** An abstract one begins with a 0, for which ss and others write "@". */
function writeUnix(lines: LineBuffer, bytes: Uint8Array, at: number, length: number): void {
	const isAbstract = bytes[at + 2] === 0;
	const from = at + (isAbstract ? 3 : 2);
	const end = isAbstract ? at + length : endOf(bytes, from, at + length);
	lines.add(isAbstract ? ABSTRACT : QUOTED);
	lines.escaped(bytes, from, end - from);
	lines.add(CLOSED);
}

function endOf(bytes: Uint8Array, from: number, end: number): number {
	let at = from;
	while (at < end && bytes[at] !== 0) at++;
	return at;
}
