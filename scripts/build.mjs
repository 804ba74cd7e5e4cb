// Builds dist/ from sources: BPF objects, their layouts as TypeScript, the bundle. `make` runs it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { buildBrowser } from './browser.mjs';
import { buildScript, bundle } from './compile.mjs';
import { thirdParty } from './licenses.mjs';
import { buildSyscalls } from './syscalls.mjs';

execFileSync('scripts/build-bpf.sh', { stdio: 'inherit' });
execFileSync('scripts/build-bpf.sh', ['bpf/uapi', 'build/uapi'], { stdio: 'inherit' });

await buildScript('scripts/layouts.ts', 'build/layouts.mjs');
execFileSync(process.execPath, ['build/layouts.mjs', 'dist/bpf', 'build/uapi'], {
	stdio: 'inherit',
});

buildSyscalls();
const browserInputs = await buildBrowser();
const inputs = await bundle();

// Read when the first name is to be demangled (src/symbolize/symbols/demangle.ts): most runs need none.
const demangler = 'node_modules/gecko-profiler-demangle/index_bg.wasm';
copyFileSync(demangler, 'dist/demangle.wasm');

const packages = new Set(
	[...inputs, ...browserInputs, demangler].flatMap(
		(path) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
	),
);
writeFileSync('dist/THIRD-PARTY.txt', thirdParty([...packages]));
