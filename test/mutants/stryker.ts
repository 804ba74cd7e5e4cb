/** Mutants that StrykerJS makes of a folder of src/, and the unit tests of the same folder. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Unfit } from './mutation.js';
import type { FolderResult } from './results.js';
import { runInGroup } from './run-group.js';
import { recompile } from './scratch.js';
import { folderResult } from './stryker-report.js';

/** Those that are pure, or nearly so: what else is in src/ live tests see, and the table is for. */
const FOLDERS = [
	'abi',
	'aggregate',
	'converters',
	'input',
	'options',
	'render',
	'symbolize',
	'unwind',
] as const;

const LIMIT_MS = 3_600_000;
/** Of one test file with a mutant. A busy machine takes 20 s for some, and what is slow would count as caught. */
const HANG_MS = 120_000;
const SEED = 18;
const SAMPLE = 60;
const CONFIG = 'stryker.config.json';
const REPORT = 'reports/mutation/mutation.json';

/** What to mutate, and the tests that are to notice. */
export interface Target {
	/** Below src/, and below test/unit/. */
	readonly folder: string;
	/** One file of it, or all. */
	readonly file: string | undefined;
}

/** What FILE= and TOOL= ask for; nothing asked for is every folder. */
export function targetsOf(file: string | undefined, tool: string | undefined): Target[] {
	if (tool) {
		const folder = `tools/${tool}`;
		return existsSync(join('test/unit', folder)) ? [{ folder, file: undefined }] : [];
	}
	const asked = file?.replace(/\/$/, '');
	return FOLDERS.flatMap((folder) => {
		if (!asked || asked === 'src' || asked === `src/${folder}`) return { folder, file: undefined };
		return asked.startsWith(`src/${folder}/`) ? { folder, file: asked } : [];
	});
}

function sourcesOf({ folder, file }: Target): string[] {
	if (file?.endsWith('.ts')) return [file];
	const root = file ?? join('src', folder);
	const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
	const files = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'));
	if (files.length > 0) return files.map((name) => join(root, name));
	return [`${root}.ts`]; // a tool of one file
}

/** `sample`: of a whole folder; of a file every mutant is run. */
function configFor({ folder, file }: Target, sources: readonly string[]): object {
	return {
		testRunner: 'tap',
		plugins: ['@stryker-mutator/tap-runner', './build/test/test/mutants/sample-checker.js'],
		checkers: ['sample'],
		sample: { size: file ? Number.MAX_SAFE_INTEGER : SAMPLE, seed: SEED },
		warnings: { unknownOptions: false },
		mutate: sources,
		buildCommand: `node scripts/recompile.mjs ${sources.join(' ')}`,
		tap: {
			testFiles: [`build/test/test/unit/${folder}/**/*.test.js`],
			nodeArgs: ['-r', '{{hookFile}}', '--enable-source-maps', '{{testFile}}'],
		},
		coverageAnalysis: 'perTest',
		concurrency: availableParallelism(),
		inPlace: true,
		ignorePatterns: ['bench', 'build', 'dist', 'docs', 'tmp'],
		// TypeScript 7 has no interface that it could read ours by.
		tsconfigFile: 'none',
		disableTypeChecks: false,
		reporters: ['json'],
		jsonReporter: { fileName: REPORT },
		allowConsoleColors: false,
		timeoutMS: HANG_MS,
		dryRunTimeoutMinutes: 15,
	};
}

/** In the scratch copy. Throws Unfit where StrykerJS does not get to an end. */
export async function runStryker(target: Target): Promise<FolderResult> {
	const sources = sourcesOf(target);
	const before = sources.map((file) => [file, readFileSync(file, 'utf8')] as const);
	writeFileSync(CONFIG, JSON.stringify(configFor(target, sources)));
	try {
		const stryker = 'node_modules/@stryker-mutator/core/bin/stryker.js';
		const run = await runInGroup([stryker, 'run', CONFIG], LIMIT_MS);
		if (run.hung) throw new Unfit(`StrykerJS had not ended after ${LIMIT_MS / 60_000} minutes`);
		if (run.status !== 0) throw new Unfit(`StrykerJS failed: ${run.said.trim().slice(-2000)}`);
		const date = new Date().toISOString().slice(0, 10);
		return folderResult(JSON.parse(readFileSync(REPORT, 'utf8')), date, SEED);
	} finally {
		for (const [file, text] of before) writeFileSync(file, text);
		recompile(sources);
	}
}
