/** why, of processes in one known trouble each: the verdict names it, its share, and who is guilty. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { UNSEEN } from './chain-reports.js';
import { InTrouble, TROUBLES, type Trouble } from './lab.js';
import { checkTrouble, type WhyReport } from './lab-check.js';
import { tstrace } from './support.js';

/** Of `make lab` there are more. */
const SEEDS = (process.env.TSTRACE_LAB_SEEDS ?? '1').split(',').map(Number);
/** Where other work on the machine was a trouble of its own, or a switch was not reported. */
const MOST_TRIES = 5;
const WINDOW_S = '3';

/** What is wrong with what is said of it; undefined: this time nobody can tell. */
async function problemsOf(trouble: Trouble, seed: number): Promise<string[] | undefined> {
	// In the working tree: files in memory have no disk to wait for.
	const folder = mkdtempSync('build/lab-');
	try {
		const inTrouble = await InTrouble.start(trouble, seed, folder);
		const run = tstrace(['why', '--json', '-p', `${inTrouble.pid}`, WINDOW_S]);
		const { truth, disturbed } = await inTrouble.end();
		const report = JSON.parse(run.stdout) as WhyReport;
		const problems = checkTrouble(truth, report, !disturbed);
		// The kernel here does not report all switches, and a wait that nobody saw begin is missing.
		const isMissing =
			UNSEEN.some((cause) => report.lost[cause]) &&
			problems.every((problem) => problem.endsWith('nothing was seen'));
		return problems.length > 0 && (disturbed || isMissing) ? undefined : problems;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

for (const trouble of TROUBLES) {
	for (const seed of SEEDS) {
		test(`${trouble.name}, ${seed}`, async () => {
			for (let tries = 1; ; tries++) {
				const problems = await problemsOf(trouble, seed);
				if (!problems && tries < MOST_TRIES) continue;
				assert.deepEqual(problems, []);
				return;
			}
		});
	}
}
