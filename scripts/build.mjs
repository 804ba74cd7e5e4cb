// Builds dist/ from sources: BPF objects, their layouts as TypeScript, the bundle. `make` runs it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { buildBrowser } from './browser.mjs';
import { thirdParty } from './licenses.mjs';
import { buildSyscalls } from './syscalls.mjs';

/** koffi is a native module: it stays outside, and is the package's one dependency. */
const node = {
	platform: 'node',
	format: 'esm',
	target: 'node20.12',
	external: ['koffi'],
	logLevel: 'warning',
};

execFileSync('scripts/build-bpf.sh', { stdio: 'inherit' });
execFileSync('scripts/build-bpf.sh', ['bpf/uapi', 'build/uapi'], { stdio: 'inherit' });

await build({
	...node,
	entryPoints: ['scripts/layouts.ts'],
	bundle: true,
	packages: 'external',
	outfile: 'build/layouts.mjs',
});
execFileSync(process.execPath, ['build/layouts.mjs', 'dist/bpf', 'build/uapi'], {
	stdio: 'inherit',
});

buildSyscalls();
const browserInputs = await buildBrowser();

// CommonJS, which node 20 starts 10 ms sooner than ES modules. What is imported with import() is
// in the same file, and evaluated when it is asked for.
rmSync('dist/main.cjs', { force: true });
const bundle = await build({
	...node,
	format: 'cjs',
	entryPoints: ['src/cli/main.ts'],
	bundle: true,
	// Names stay: in the stack of an error that -v shows.
	minifySyntax: true,
	minifyWhitespace: true,
	outfile: 'dist/main.cjs',
	metafile: true,
	define: { 'import.meta.url': 'bundleUrl' },
	banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
});

// A thread of its own, in a file of its own (src/symbolize/table-reader.ts).
const worker = await build({
	...node,
	format: 'cjs',
	entryPoints: ['src/symbolize/table-worker.ts'],
	bundle: true,
	minifySyntax: true,
	minifyWhitespace: true,
	outfile: 'dist/table-worker.cjs',
	metafile: true,
});

// Read when the first name is to be demangled (src/symbolize/demangle.ts): most runs need none.
const demangler = 'node_modules/gecko-profiler-demangle/index_bg.wasm';
copyFileSync(demangler, 'dist/demangle.wasm');

const packages = new Set(
	[
		...Object.keys(bundle.metafile.inputs),
		...Object.keys(worker.metafile.inputs),
		...browserInputs,
		demangler,
	].flatMap((path) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
);
writeFileSync('dist/THIRD-PARTY.txt', thirdParty([...packages]));
