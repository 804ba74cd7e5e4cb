/** Several ways to the same end, of which a kernel has some: the first that it has is taken. */

import { TstraceError, UsageError } from '../errors.js';

export interface Way<Name extends string> {
	readonly name: Name;
	/** What the kernel lacks for it; undefined: it has all. */
	missing(): string | undefined;
}

export interface Chosen<Name extends string> {
	readonly name: Name;
	/** For -v. */
	readonly because: string;
}

/**
 * The first way this kernel has, best first; TSTRACE_FORCE names another one, for tests.
 * Throws UsageError for an unknown name, TstraceError for a way the kernel does not have.
 */
export function chooseWay<Name extends string>(
	ways: readonly Way<Name>[],
	whenFirst: string,
): Chosen<Name> {
	const forced = process.env.TSTRACE_FORCE;
	if (forced) {
		const way = ways.find(({ name }) => name === forced);
		if (!way) {
			const names = ways.map(({ name }) => name).join(', ');
			throw new UsageError(`TSTRACE_FORCE=${forced}: must be one of ${names}`);
		}
		const why = way.missing();
		if (why) throw new TstraceError(`TSTRACE_FORCE=${forced}: ${why}`);
		return { name: way.name, because: 'forced by TSTRACE_FORCE' };
	}
	const reasons: string[] = [];
	for (const way of ways) {
		const why = way.missing();
		if (!why) return { name: way.name, because: reasons.join('; ') || whenFirst };
		reasons.push(why);
	}
	throw new TstraceError(`this tool cannot trace on this kernel: ${reasons.join('; ')}`);
}
