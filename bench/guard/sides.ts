/** The two sides that the guard compares. */

import type { Guarded, Side } from '../experiments/measure.js';
import { Failed } from '../shared/children.js';
import { TSTRACE } from '../shared/tracer.js';
import { BASE, NOT_IN_BASE, NOW } from './judge.js';

/** What tstrace exits with if it does not know an option, an argument or a command. */
const STATUS_OF_USAGE = 2;

/** What the base does not know yet is no failure. */
function asBase(side: Side): Side {
	const run = async () => {
		try {
			return await side.run();
		} catch (error) {
			const unknown = error instanceof Failed && error.status === STATUS_OF_USAGE;
			throw unknown ? new Error(NOT_IN_BASE) : error;
		}
	};
	return { ...side, name: BASE, run };
}

/** The base's tstrace, and this working copy's. */
export const sidesOf = (guarded: Guarded, base: string): Side[] => [
	asBase(guarded.side(base)),
	{ ...guarded.side(TSTRACE), name: NOW },
];
