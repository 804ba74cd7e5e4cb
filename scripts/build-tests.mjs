// Compiles src, test and bench file by file into build/test, for node --test; and the workloads.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
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
writeUnitTests();
writeLiveTests();
// Beside the module that reads it, as in dist.
const wasm = 'node_modules/gecko-profiler-demangle/index_bg.wasm';
copyFileSync(wasm, join(OUT, 'src/symbolize/symbols/demangle.wasm'));
copyFileSync('dist/table-worker.cjs', join(OUT, 'src/symbolize/walks/table-worker.cjs'));
// Beside the test that runs them, in virtual machines, too.
for (const scripts of ['test/workloads/javascript', 'test/workloads/python'])
	cpSync(scripts, join(OUT, scripts), { recursive: true });
// Above src/cli, which reads the version there.
copyFileSync('package.json', join(OUT, 'src/package.json'));

execFileSync(process.execPath, ['scripts/workloads.mjs', 'build/workloads'], { stdio: 'inherit' });
execFileSync('scripts/build-bpf.sh', ['test/bpf', 'build/test-bpf'], { stdio: 'inherit' });

/**
 * Files of test/unit by process: to start one, and to load what is tested, takes longer than most of these tests.
 * Each folder that has much to do has one, and all others have one together, so that no CPU is left with a long one.
 * Files of `hostile` run alone: each starts a process that does the work, and waits for it.
 */
function writeUnitTests() {
	const FOLDERS = 'aggregate cli converters input perf render symbolize tools unwind'.split(' ');
	const unit = join(OUT, 'test/unit');
	const inOneProcess = join(OUT, 'together');
	const entries = [];
	const together = new Map([...FOLDERS, 'others'].map((name) => [name, []]));
	const all = readdirSync(unit, { recursive: true });
	for (const file of all.filter((each) => each.endsWith('.test.js')).sort()) {
		const [folder] = file.split('/');
		const group = folder === 'hostile' ? entries : (together.get(folder) ?? together.get('others'));
		group.push(join(unit, file));
	}
	mkdirSync(inOneProcess);
	for (const [name, files] of together) {
		const path = join(inOneProcess, `${name}.test.js`);
		const imports = files.map((file) => `import '${relative(inOneProcess, file)}';\n`);
		writeFileSync(path, imports.join(''));
		entries.push(path);
	}
	writeFileSync(join(OUT, 'unit-tests'), `${entries.join('\n')}\n`);
}

/**
 * Live tests by how they run. One after the other, as other work on the machine, or what is in the kernel meanwhile,
 * is part of what most of them check. Side by side: what these check is names, texts, files and refusals.
 */
function writeLiveTests() {
	const SIDE_BY_SIDE = (
		'arithmetic broken-installation cli comm-globs completion contributing debuginfod errors fold ' +
		'hostile-names node-versions pairs pictures stack-names verifier'
	).split(' ');
	const live = join(OUT, 'test/live');
	const all = readdirSync(live).filter((file) => file.endsWith('.test.js'));
	const beside = SIDE_BY_SIDE.map((name) => `${name}.test.js`);
	const missing = beside.filter((file) => !all.includes(file));
	if (missing.length > 0) throw new Error(`not in test/live: ${missing.join(' ')}`);
	const alone = all.filter((file) => !beside.includes(file)).sort();
	for (const [list, files] of Object.entries({ 'live-tests': alone, 'live-side-by-side': beside }))
		writeFileSync(join(OUT, list), files.map((file) => `${join(live, file)}\n`).join(''));
}
