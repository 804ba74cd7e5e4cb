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
 * Each folder that has much to do has one, and all others have one together. Files of `hostile` have one each: each
 * starts a process that does the work, and waits for it. node starts files in the order of their names; so these begin
 * with a number, and the longest runs first: no CPU is left with a long one.
 */
function writeUnitTests() {
	const LONGEST_FIRST = (
		'symbolize others unwind tools frame-labours input converters texts labours damage cli render aggregate ' +
		'command-line perf lies'
	).split(' ');
	const unit = join(OUT, 'test/unit');
	const inOneProcess = join(OUT, 'together');
	const together = new Map(LONGEST_FIRST.map((name) => [name, []]));
	const all = readdirSync(unit, { recursive: true });
	for (const file of all.filter((each) => each.endsWith('.test.js')).sort()) {
		const [folder, name] = file.split('/');
		const group = folder === 'hostile' ? name.replace('.test.js', '') : folder;
		(together.get(group) ?? together.get('others')).push(join(unit, file));
	}
	mkdirSync(inOneProcess);
	const entries = [...together].map(([name, files], i) => {
		const path = join(inOneProcess, `${String(i + 1).padStart(2, '0')}-${name}.test.js`);
		const imports = files.map((file) => `import '${relative(inOneProcess, file)}';\n`);
		writeFileSync(path, imports.join(''));
		return path;
	});
	writeFileSync(join(OUT, 'unit-tests'), `${entries.join('\n')}\n`);
}

/**
 * Live tests by how they run. Alone: what is in the kernel meanwhile, or how fast the machine is, is part of what they
 * check; or they do to the machine what others would notice. Many at once: what these check is names, texts, files,
 * refusals, and what is left behind. All others two at a time: they check what they made happen themselves.
 */
function writeLiveTests() {
	const ALONE = (
		'budget cost extremes held javascript-shares lab memleak-kernel memleak-slowed samples-throttled ' +
		'schedlat schedlat-switches schedlat-zombies silent-mount slowed why why-machine'
	).split(' ');
	const MANY_AT_ONCE = (
		'arithmetic broken-installation children cli comm-globs command completion contributing debuginfod diff ' +
		'doctor errors exact faults-files faults-interrupt faults-kill faults-machine faults-output faults-target ' +
		'faults-throw faults-usr1 filters fold follow go hostile-names javascript javascript-versions ' +
		'kernel-objects memleak memleak-library memleak-options memleak-processes memleak-sampled mutants ' +
		'node-versions overlay pairs perf-damage pictures python python-forged python-waits realtime release stack-names ' +
		'stack-options stack-view stat stat-options symbolizer syscount syscount-bytes syscount-options syscount-paths ' +
		'terminal-interrupt torture torture-loads trace trace-ends trace-options trace-stacks untraced unwind ' +
		'unwind-room verifier'
	).split(' ');
	const live = join(OUT, 'test/live');
	const all = readdirSync(live).filter((file) => file.endsWith('.test.js'));
	const named = [...ALONE, ...MANY_AT_ONCE].map((name) => `${name}.test.js`);
	const missing = named.filter((file) => !all.includes(file));
	if (missing.length > 0) throw new Error(`not in test/live: ${missing.join(' ')}`);
	const others = all.filter((file) => !named.includes(file)).sort();
	const write = (list, files) =>
		writeFileSync(join(OUT, list), files.map((file) => `${join(live, file)}\n`).join(''));
	write('live-alone', named.slice(0, ALONE.length));
	write('live-many-at-once', named.slice(ALONE.length));
	write('live-two-at-once', others);
}
