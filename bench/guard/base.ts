/** The base commit, built in a folder of its own, which goes as we exit. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { Child } from '../shared/children.js';
import { scratch } from '../shared/scratch.js';
import { TSTRACE } from '../shared/tracer.js';

const FOLDER = scratch('base');
const ARCHIVE = scratch('base.tar');
const RECORDED = 'docs/benchmarks.json';
/** make tells its children to which run of make they belong; the base's make is another run. */
const OF_MAKE = ['MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'MAKEOVERRIDES'];

export class NoBase extends Error {}

function git(...args: string[]): string | undefined {
	const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
	return status === 0 && stdout.trim() ? stdout.trim() : undefined;
}

/**
 * A commit by its name. Without a name: the last one that recorded benchmarks, since the docs quote
 * what was measured there. A commit that changes only words in the record does not count.
 */
export function findBase(name: string | undefined): string {
	const commit =
		name === undefined
			? git('log', '-1', '--format=%H', '-G"date":', '--', RECORDED)
			: git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`);
	if (commit) return commit;
	throw new NoBase(
		name === undefined
			? `no commit has recorded ${RECORDED} here: choose one with BASE=COMMIT`
			: `there is no commit ${name}`,
	);
}

/** "0a40f30 2026-11-22 what it did" */
export const describe = (commit: string) =>
	git('log', '-1', '--format=%h %cs %<(60,trunc)%s', commit) ?? commit;

async function run(what: string, command: readonly string[], env = process.env): Promise<void> {
	const child = new Child(command, ['ignore', 'ignore', 'inherit'], env);
	if ((await child.closed) !== 0) throw new NoBase(what);
}

/**
 * Builds it, after openScratch; returns where its tstrace is. Its files are a copy and no work tree
 * of git's: nothing is to be taken back in the repository, whatever ends us.
 */
export async function buildBase(commit: string): Promise<string> {
	mkdirSync(FOLDER);
	await run('git archive failed', ['git', 'archive', `--output=${ARCHIVE}`, commit]);
	await run('tar failed', ['tar', '-xf', ARCHIVE, '-C', FOLDER]);
	const env = Object.fromEntries(
		Object.entries(process.env).filter(([name]) => !OF_MAKE.includes(name)),
	);
	await run('the base does not build', ['make', '-C', FOLDER], env);
	return `${FOLDER}/${TSTRACE}`;
}
