/** The file of the program that a process runs, of which a part is read now and then. */
import { isOnLocalMount } from '../../proc/answers.js';
import { openRegular, readFile } from '../../proc/open.js';

/**
 * A part of the file; undefined where it cannot be read, or where reading may be waiting: on any but this machine's own
 * disks.
 */
export function readProgram(pid: number, offset: number, length_bytes: number): Buffer | undefined {
	const path = `/proc/${pid}/exe`;
	if (!isOnLocalMount(path)) return undefined;
	return readFile(
		openRegular(path, { asked: true }),
		(bytes) => bytes.read(offset, length_bytes),
		() => undefined,
	);
}
