// Builds dist/ from sources: BPF objects, their layouts as TypeScript, the bundle. `make` runs it.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

/** koffi is a native module: it stays outside, and is the package's one dependency. */
const node = {
	platform: 'node',
	format: 'esm',
	target: 'node20',
	external: ['koffi'],
	logLevel: 'warning',
};

execFileSync('scripts/build-bpf.sh', { stdio: 'inherit' });

await build({
	...node,
	entryPoints: ['scripts/layouts.ts'],
	bundle: true,
	outfile: 'build/layouts.mjs',
});
execFileSync(process.execPath, ['build/layouts.mjs', 'dist/bpf/x64', 'dist/bpf/arm64'], {
	stdio: 'inherit',
});

// CommonJS, which node 20 starts 10 ms sooner than ES modules. What is imported with import() is
// in the same file, and evaluated when it is asked for.
rmSync('dist/main.cjs', { force: true });
await build({
	...node,
	format: 'cjs',
	entryPoints: ['src/cli/main.ts'],
	bundle: true,
	minify: true,
	keepNames: true,
	outfile: 'dist/main.cjs',
	define: { 'import.meta.url': 'bundleUrl' },
	banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
});
