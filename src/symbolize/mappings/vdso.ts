/** The code that the kernel maps into every process ([vdso]); ours is like everybody's. */
import { closeSync, openSync, readSync } from 'node:fs';
import { parseMaps } from '../../proc/maps.js';
import { readMaps } from '../../proc/process-facts.js';

const MAX_VDSO_BYTES = 2 ** 20;

/** An ELF file as it lies in memory; undefined when it cannot be read. */
export function readVdso(): Buffer | undefined {
	const mapping = parseMaps(readMaps('self') ?? '').find(({ path }) => path === '[vdso]');
	if (!mapping || mapping.end - mapping.start > MAX_VDSO_BYTES) return undefined;
	const buffer = Buffer.alloc(mapping.end - mapping.start);
	let fd: number | undefined;
	try {
		fd = openSync('/proc/self/mem', 'r');
		const got = readSync(fd, buffer, 0, buffer.length, mapping.start);
		return got === buffer.length ? buffer : undefined;
	} catch {
		return undefined;
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}
