// Compiles src, test and bench file by file into build/test, for node --test; and the workloads.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileForTests } from './compile.mjs';

const OUT = 'build/test';
const files = (folder) =>
	readdirSync(folder, { recursive: true })
		.filter((file) => file.endsWith('.ts'))
		.map((file) => join(folder, file));

rmSync(OUT, { recursive: true, force: true });
await compileForTests(
	['src', 'test', 'bench'].flatMap(files).filter((file) => !file.startsWith('src/browser')),
);
writeFileSync(join(OUT, 'package.json'), '{ "type": "module" }\n');
// Beside the module that reads it, as in dist.
const wasm = 'node_modules/gecko-profiler-demangle/index_bg.wasm';
copyFileSync(wasm, join(OUT, 'src/symbolize/demangle.wasm'));
// Above src/cli, which reads the version there.
copyFileSync('package.json', join(OUT, 'src/package.json'));

execFileSync(process.execPath, ['scripts/workloads.mjs', 'build/workloads'], { stdio: 'inherit' });
execFileSync('scripts/build-bpf.sh', ['test/bpf', 'build/test-bpf'], { stdio: 'inherit' });
