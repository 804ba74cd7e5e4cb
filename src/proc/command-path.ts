/** Where COMMAND's file is: as execvp and shells find it, and the only place that looks. */
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { TstraceError } from '../errors.js';

/** Where there is no PATH: man 3 exec. */
export const DEFAULT_PATH = '/usr/bin:/bin';

/** Throws TstraceError where there is none, or none that may be executed. */
export function commandPath(name: string): string {
	const candidates = name.includes('/')
		? [name]
		: (process.env.PATH ?? DEFAULT_PATH).split(':').map((folder) => join(folder || '.', name));
	let refused: string | undefined;
	for (const candidate of candidates) {
		const stat = statOf(candidate);
		if (stat?.isDirectory() && name.includes('/')) {
			throw new TstraceError(`cannot execute ${name}: it is a folder; name a file in it`);
		}
		if (!stat?.isFile()) continue;
		try {
			accessSync(candidate, constants.X_OK);
			return candidate;
		} catch {
			refused = candidate; // there, but not ours to execute; a later folder may have another
		}
	}
	throw new TstraceError(
		refused
			? `cannot execute ${refused}: it is not executable; chmod +x it, or name its interpreter`
			: `there is no command ${name}: check its spelling, and PATH`,
	);
}

/** Undefined where there is nothing, or nothing that we may look at. */
function statOf(path: string): Stats | undefined {
	try {
		return statSync(path);
	} catch {
		return undefined;
	}
}
