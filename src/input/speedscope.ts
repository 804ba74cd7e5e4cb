/**
 * Reads files of speedscope: https://www.speedscope.app/file-format-schema.json
 * Such a file has a profile for each thread; those with the same kind of unit are added up, as a
 * flame graph has no threads, and times and bytes are not to be added.
 */
import { FrameTable } from '../aggregate/frame-table.js';
import type { Origin, StackProfile } from '../aggregate/stack-profile.js';
import { MAX_STACK_FRAMES, StackTable } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import type { FrameBudget } from './bounds.js';
import type { Notify } from './format-reader.js';
import { kindOfFile } from './frame-kinds.js';
import { type JsonObject, originOf, plainText } from './tstrace-json.js';
import { inUnit, type Unit } from './units.js';

/** Whether it is one of speedscope's, whatever its version. */
export function isSpeedscope({ $schema, profiles, shared }: JsonObject): boolean {
	if (typeof $schema === 'string' && $schema.includes('speedscope')) return true;
	return Array.isArray(profiles) && isObject(shared);
}

/** One file as it was parsed: a profile for each unit. Throws TstraceError where it is damaged. */
export function speedscopeProfiles(
	file: JsonObject,
	budget: FrameBudget,
	notify: Notify,
): StackProfile[] {
	const { profiles, tstrace } = file;
	if (!Array.isArray(profiles)) throw damaged('it has no profiles');
	const frames = new FrameTable();
	const reader = new StackReader(framesOf(file, frames), budget);
	const byUnit = new Map<string, { unit: Unit; stacks: StackTable; names: string[] }>();
	for (const profile of profiles) {
		if (!isObject(profile)) throw damaged('a profile is not a JSON object');
		const unit = inUnit(plainText(profile.unit)) ?? { unit: undefined, factor: 1 };
		const name = unit.unit ?? NO_UNIT;
		const same = byUnit.get(name) ?? { unit, stacks: new StackTable(), names: [] };
		byUnit.set(name, same);
		same.names.push(plainText(profile.name));
		reader.read(profile, same.stacks, unit.factor);
	}
	const own = isObject(tstrace) ? originOf(tstrace) : {};
	return [...byUnit].map(([name, { unit, stacks, names }]) => {
		if (names.length > 1) {
			const more = names.length > MAX_NAMES ? ', …' : '';
			notify(
				`the result adds up ${names.length} profiles: ${names.slice(0, MAX_NAMES).join(', ')}${more}`,
			);
		}
		// What tstrace says of its unit, such as "samples", is more than speedscope can say.
		const { unit: ownUnit, ...others } = own;
		const said = unit.unit ?? (byUnit.size === 1 ? ownUnit : undefined);
		const origin: Origin = {
			...others,
			...(byUnit.size > 1 ? { event: name } : {}),
			...(said === undefined ? {} : { unit: said }),
		};
		return { frames, stacks, origin, marked: true };
	});
}

const NO_UNIT = 'none';
/** In a notice. */
const MAX_NAMES = 3;

function framesOf({ shared }: JsonObject, table: FrameTable): Int32Array {
	const frames = isObject(shared) ? shared.frames : undefined;
	if (!Array.isArray(frames)) throw damaged('it has no frames');
	return Int32Array.from(frames, (frame: unknown) => {
		if (!isObject(frame) || typeof frame.name !== 'string') throw damaged('a frame has no name');
		return table.intern(
			frame.name,
			typeof frame.file === 'string' ? kindOfFile(frame.file) : 'user',
		);
	});
}

/** Adds a profile's stacks to a table. */
class StackReader {
	/** By their place in the file. */
	readonly #frames: Int32Array;
	readonly #path = new Int32Array(MAX_STACK_FRAMES);
	readonly #budget: FrameBudget;

	constructor(frames: Int32Array, budget: FrameBudget) {
		this.#frames = frames;
		this.#budget = budget;
	}

	read(profile: JsonObject, stacks: StackTable, factor: number): void {
		if (profile.type === 'sampled') this.#sampled(profile, stacks, factor);
		else if (profile.type === 'evented') this.#evented(profile, stacks, factor);
		else throw damaged('a profile is neither sampled nor evented');
	}

	#sampled({ samples, weights }: JsonObject, stacks: StackTable, factor: number): void {
		if (!Array.isArray(samples) || !Array.isArray(weights) || samples.length !== weights.length) {
			throw damaged('a profile needs a weight for each sample');
		}
		for (const [i, sample] of samples.entries()) {
			if (!Array.isArray(sample)) throw damaged('a sample is not a list of frames');
			if (sample.length <= MAX_STACK_FRAMES) {
				for (const [at, frame] of sample.entries()) this.#path[at] = this.#frame(frame);
			}
			this.#add(stacks, sample.length, scaled(numberOf(weights[i]), factor));
		}
	}

	/** Frames are opened and closed; a stack has what goes by until the next event. */
	#evented({ events, endValue, startValue }: JsonObject, stacks: StackTable, factor: number): void {
		if (!Array.isArray(events)) throw damaged('a profile has no events');
		let depth = 0;
		let before = numberOf(startValue ?? 0);
		const advance = (to: number): void => {
			if (to < before) throw damaged('its events are not sorted by time');
			this.#add(stacks, depth, scaled(to - before, factor));
			before = to;
		};
		for (const event of events) {
			if (!isObject(event)) throw damaged('an event is not a JSON object');
			advance(numberOf(event.at));
			depth = this.#openOrClose(event, depth);
		}
		// What is open at the end lasts until then.
		advance(Math.max(before, numberOf(endValue ?? before)));
	}

	/** Returns how many frames are open afterwards. */
	#openOrClose({ type, frame }: JsonObject, depth: number): number {
		const number = this.#frame(frame);
		if (type === 'O') {
			if (depth === MAX_STACK_FRAMES) this.#budget.take(depth + 1);
			this.#path[depth] = number;
			return depth + 1;
		}
		if (type !== 'C' || depth === 0 || this.#path[depth - 1] !== number) {
			throw damaged('an event closes a frame that is not open');
		}
		return depth - 1;
	}

	/** Time without a stack is nobody's. */
	#add(stacks: StackTable, depth: number, value: number): void {
		if (value === 0 || depth === 0) return;
		this.#budget.take(depth);
		stacks.add(this.#path, depth, value);
	}

	#frame(number: unknown): number {
		const frame = typeof number === 'number' ? this.#frames[number] : undefined;
		if (frame === undefined) throw damaged('a stack has a frame that the file does not list');
		return frame;
	}
}

/** Whole nanoseconds where the file counts in more than them: less was not measured. */
function scaled(value: number, factor: number): number {
	return factor === 1 ? value : Math.round(value * factor);
}

/** Throws TstraceError for what no weight and no time can be. */
function numberOf(value: unknown): number {
	if (typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
	throw damaged('a weight or a time is negative, or not a number');
}

function isObject(value: unknown): value is JsonObject {
	return typeof value === 'object' && value !== null;
}

function damaged(what: string): TstraceError {
	return new TstraceError(`it is a damaged speedscope file: ${what}; export it again`);
}
