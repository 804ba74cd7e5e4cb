/** Units as formats name them. */

export interface Unit {
	/** As an Origin has it; undefined: nobody knows. */
	readonly unit: string | undefined;
	/** What values are multiplied by. */
	readonly factor: number;
}

/** Times become nanoseconds, so that times of any unit add up. */
const UNITS: ReadonlyMap<string, Unit> = new Map(
	[
		{ names: ['nanoseconds', 'nanosecond', 'ns'], unit: 'ns', factor: 1 },
		{ names: ['microseconds', 'microsecond', 'us'], unit: 'ns', factor: 1e3 },
		{ names: ['milliseconds', 'millisecond', 'ms'], unit: 'ns', factor: 1e6 },
		{ names: ['seconds', 'second', 's'], unit: 'ns', factor: 1e9 },
		{ names: ['bytes', 'byte'], unit: 'bytes', factor: 1 },
	].flatMap(({ names, unit, factor }) => names.map((name) => [name, { unit, factor }] as const)),
);

/** Undefined: it is neither time nor bytes. */
export function inUnit(name: string): Unit | undefined {
	return UNITS.get(name);
}
