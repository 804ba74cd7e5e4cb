/** What a pprof file says of itself: types of samples, times, and tstrace's comments. */
import type { Origin } from '../aggregate/stack-profile.js';
import { TstraceError } from '../errors.js';
import { COMMENT_FIELDS, UNKNOWN_TYPE } from '../render/pprof-words.js';
import { type PprofFile, PROFILE } from './pprof-file.js';
import { damaged, type Fields } from './protobuf.js';
import { inUnit, type Unit } from './units.js';

/** Numbers of fields. */
const VALUE_TYPE = { type: 1, unit: 2 } as const;
const MAX_SAMPLE_TYPES = 64;
const MAX_COMMENTS = 64;
/** A unit of counts that were multiplied by a power of ten: "count/1000". */
const SCALED_UNIT = /^(.*)\/(10{1,9})$/;

/** What one of the values of each sample is. */
export interface SampleType {
	readonly name: string;
	/** Which of the values. */
	readonly index: number;
	readonly unit: Unit;
	/** What values are divided by, after they are in the unit. */
	readonly divisor: number;
	readonly origin: Origin;
	/** What pprof shows when it is not told what to show. */
	readonly preferred: boolean;
}

interface ValueType {
	readonly type: string;
	readonly unit: string;
}

/** All types of samples, in the file's order. Throws TstraceError. */
export function sampleTypes(file: PprofFile): SampleType[] {
	const types: ValueType[] = [];
	const comments: string[] = [];
	const times: Record<string, number> = {};
	let periodUnit = '';
	let defaultType = '';
	for (const all = file.fields(); all.next(); ) {
		switch (all.field) {
			case PROFILE.sampleType:
				types.push(valueType(file, all.message()));
				if (types.length > MAX_SAMPLE_TYPES) throw damaged();
				break;
			case PROFILE.periodType:
				periodUnit = valueType(file, all.message()).unit;
				break;
			case PROFILE.comment:
				all.eachNumber(({ value }) => {
					if (comments.length < MAX_COMMENTS) comments.push(file.text(value));
				});
				break;
			case PROFILE.defaultType:
				defaultType = file.text(all.value);
				break;
			case PROFILE.time:
			case PROFILE.duration:
			case PROFILE.period:
				times[all.field] = all.value;
				break;
		}
	}
	if (types.length === 0) throw damaged();
	const said = {
		...commented(comments),
		...timed(times[PROFILE.time] ?? 0, times[PROFILE.duration] ?? 0),
		...(periodUnit === 'nanoseconds' && (times[PROFILE.period] ?? 0) > 0
			? { period_ns: times[PROFILE.period] as number }
			: {}),
	};
	// Where the file does not say which, pprof shows the last.
	const shown = types.findIndex(({ type }) => type === defaultType);
	const preferred = shown < 0 ? types.length - 1 : shown;
	return types.map((type, index) => ({
		...sampleType(type, index, said, types.length === 1),
		preferred: index === preferred,
	}));
}

/** The types that are asked for. Throws TstraceError when there is none. */
export function chosenTypes(types: readonly SampleType[], event: string | undefined): SampleType[] {
	const chosen = types.filter(
		({ name, origin }) => event === undefined || name === event || origin.event === event,
	);
	if (chosen.length > 0) return chosen;
	throw new TstraceError(
		`there is no event ${event}; choose one of ${types.map(({ name }) => name).join(', ')}`,
	);
}

function valueType(file: PprofFile, fields: Fields): ValueType {
	let type = 0;
	let unit = 0;
	while (fields.next()) {
		if (fields.field === VALUE_TYPE.type) type = fields.value;
		if (fields.field === VALUE_TYPE.unit) unit = fields.value;
	}
	return { type: file.text(type), unit: file.text(unit) };
}

function sampleType(
	{ type, unit }: ValueType,
	index: number,
	said: Origin,
	only: boolean,
): Omit<SampleType, 'preferred'> {
	const [, plain = unit, divisor = '1'] = SCALED_UNIT.exec(unit) ?? [];
	const known = unitOf(type, plain);
	// tstrace says itself which event it was, or that there is no more to say than the tool's name.
	const own = only && (said.tool !== undefined || said.event !== undefined);
	const event = own ? said.event : type === UNKNOWN_TYPE || type === '' ? undefined : type;
	const { event: _, ...others } = said;
	const origin: Origin = {
		...others,
		...(event === undefined ? {} : { event }),
		...(known.unit === undefined ? {} : { unit: known.unit }),
	};
	return { name: type, index, unit: known, divisor: Number(divisor), origin };
}

function unitOf(type: string, unit: string): Unit {
	if (unit === 'count' || unit === '') {
		return { unit: /^samples?$/.test(type) ? 'samples' : undefined, factor: 1 };
	}
	return inUnit(unit) ?? { unit, factor: 1 };
}

/** "host: build7" of tstrace's own files. */
function commented(comments: readonly string[]): Origin {
	const said: Record<string, string | string[]> = {};
	for (const comment of comments) {
		const field = COMMENT_FIELDS.find((each) => comment.startsWith(`${each}: `));
		if (!field) continue;
		const text = comment.slice(field.length + 2);
		said[field] = field === 'command' ? [text] : text;
	}
	return said;
}

function timed(start_ns: number, duration_ns: number): Origin {
	return {
		...(start_ns > 0 ? { start: new Date(Math.round(start_ns / 1e6)).toISOString() } : {}),
		...(duration_ns > 0 ? { duration_s: duration_ns / 1e9 } : {}),
	};
}
