/** Whether a descriptor is a terminal. */
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';

/** node:tty takes 5 ms to load, as it brings node's sockets: it is asked only about what may be a terminal. */
export function isTerminal(fd: number): boolean {
	try {
		return fstatSync(fd).isCharacterDevice() && isatty(fd);
	} catch {
		// It is closed.
		return false;
	}
}
