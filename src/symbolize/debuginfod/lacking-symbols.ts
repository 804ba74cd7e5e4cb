/** Symbols that are fetched once it is known which files lack them: who asks, for which, and what came of it. */

import { MIN_SHARE } from '../../aggregate/cut-notices.js';
import { type CapturedStack, stackValue } from '../../aggregate/stack.js';
import type { Patience } from '../../reader.js';
import type { Place } from '../code-place.js';
import type { MappedFile } from '../mappings/mapped-file.js';
import type { DebuginfodUse, Notice } from '../notices.js';
import { filesLackingNames } from '../unnamed.js';
import { cacheFolder, DebugFileCache } from './cache.js';
import { fetchDebugFiles, type Outcome, type WantedFile } from './fetch.js';
import { debuginfodSettings, isDebuginfodSet } from './settings.js';

/** More files than that make nobody wait. */
const MAX_FILES = 32;

/** Whether debug files of debuginfod are used, and fetched. */
export class Debuginfod {
	readonly use: DebuginfodUse;
	/** Of files that somebody fetched before; reading it asks nobody, and needs no variable. */
	readonly cache: DebugFileCache | undefined;
	#outcomes: readonly Outcome[] = [];
	#unusable: readonly string[] = [];

	/** `wanted`: the user has not said no. `patience`: files may be fetched now, if the environment says so. */
	constructor(
		wanted: boolean,
		private readonly patience?: Patience,
		private readonly env: NodeJS.ProcessEnv = process.env,
	) {
		const isSet = isDebuginfodSet(env);
		this.use = !isSet ? 'unset' : wanted ? 'on' : 'off';
		this.cache = wanted ? new DebugFileCache(cacheFolder(env)) : undefined;
	}

	/** Whether `fetch` may do anything. */
	get mayFetch(): boolean {
		return this.use === 'on' && this.patience !== undefined && this.cache !== undefined;
	}

	/**
	 * Fetches what these files lack, the first ones first; returns those whose symbols have come. Without
	 * DEBUGINFOD_URLS, while tracing goes on, and if nothing is lacking, it does nothing.
	 */
	async fetch(lacking: readonly (readonly [MappedFile, buildId: string])[]): Promise<MappedFile[]> {
		const { patience, cache } = this;
		if (this.use !== 'on' || !patience || !cache || lacking.length === 0) return [];
		const wanted = new Map<string, WantedFile>();
		for (const [{ path }, buildId] of lacking) {
			// The same file may be mapped from several places.
			if (!wanted.has(buildId)) wanted.set(buildId, { path, buildId });
		}
		const settings = debuginfodSettings(this.env);
		this.#unusable = settings.unusable;
		if (settings.servers.length === 0) return [];
		const files = [...wanted.values()].slice(0, MAX_FILES);
		this.#outcomes = await fetchDebugFiles(files, settings, cache, patience);
		const came = new Set(
			this.#outcomes.flatMap((each) => ('host' in each ? [each.of.buildId] : [])),
		);
		return lacking.flatMap(([file, buildId]) => (came.has(buildId) ? [file] : []));
	}

	notices(): Notice[] {
		const fetched = this.#outcomes.filter((each) => 'host' in each);
		const reasons = new Map<string, string[]>();
		for (const each of this.#outcomes) {
			if ('why' in each) reasons.set(each.why, [...(reasons.get(each.why) ?? []), each.of.path]);
		}
		return [
			...this.#unusable.map((what): Notice => ({ kind: 'server-unusable', what })),
			...(fetched.length > 0
				? [
						{
							kind: 'symbols-fetched',
							paths: fetched.map(({ of }) => of.path),
							bytes: fetched.reduce((sum, { bytes }) => sum + bytes, 0),
							hosts: [...new Set(fetched.map(({ host }) => host))],
						} as const,
					]
				: []),
			...[...reasons].map(([why, paths]): Notice => ({ kind: 'symbols-not-fetched', paths, why })),
		];
	}
}

/** Files whose functions lack names, in a share of what is shown that is worth a line; the greatest share first. */
export function filesByLack(
	stacks: readonly CapturedStack[],
	user: readonly (readonly Place[])[],
): MappedFile[] {
	let total = 0;
	const values = new Map<MappedFile, number>();
	for (const [i, stack] of stacks.entries()) {
		const value = stackValue(stack);
		total += value;
		for (const file of filesLackingNames(user[i] ?? []))
			values.set(file, (values.get(file) ?? 0) + value);
	}
	return [...values]
		.filter(([, value]) => value > 0 && value >= MIN_SHARE * total)
		.sort(([, a], [, b]) => b - a)
		.map(([file]) => file);
}
