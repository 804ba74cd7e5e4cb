// What esbuild makes of src, test and bench: the program that is installed, and what tests run.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

const NODE = { platform: 'node', format: 'esm', target: 'node20.12', logLevel: 'warning' };

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
		// Names stay: in the stack of an error that -v shows.
		minifySyntax: true,
		minifyWhitespace: true,
		metafile: true,
	};
	rmSync('dist/main.cjs', { force: true });
	const main = await build({
		...small,
		entryPoints: ['src/cli/main.ts'],
		outfile: 'dist/main.cjs',
		define: { 'import.meta.url': 'bundleUrl' },
		banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
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
