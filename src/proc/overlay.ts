/** Files of overlay file systems, which most containers have: where they really lie. */
import { type BigIntStats, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { answers, mountOf } from './answers.js';
import type { Mount } from './mounts.js';

/** The upper one hides what is in the lower ones, and these are in order. */
const UPPER = /^upperdir=(.*)/s;
const LOWER = /^lowerdir=(.*)/s;
/** Docker's limit is 128. */
const MAX_LAYERS = 256;

/** The folders that an overlay shows as one, the uppermost first; none: it is no overlay. */
export function layersOf({ type, options }: Mount): string[] {
	if (type !== 'overlay') return [];
	const upper = options.flatMap((option) => UPPER.exec(option)?.[1] ?? []);
	const lower = options.flatMap((option) => LOWER.exec(option)?.[1]?.split(':') ?? []);
	// Behind "::" are layers of data, whose files have other names.
	const data = lower.indexOf('');
	return [...upper, ...(data < 0 ? lower : lower.slice(0, data))].slice(0, MAX_LAYERS);
}

/**
 * The file that the kernel reads when a process reads one that it has mapped from an overlay. `mapped`: its link in
 * /proc/PID/map_files. Undefined: it is not on an overlay, is no longer where it was, or the layers cannot be seen from
 * here.
 */
export function fileBelow(mapped: string): BigIntStats | undefined {
	const found = mountOf(mapped);
	const layers = found ? layersOf(found.mount) : [];
	const shown = layers.length > 0 ? statOf(mapped) : undefined;
	if (!found || !shown) return undefined;
	const path = relative(found.mount.folder, found.path);
	for (const layer of layers) {
		const below = statOf(join(layer, path));
		if (below) return isSame(shown, below) ? below : undefined;
	}
	return undefined;
}

/** An overlay shows a file with the size and the time of the one below. */
const isSame = (shown: BigIntStats, below: BigIntStats): boolean =>
	below.isFile() && shown.size === below.size && shown.mtimeNs === below.mtimeNs;

function statOf(path: string): BigIntStats | undefined {
	if (!answers(path)) return undefined;
	try {
		return statSync(path, { bigint: true, throwIfNoEntry: false });
	} catch {
		return undefined;
	}
}
