/**
 * Debug files: symbols that were split off a program. Found by build-id or by .gnu_debuglink, as
 * gdb does, or in the cache of debuginfod. Source: gdb's manual, "Separate Debug Files".
 */
import { closeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Bytes, FileBytes, SymbolError } from '../../elf/bytes.js';
import { Elf } from '../../elf/elf.js';
import { type OpenFile, openRegular } from '../../proc/open.js';
import type { DebugFileCache } from '../debuginfod/cache.js';

const DEBUG_FOLDER = '/usr/lib/debug';
/** A larger one is not read to the end to see whether it is the right one. */
const MAX_CRC_BYTES = 128 * 2 ** 20;

interface DebugFile {
	readonly elf: Elf;
	close(): void;
}

/** Where debug files are looked for. */
export interface DebugFilePlaces {
	/** Folders in which paths begin, "" for ours: the first that has it counts. */
	readonly roots: readonly string[];
	/** Of debuginfod; undefined: not there. */
	readonly cache?: DebugFileCache | undefined;
}

/**
 * Opens the debug file of `elf` (whose path is `path`, under one of the roots); undefined when there
 * is none. Damaged ones are passed over.
 */
export function openDebugFile(
	elf: Elf,
	path: string,
	places: DebugFilePlaces,
): DebugFile | undefined {
	for (const file of candidates(elf, path, places)) {
		try {
			const debug = new Elf(new FileBytes(file.fd, file.stat.size));
			if (belongs(elf, debug)) return { elf: debug, close: () => closeSync(file.fd) };
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
		}
		closeSync(file.fd);
	}
	return undefined;
}

/** Each is to be closed by who takes it. */
function* candidates(
	elf: Elf,
	path: string,
	{ roots, cache }: DebugFilePlaces,
): Generator<OpenFile> {
	for (const candidate of pathsOf(elf, path, roots)) {
		const file = openRegular(candidate);
		if (file) yield file;
	}
	const cached = elf.buildId && cache?.open(elf.buildId);
	if (cached) yield cached;
}

function* pathsOf(elf: Elf, path: string, roots: readonly string[]): Generator<string> {
	const id = elf.buildId;
	const link = elf.debugLink()?.name;
	const folder = dirname(path);
	for (const root of roots) {
		if (id) yield `${root}${DEBUG_FOLDER}/.build-id/${id.slice(0, 2)}/${id.slice(2)}.debug`;
		if (!link) continue;
		if (`${folder}/${link}` !== path) yield `${root}${folder}/${link}`;
		yield `${root}${folder}/.debug/${link}`;
		yield `${root}${DEBUG_FOLDER}${folder}/${link}`;
	}
}

/** By the build-id where both have one, else by the checksum that the program has of it. */
function belongs(elf: Elf, debug: Elf): boolean {
	if (elf.buildId && debug.buildId) return elf.buildId === debug.buildId;
	return elf.debugLink()?.crc === crc32(debug.bytes);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
	let crc = byte;
	for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
	return crc;
});

/** The CRC-32 of all of it; undefined when it is too large. Throws SymbolError. */
export function crc32(bytes: Bytes): number | undefined {
	if (bytes.size_bytes > MAX_CRC_BYTES) return undefined;
	let crc = 0xffffffff;
	for (let at = 0; at < bytes.size_bytes; at += 2 ** 20) {
		for (const byte of bytes.read(at, Math.min(2 ** 20, bytes.size_bytes - at))) {
			crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] as number);
		}
	}
	return ~crc >>> 0;
}
