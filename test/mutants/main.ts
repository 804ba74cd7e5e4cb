/**
 * `make mutants`: puts bugs in, one at a time, and looks whether tests notice.
 *
 * usage: main.js [--file FILE] [--tool TOOL] [--id 'ID...']
 *
 * Exit status 1: a mutation of the table survived or does not fit; 2: wrong usage.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { judgeAll, limitOf, type TestRun, type Verdict, whyNoJudge } from './judge.js';
import { endOurs, unmountBelow } from './leftovers.js';
import { isAskedFor, type Mutation, Unfit } from './mutation.js';
import { merged, page, type Results, type TableResult, versionOf } from './results.js';
import { killRunning } from './run-group.js';
import { runTest } from './run-test.js';
import { closeScratch, openScratch, withMutation } from './scratch.js';
import { runStryker, type Target, targetsOf } from './stryker.js';
import { MUTATIONS } from './table.js';

const RESULTS = resolve('test/mutants/results.json');
const PAGE = resolve('docs/mutants.md');
/** Without a mutant, where it is not known yet how long the test takes. */
const FIRST_LIMIT_MS = 600_000;
const MOST_TRIES = 3;

const out = (text: string) => process.stdout.write(`${text}\n`);
const today = () => new Date().toISOString().slice(0, 10);

interface Chosen {
	readonly mutations: readonly Mutation[];
	readonly targets: readonly Target[];
}

function chosen(): Chosen {
	const { values } = parseArgs({
		options: { file: { type: 'string' }, tool: { type: 'string' }, id: { type: 'string' } },
	});
	const { file, tool } = values;
	const ids = (values.id ?? '').split(/[\s,]+/).filter(Boolean);
	const strange = ids.find((id) => !MUTATIONS.some((mutation) => mutation.id === id));
	if (strange) {
		process.stderr.write(`mutants: no mutation ${strange} in test/mutants/table\n`);
		process.exit(2);
	}
	return {
		mutations: MUTATIONS.filter((mutation) => isAskedFor(mutation, { ids, file, tool })),
		targets: ids.length > 0 ? [] : targetsOf(file, tool),
	};
}

/** A test, and how it does without a mutant. */
interface Judge {
	readonly test: string;
	readonly only: string | undefined;
	/** How long it may take with a mutant. */
	readonly limit_ms: number;
	/** How often it has to fail with a mutant, so that this is no accident. */
	readonly times: number;
	/** Why it cannot judge any; undefined: it can. */
	readonly unable: string | undefined;
}

const judges = new Map<string, Judge>();

/** The judge of a mutation; of those that share one, the test runs once without a mutant. */
async function judgeFor({ test, only }: Mutation): Promise<Judge> {
	const key = JSON.stringify([test, only]);
	const judge = judges.get(key) ?? (await examined(test, only));
	judges.set(key, judge);
	return judge;
}

/**
 * Live tests may fail by accident, on a busy machine: they must catch twice. One that has done so without a
 * mutant has several tries, and must catch as often.
 */
async function examined(test: string, only: string | undefined): Promise<Judge> {
	let unable: string | undefined;
	for (let tries = 1; tries <= MOST_TRIES; tries++) {
		const run = await runTest(test, only, FIRST_LIMIT_MS);
		unable = whyNoJudge(run);
		const usual = test.startsWith('live/') ? 2 : 1;
		const times = tries === 1 ? usual : MOST_TRIES;
		if (!unable) return { test, only, limit_ms: limitOf(run.ms), times, unable };
	}
	return { test, only, limit_ms: FIRST_LIMIT_MS, times: MOST_TRIES, unable };
}

async function verdictOn(mutation: Mutation): Promise<Verdict> {
	try {
		const { test, only, limit_ms, times, unable } = await judgeFor(mutation);
		if (unable) throw new Unfit(unable);
		return await withMutation(mutation, async () => {
			const runs: TestRun[] = [];
			let verdict: Verdict;
			do {
				runs.push(await runTest(test, only, limit_ms));
				verdict = judgeAll(runs);
			} while (verdict.is === 'caught' && runs.length < times);
			return verdict;
		});
	} catch (error) {
		if (!(error instanceof Unfit)) throw error;
		return { is: 'unfit', why: error.message };
	}
}

function keep(table: Results['table'], folders: Results['folders']): void {
	const before: Results = JSON.parse(readFileSync(RESULTS, 'utf8'));
	const results = merged(before, MUTATIONS, table, folders);
	writeFileSync(RESULTS, `${JSON.stringify(results, null, '\t')}\n`);
	writeFileSync(PAGE, page(MUTATIONS, results));
}

/** How many do not fit. */
async function runTable(mutations: readonly Mutation[]): Promise<number> {
	const counts = { caught: 0, survived: 0, unfit: 0 };
	for (const mutation of mutations) {
		const { is, why } = await verdictOn(mutation);
		counts[is]++;
		out(`${is.padEnd(8)}  ${mutation.id}  ${mutation.file}: ${mutation.bug}${why && ` (${why})`}`);
		if (is === 'unfit') continue;
		const result: TableResult = {
			caught: is === 'caught',
			by: why,
			date: today(),
			version: versionOf(mutation),
		};
		// After each: a run of hours may be interrupted.
		keep({ [mutation.id]: result }, {});
	}
	if (mutations.length > 0)
		out(`${counts.caught} caught, ${counts.survived} survived, ${counts.unfit} unfit`);
	return counts.survived + counts.unfit;
}

/** How many could not be run. */
async function runFolders(targets: readonly Target[]): Promise<number> {
	let failures = 0;
	for (const target of targets) {
		const name = target.file ?? `src/${target.folder}`;
		try {
			const result = await runStryker(target);
			const { all, run, unreached, caught, survivors } = result;
			for (const { at, change } of survivors) out(`survived  ${at}: ${change}`);
			out(`${name}: ${caught} of ${run} caught, ${unreached} not executed; ${all} in all`);
			if (!target.file) keep({}, { [name]: result });
		} catch (error) {
			if (!(error instanceof Unfit)) throw error;
			out(`unfit     ${name}: ${error.message}`);
			failures++;
		}
	}
	return failures;
}

async function main(): Promise<number> {
	const { mutations, targets } = chosen();
	if (mutations.length + targets.length === 0) {
		process.stderr.write('mutants: there is nothing to mutate by that name\n');
		return 2;
	}
	const scratch = openScratch();
	process.once('exit', () => {
		killRunning();
		endOurs();
		unmountBelow(scratch);
		closeScratch(scratch);
	});
	process.chdir(scratch);
	const failures = (await runTable(mutations)) + (await runFolders(targets));
	return failures > 0 ? 1 : 0;
}

// Exiting ends what was started, and removes the copy.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
	process.on(signal, () => process.exit(1));
process.exitCode = await main();
