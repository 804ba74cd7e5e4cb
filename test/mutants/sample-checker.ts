/**
 * A plug-in of StrykerJS: it lets a sample of mutants through, drawn by a seed. StrykerJS has no option for that;
 * but a checker may refuse mutants one by one.
 */
import { createHash } from 'node:crypto';

/** What StrykerJS hands over of a mutant: @stryker-mutator/api, core/mutant. */
export interface Mutant {
	readonly id: string;
	readonly fileName: string;
	readonly mutatorName: string;
	readonly replacement: string;
	readonly location: unknown;
}

export interface SampleOptions {
	/** How many at most. */
	readonly size: number;
	readonly seed: number;
}

/** Says of a mutant where it stands in the draw: the same wherever the tree lies. */
function lotOf({ fileName, mutatorName, replacement, location }: Mutant, seed: number): string {
	const file = /src\/.*$/.exec(fileName)?.[0] ?? fileName;
	const text = JSON.stringify([seed, file, mutatorName, replacement, location]);
	return createHash('sha256').update(text).digest('hex');
}

/** The ids of the sample. */
export function drawn(mutants: readonly Mutant[], { size, seed }: SampleOptions): Set<string> {
	const lots = mutants.map((mutant) => [lotOf(mutant, seed), mutant.id] as const);
	lots.sort(([a], [b]) => (a < b ? -1 : 1));
	return new Set(lots.slice(0, size).map(([, id]) => id));
}

function create(options: { readonly sample: SampleOptions }) {
	return {
		async init(): Promise<void> {},
		/** All at once, so that they can be counted. */
		async group(mutants: readonly Mutant[]): Promise<string[][]> {
			return [mutants.map(({ id }) => id)];
		},
		async check(mutants: readonly Mutant[]): Promise<Record<string, object>> {
			const sample = drawn(mutants, options.sample);
			return Object.fromEntries(
				mutants.map(({ id }) => [
					id,
					sample.has(id)
						? { status: 'passed' }
						: { status: 'compileError', reason: 'not in the sample' },
				]),
			);
		},
	};
}
create.inject = ['options'] as const;

export const strykerPlugins = [{ kind: 'Checker', name: 'sample', factory: create }];
