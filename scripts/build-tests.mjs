// Compiles src, test and bench file by file into build/test, for node --test; and the workloads.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const OUT = 'build/test';
const files = (folder) =>
	readdirSync(folder, { recursive: true })
		.filter((file) => file.endsWith('.ts'))
		.map((file) => join(folder, file));

rmSync(OUT, { recursive: true, force: true });
await build({
	entryPoints: ['src', 'test', 'bench']
		.flatMap(files)
		.filter((file) => !file.startsWith('src/browser')),
	outbase: '.',
	outdir: OUT,
	format: 'esm',
	platform: 'node',
	target: 'node20',
	sourcemap: 'inline',
	logLevel: 'warning',
});
writeFileSync(join(OUT, 'package.json'), '{ "type": "module" }\n');
// Beside the module that reads it, as in dist.
const wasm = 'node_modules/gecko-profiler-demangle/index_bg.wasm';
copyFileSync(wasm, join(OUT, 'src/symbolize/demangle.wasm'));

mkdirSync('build/workloads', { recursive: true });
const FLAGS = ['-O2', '-fno-omit-frame-pointer', '-Wall', '-Wextra', '-Werror', '-pthread'];
function workload(source, name, ...more) {
	const out = join('build/workloads', name);
	execFileSync('scripts/clang.sh', [...FLAGS, ...more, '-o', out, join('test/workloads', source)]);
}
for (const source of readdirSync('test/workloads').filter((file) => file.endsWith('.c'))) {
	workload(source, basename(source, '.c'));
}
workload('waits.c', 'waits-stripped', '-s');
workload('inlined.c', 'inlined', '-g');
execFileSync('scripts/build-bpf.sh', ['test/bpf', 'build/test-bpf'], { stdio: 'inherit' });
