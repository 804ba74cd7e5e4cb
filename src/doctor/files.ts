/** Files of the kernel's. */
import { readFileSync } from 'node:fs';

/** Undefined: it is not there, or may not be read. */
export function textOf(path: string): string | undefined {
	try {
		return readFileSync(path, 'utf8');
	} catch {
		return undefined;
	}
}
