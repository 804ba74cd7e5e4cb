/** Small files of the kernel's: /proc, /sys. */
import { readFileSync } from 'node:fs';

/** Undefined: it is not there any more, or may not be read. */
export function textOf(path: string): string | undefined {
	try {
		return readFileSync(path, 'utf8');
	} catch {
		return undefined;
	}
}
