// What esbuild makes of src, test and bench: the program that is installed, and what tests run.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const NODE = { platform: 'node', format: 'esm', target: 'node20.12', logLevel: 'warning' };

const DIGEST_LETTERS = 16;

/**
 * Parts of node that most runs do not need, or not at first, and that take 3 to 10 ms each to load: the bundle loads
 * them when something of theirs is first used.
 */
const SELDOM_USED = [
	'child_process',
	'crypto',
	'stream',
	'tty',
	'v8',
	'worker_threads',
	'zlib',
].map((name) => `node:${name}`);

/** Bundles dist/main.cjs and dist/table-worker.cjs; returns the paths of all that went in. */
export async function bundle() {
	// CommonJS, which node 20 starts 10 ms sooner than ES modules. What is imported with import() is
	// in the same file, and evaluated when it is asked for.
	const small = {
		...NODE,
		format: 'cjs',
		bundle: true,
		// A native module: it stays outside, and is the package's one dependency.
		external: ['koffi'],
		// What is compiled ahead of time has no import(): it becomes require.
		supported: { 'dynamic-import': false },
		// Names stay: in the stack of an error that -v shows.
		minifySyntax: true,
		minifyWhitespace: true,
		metafile: true,
	};
	for (const file of ['dist/main.cache', 'dist/main.cjs']) rmSync(file, { force: true });
	const main = await build({
		...small,
		entryPoints: ['src/cli/main.ts'],
		outfile: 'dist/main.cjs',
		define: { 'import.meta.url': 'bundleUrl' },
		banner: {
			js:
				// A script whose value is a function, as bin/tstrace wants it.
				'(function (exports, require, module, __filename, __dirname) {' +
				"const bundleUrl = require('node:url').pathToFileURL(__filename).href;" +
				'const seldomUsed = (name) => new Proxy({}, { get: (_, key) => require(name)[key] });',
		},
		footer: { js: '})' },
	});
	const text = readFileSync('dist/main.cjs', 'latin1');
	const lazy = SELDOM_USED.reduce(
		(code, name) => code.replaceAll(`require("${name}")`, `seldomUsed("${name}")`),
		text,
	);
	// bin/tstrace reads the bundle as Latin-1, which is faster.
	if (Buffer.byteLength(lazy) !== lazy.length) {
		throw new Error('dist/main.cjs has letters outside ASCII');
	}
	// By its last line bin/tstrace knows whether the cache is of this bundle; V8 compares lengths only.
	const digest = createHash('sha256').update(lazy).digest('hex').slice(0, DIGEST_LETTERS);
	writeFileSync('dist/main.cjs', `${lazy}//${digest}`);
	// As bin/tstrace runs: V8 takes no cache that was made with other flags.
	const { NODE_OPTIONS: _, ...env } = process.env;
	execFileSync(process.execPath, ['scripts/code-cache.cjs'], {
		...{ env, stdio: ['ignore', 'ignore', 'inherit'] },
	});
	// A thread of its own, in a file of its own (src/symbolize/walks/table-reader.ts).
	const worker = await build({
		...small,
		entryPoints: ['src/symbolize/walks/table-worker.ts'],
		outfile: 'dist/table-worker.cjs',
	});
	return [main, worker].flatMap(({ metafile }) => Object.keys(metafile.inputs));
}

/** Compiles a script of ours that runs while tstrace is built. */
export async function buildScript(file, outfile) {
	await build({ ...NODE, entryPoints: [file], bundle: true, packages: 'external', outfile });
}

/** Compiles files for node --test, each by itself, to the same place below build/test. */
export async function compileForTests(files) {
	await build({
		...NODE,
		entryPoints: files,
		outbase: '.',
		outdir: 'build/test',
		sourcemap: 'inline',
	});
}
