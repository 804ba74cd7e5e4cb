/** Whether two recordings can be compared, and what to know when they are. Pure values: no I/O. */

import { sameEvent, samplingText } from '../../aggregate/sampled-event.js';
import type { Origin } from '../../aggregate/stack-profile.js';
import { plainText } from '../../input/tstrace-json.js';
import type { Normalization, Sides } from './difference.js';

type Text = string | undefined;

/** Lengths of recordings that differ by less are the same. */
const SAME_DURATION = 0.05;

/** Why not, and what to do; undefined: they can. What one of them does not say is no reason. */
export function refusalOf(origins: Sides<Origin>, normalization: Normalization): Text {
	return (
		differentUnits(origins) ??
		differentEvents(origins) ??
		(normalization === 'total' ? undefined : amountsDiffer(origins))
	);
}

function differentUnits({ before, after }: Sides<Origin>): Text {
	if (!before.unit || !after.unit || before.unit === after.unit) return undefined;
	return (
		`cannot compare ${before.unit} with ${after.unit}: neither can be converted to the other; ` +
		'record both with the same tool and options'
	);
}

function differentEvents({ before, after }: Sides<Origin>): Text {
	// The event says what was counted, with any tool; the tool says it where there is no event.
	const by = before.event && after.event ? 'event' : 'tool';
	const [was, is] = [before[by], after[by]];
	if (!was || !is || sameEvent(was, is)) return undefined;
	return `cannot compare ${was} with ${is}: they count different things; record both with the same ${by}`;
}

/** Shares can be compared where amounts cannot. */
function amountsDiffer({ before, after }: Sides<Origin>): Text {
	const advice = 'so diff can compare only shares: use --normalize total';
	if (before.unit !== after.unit) {
		const unknown = before.unit ? 'after' : 'before';
		return `${unknown} has no unit, and the other is in ${before.unit ?? after.unit}, ${advice}`;
	}
	const [was, is] = [samplingText(before), samplingText(after)];
	if (before.unit !== 'samples' || was === is || !was || !is) return undefined;
	return `samples were taken ${was} before and ${is} after, ${advice}`;
}

/** What differs between the recordings beside what was counted; what one does not say is left out. */
export function remarksOf({ before, after }: Sides<Origin>): string[] {
	const differing = <T>(name: string, was: T | undefined, is: T | undefined, unit = '') =>
		was === undefined || is === undefined || was === is
			? []
			: [`${name}: ${was}${unit} before, ${is}${unit} after`];
	return [
		...unknownUnit({ before, after }),
		...differing('events differ', before.event, after.event),
		...differing('hosts differ', before.host, after.host),
		...differing('kernels differ', before.kernel, after.kernel),
		...(sameDuration(before.duration_s, after.duration_s)
			? []
			: differing('durations differ', seconds(before), seconds(after), ' s')),
		...differing('sampling periods differ', before.period_ns, after.period_ns, ' ns'),
		...differing('sampling differs', samplingText(before), samplingText(after)),
		...differing('filters differ', filtersText(before), filtersText(after)),
	];
}

function unknownUnit({ before, after }: Sides<Origin>): string[] {
	if (!before.unit === !after.unit) return [];
	const [known, unknown] = before.unit ? ['before', 'after'] : ['after', 'before'];
	return [
		`${unknown} has no unit, ${known} is in ${before.unit ?? after.unit}: ` +
			'shares are right only if both have the same unit',
	];
}

function sameDuration(a = 0, b = 0): boolean {
	return Math.abs(a - b) <= SAME_DURATION * Math.max(a, b);
}

const seconds = ({ duration_s }: Origin): Text =>
	duration_s === undefined ? undefined : `${Number(duration_s.toPrecision(3))}`;

/** "pids 1, 2; follow" */
function filtersText({ filters }: Origin): Text {
	if (!filters) return undefined;
	const parts = Object.entries(filters).map(([name, value]) =>
		value === true
			? name
			: `${name} ${Array.isArray(value) ? value.map(plainText).join(', ') : plainText(value)}`,
	);
	return parts.sort().join('; ') || 'none';
}
