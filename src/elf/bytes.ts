/** Bytes of files, read where they are needed; nothing outside, nothing without a bound. */
import { readSync } from 'node:fs';

/** Something malformed or out of bounds in what symbols are read from; costs that file's names. */
export class SymbolError extends Error {}

/** The most that is read at once: above any sane section that has to be in memory as a whole. */
const MAX_READ_BYTES = 64 * 2 ** 20;

export interface Bytes {
	readonly size_bytes: number;
	/** Exactly these bytes. Throws SymbolError when they are not all there, or too many. */
	read(offset: number, length_bytes: number): Buffer;
}

function check(bytes: Bytes, offset: number, length: number): void {
	const inside = offset >= 0 && length >= 0 && offset + length <= bytes.size_bytes;
	if (!inside) throw new SymbolError('a part lies outside the file');
	if (length > MAX_READ_BYTES) throw new SymbolError('a part is too large');
}

/** An open file; the descriptor stays the caller's. */
export class FileBytes implements Bytes {
	constructor(
		private readonly fd: number,
		readonly size_bytes: number,
	) {}

	read(offset: number, length_bytes: number): Buffer {
		check(this, offset, length_bytes);
		const buffer = Buffer.allocUnsafeSlow(length_bytes);
		for (let done = 0; done < length_bytes; ) {
			const got = this.#readSome(buffer, done, offset + done);
			// The file's owner may have made it shorter meanwhile.
			if (got === 0) throw new SymbolError('the file is shorter than it was');
			done += got;
		}
		return buffer;
	}

	#readSome(buffer: Buffer, done: number, position: number): number {
		try {
			return readSync(this.fd, buffer, done, buffer.length - done, position);
		} catch (error) {
			throw new SymbolError(`cannot be read: ${(error as NodeJS.ErrnoException).code}`);
		}
	}
}

/** Bytes in memory. */
export class MemoryBytes implements Bytes {
	readonly size_bytes: number;

	constructor(private readonly buffer: Buffer) {
		this.size_bytes = buffer.length;
	}

	read(offset: number, length_bytes: number): Buffer {
		check(this, offset, length_bytes);
		return this.buffer.subarray(offset, offset + length_bytes);
	}
}

/** A 64-bit number; not exact above 2^53, where no offset in a file and no user address is. */
export function readUint64(buffer: Buffer, at: number): number {
	return buffer.readUInt32LE(at + 4) * 2 ** 32 + buffer.readUInt32LE(at);
}

/** The text from `offset` up to a NUL, at most `limit_bytes`. Throws SymbolError. */
export function readText(bytes: Bytes, offset: number, limit_bytes: number): string {
	for (let length = 128; ; length *= 4) {
		const most = Math.min(length, limit_bytes, bytes.size_bytes - offset);
		const part = bytes.read(offset, most);
		const end = part.indexOf(0);
		if (end >= 0) return part.toString('utf8', 0, end);
		if (most < length) return part.toString('utf8');
	}
}
