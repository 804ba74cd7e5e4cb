/** From what a test did with a mutant to whether it caught it: pure. */
import type { TestResult } from '../vm/lines.js';

/** How a test ran. */
export interface TestRun {
	/** Of the tests that the name chose. */
	readonly results: readonly TestResult[];
	/** It was ended, as it took too long. */
	readonly hung: boolean;
	/** null: a signal ended the test runner. */
	readonly status: number | null;
	readonly ms: number;
	/** What it left behind, in words. */
	readonly left: readonly string[];
}

export interface Verdict {
	/** unfit: it says nothing about the test. */
	readonly is: 'caught' | 'survived' | 'unfit';
	/** By what it was caught, or why it is unfit. */
	readonly why: string;
}

/** Of a program that does not load, no test has to find out. */
const REFUSED = /the kernel's verifier refused BPF program/;

const failed = ({ results }: TestRun) => results.filter(({ result }) => result === 'failed');

/** What went wrong in a run; nothing: undefined. */
function trouble(run: TestRun): string | undefined {
	if (run.hung) return `it had not ended after ${Math.round(run.ms / 1000)} s`;
	const names = failed(run).map(({ name }) => `“${name}”`);
	if (names.length > 0) return names.join(', ');
	if (run.left.length > 0) return `it left behind ${run.left.join('; ')}`;
	if (run.status !== 0) return `the test runner ended with ${run.status ?? 'a signal'}`;
	return undefined;
}

/** Of a test without a mutant: why it cannot judge any; undefined: it can. */
export function whyNoJudge(run: TestRun): string | undefined {
	const what = trouble(run);
	const [first] = failed(run);
	const said = first?.why.trim().split('\n', 1)[0];
	if (what) return `its test fails without it, too: ${what}${said ? `: ${said}` : ''}`;
	if (!run.results.some(({ result }) => result === 'passed')) return 'no test of that name ran';
	return undefined;
}

/** Of several runs with the mutant: a test that passes once would not have caught it. */
export function judgeAll(runs: readonly TestRun[]): Verdict {
	const verdicts = runs.map(judge);
	const [first = { is: 'unfit', why: 'it was not run' } as const] = verdicts;
	return verdicts.find(({ is }) => is !== 'caught') ?? first;
}

/** `run`: with the mutant. */
function judge(run: TestRun): Verdict {
	if (failed(run).some(({ why }) => REFUSED.test(why)))
		return { is: 'unfit', why: "the kernel's verifier refuses it" };
	const what = trouble(run);
	return what ? { is: 'caught', why: what } : { is: 'survived', why: '' };
}

/** How long a test may take with a mutant, in ms, by how long it took without. */
export const limitOf = (ms: number): number => 4 * ms + 60_000;
