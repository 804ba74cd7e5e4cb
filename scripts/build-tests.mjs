// Compiles src, test and bench file by file into build/test, for node --test; and the workloads.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
// Above src/cli, which reads the version there.
copyFileSync('package.json', join(OUT, 'src/package.json'));

execFileSync(process.execPath, ['scripts/workloads.mjs', 'build/workloads'], { stdio: 'inherit' });
execFileSync('scripts/build-bpf.sh', ['test/bpf', 'build/test-bpf'], { stdio: 'inherit' });

/**
 * Folders of test/unit whose small files run in one process for each folder: to start a process, and to load
 * what is tested, takes longer than most of these tests.
 */
function writeUnitTests() {
	const TOGETHER = 'abi aggregate bench bpf doctor loader mutants options render run tools'.split(
		' ',
	);
	const unit = join(OUT, 'test/unit');
	const inOneProcess = join(OUT, 'together');
	const testsIn = (folder) =>
		readdirSync(folder, { recursive: true })
			.filter((file) => file.endsWith('.test.js'))
			.map((file) => join(folder, file))
			.sort();
	mkdirSync(inOneProcess);
	const together = TOGETHER.map((name) => {
		const path = join(inOneProcess, `${name}.test.js`);
		const imports = testsIn(join(unit, name)).map(
			(file) => `import '${relative(inOneProcess, file)}';\n`,
		);
		writeFileSync(path, imports.join(''));
		return path;
	});
	const isAlone = (file) => !TOGETHER.includes(relative(unit, file).split('/')[0]);
	const all = [...together, ...testsIn(unit).filter(isAlone)];
	writeFileSync(join(OUT, 'unit-tests'), `${all.join('\n')}\n`);
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
