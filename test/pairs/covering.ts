/**
 * A covering array: few rows of levels (an option with a value), in which each two options that can be
 * together are together once, and each level is there once. Pure. Levels and options are numbers from 0.
 */

/** What can be together. */
export interface Model {
	/** Of each level, the option that it is of. */
	readonly options: readonly number[];
	/** A row with both, and perhaps with what one of them needs; undefined: none can have both. */
	together(a: number, b: number): readonly number[] | undefined;
	/** Whether all of these can be together. */
	allowed(row: readonly number[]): boolean;
}

export interface Covering {
	readonly rows: ReadonlyArray<readonly number[]>;
	/** Levels of two options that no row can have both of. */
	readonly apart: ReadonlyArray<readonly [number, number]>;
}

/** What rows are to have: two options, or a level. */
class Goals {
	/** Those that no row has yet, with a row that begins with them. */
	readonly open = new Map<string, readonly number[]>();
	readonly #options: readonly number[];

	constructor(options: readonly number[]) {
		this.#options = options;
	}

	#ofTwo(a: number, b: number): string {
		const [one = 0, other = 0] = [this.#options[a], this.#options[b]];
		return `${Math.min(one, other)} ${Math.max(one, other)}`;
	}

	add(a: number, b: number, row: readonly number[]): void {
		for (const goal of [this.#ofTwo(a, b), `${a}`, `${b}`])
			if (!this.open.has(goal)) this.open.set(goal, row);
	}

	/** How many a level would bring to a row. */
	gain(row: readonly number[], level: number): number {
		const twos = row.filter((each) => this.open.has(this.#ofTwo(each, level))).length;
		return twos + (this.open.has(`${level}`) ? 1 : 0);
	}

	reach(row: readonly number[]): void {
		for (const a of row) {
			this.open.delete(`${a}`);
			for (const b of row) if (a !== b) this.open.delete(this.#ofTwo(a, b));
		}
	}
}

/** Which two levels can be together. */
class Pairs {
	readonly apart: [number, number][] = [];
	readonly #together = new Set<string>();

	constructor(model: Model, goals: Goals) {
		const levels = [...model.options.keys()];
		for (const a of levels) {
			for (const b of levels.slice(a + 1)) {
				if (model.options[a] === model.options[b]) continue;
				const row = model.together(a, b);
				if (!row) {
					this.apart.push([a, b]);
					continue;
				}
				this.#together.add(`${a} ${b}`).add(`${b} ${a}`);
				goals.add(a, b, row);
			}
		}
	}

	fits(row: readonly number[], level: number): boolean {
		return row.every((each) => this.#together.has(`${each} ${level}`));
	}
}

/** Greedy: each row begins with a goal that no row has reached, and takes in what reaches the most others. */
export function coveringRows(model: Model): Covering {
	const goals = new Goals(model.options);
	const pairs = new Pairs(model, goals);
	const rows: (readonly number[])[] = [];
	for (const [goal, seed] of goals.open) {
		const row = [...seed];
		const refused = new Set<number>();
		const best = () =>
			[...model.options.keys()]
				.filter((level) => !refused.has(level) && pairs.fits(row, level))
				.map((level) => ({ level, gain: goals.gain(row, level) }))
				.filter(({ gain }) => gain > 0)
				.reduce((most, each) => (each.gain > most.gain ? each : most), { level: -1, gain: 0 });
		for (let { level } = best(); level >= 0; { level } = best()) {
			if (model.allowed([...row, level])) row.push(level);
			else refused.add(level);
		}
		goals.reach(row);
		// Also if its own row does not have it: it would be open for ever.
		goals.open.delete(goal);
		rows.push(row);
	}
	return { rows, apart: pairs.apart };
}
