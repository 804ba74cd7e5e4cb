/** Runs an experiment's sides in turn. */
import { withinLimit } from '../shared/children.js';
import type { Experiment, Sample, Side } from './measure.js';
import { isOurs } from './measure.js';
import type { MissingSide, Runs } from './results.js';

const firstLine = (error: unknown) =>
	(error instanceof Error ? error.message : `${error}`).split('\n')[0]?.slice(0, 200) ?? '';

/** Of one side in one round, s: a peer that hangs costs no more, once. */
const LIMIT_S = 60;

type Samples = Map<string, Sample[]>;

/** One round; what cannot take part after all is added to `missing`. */
async function round(
	sides: readonly Side[],
	samples: Samples,
	missing: MissingSide[],
	limit_s: number,
) {
	for (const side of sides) {
		if (missing.some(({ name }) => name === side.name)) continue;
		try {
			samples.set(side.name, [
				...(samples.get(side.name) ?? []),
				await withinLimit(limit_s, () => side.run()),
			]);
		} catch (error) {
			// A peer that does not work on this kernel is no reason to stop; tstrace's failure is.
			if (isOurs(side.name)) throw error;
			samples.delete(side.name);
			missing.push({ name: side.name, why: firstLine(error) });
		}
	}
}

/** There and back again, so that no side always follows the same other. */
export async function runRounds(
	experiment: Experiment,
	rounds: number,
	limit_s = experiment.limit_s ?? LIMIT_S,
): Promise<Runs> {
	const count = Math.min(rounds, experiment.rounds ?? rounds);
	const missing: MissingSide[] = experiment.sides.flatMap(({ name, missing: why }) =>
		why === undefined ? [] : { name, why },
	);
	const samples: Samples = new Map();
	const end = await withinLimit(limit_s, async () => experiment.prepare?.());
	try {
		for (let i = 0; i < count; i++) {
			const sides = i % 2 ? experiment.sides.toReversed() : experiment.sides;
			await round(sides, samples, missing, limit_s);
		}
	} finally {
		await end?.();
	}
	return { samples, missing, rounds: count };
}
