/** Which waits are recorded: the options that all tools of waits have. */

import { UsageError } from '../errors.js';
import { parseUsec } from '../options/parsers.js';
import { flag, parsed, parsedOr, type ValuesOf } from '../options/typed-option.js';
import { MAX_PERIOD_USEC } from './waits.js';

const DEFAULT_PERIOD_USEC = 1000;

export const waitOptions = () => ({
	period: parsedOr(
		'--period <usec>',
		'of waits shorter than USEC microseconds, record only some, and estimate the rest',
		parseUsec,
		DEFAULT_PERIOD_USEC,
	).conflicts('exact'),
	exact: flag('--exact', 'record every wait; costs more if threads wait often'),
	min: parsed('--min <usec>', 'only waits of USEC microseconds (or 5ms, 2s) or more', parseUsec),
	max: parsed('--max <usec>', 'only waits of USEC microseconds (or 5ms, 2s) or less', parseUsec),
	edges: flag('--no-edges', 'leave out waits that began before tracing, or that end after tracing'),
});

/** What they say. Throws UsageError. */
export function waitSettings(values: ValuesOf<ReturnType<typeof waitOptions>>): {
	period_usec: number;
	min_usec: number;
	max_usec: number;
	edges: boolean;
} {
	const { period, exact, min = 0, max = 0, edges } = values;
	if (max > 0 && min > max) throw new UsageError(`--min ${min} is more than --max ${max}`);
	if (!exact && period > MAX_PERIOD_USEC)
		throw new UsageError('--period can be at most one second: 1000000, or 1s');
	return { period_usec: exact ? 0 : period, min_usec: min, max_usec: max, edges };
}

/** Of what is recorded, for the line that says tracing has begun. */
export const sampledText = ({ period_usec }: { readonly period_usec: number }) =>
	period_usec === 0 ? 'every wait' : `waits below ${period_usec} us are sampled`;
