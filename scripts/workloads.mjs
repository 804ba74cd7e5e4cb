// Compiles test/workloads into a folder; further flags are clang's, for another architecture.
// usage: node scripts/workloads.mjs FOLDER [FLAG...]
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const FLAGS = ['-O2', '-fno-omit-frame-pointer', '-Wall', '-Wextra', '-Werror', '-pthread'];
const [folder, ...others] = process.argv.slice(2);

function workload(source, name, ...more) {
	const out = join(folder, name);
	const input = join('test/workloads', source);
	execFileSync('scripts/clang.sh', [...FLAGS, ...others, ...more, '-o', out, input]);
}

mkdirSync(folder, { recursive: true });
for (const source of readdirSync('test/workloads').filter((file) => file.endsWith('.c'))) {
	if (!source.startsWith('torture')) workload(source, basename(source, '.c'));
}
// What the compiler knows of malloc and free, it would leave out.
const ALLOCATES = ['-O1', '-fno-builtin'];
workload('leaks.c', 'leaks', ...ALLOCATES);
workload('freeing.c', 'freeing', ...ALLOCATES);
workload('heaps.c', 'heaps', ...ALLOCATES);
workload('heaps.c', 'libheaps.so', ...ALLOCATES, '-DLIBRARY', '-shared', '-fPIC');
if (others.length === 0) {
	workload('sleepers.c', 'sleepers-static', '-fomit-frame-pointer', '-static');
	workload('leaks.c', 'leaks-static', ...ALLOCATES, '-static');
	workload('freeing.c', 'freeing-static', ...ALLOCATES, '-static');
	workload('leaks.c', 'leaks-stripped', ...ALLOCATES, '-static', '-s');
	const CPP = [...ALLOCATES, '--driver-mode=g++', '-Wno-missing-field-initializers'];
	workload('news.cc', 'news', ...CPP);
	workload('news.cc', 'news-static', ...CPP, '-static');
	workload('mangled.cc', 'mangled', ...CPP);
	// The compiler whose flags musl's wrapper knows; x86 and arm64 have the same.
	const MUSL = ['-O1', '-fno-builtin', '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls'];
	// It says otherwise than clang where an aligned stack is.
	const GCC = ['-O2', '-fomit-frame-pointer', '-pthread'];
	const sleepers = 'test/workloads/sleepers.c';
	execFileSync('gcc', [...GCC, '-o', join(folder, 'sleepers-gcc'), sleepers]);
	execFileSync('musl-gcc', [...MUSL, '-o', join(folder, 'leaks-musl'), 'test/workloads/leaks.c']);
}
/** Stacks that are hard to walk, of code that compilers make in several ways. */
function torture() {
	const WAYS = { '': ['-fomit-frame-pointer'], '-plain': ['-O0'] };
	for (const [name, flags] of Object.entries(WAYS)) {
		workload('torture.c', `torture${name}`, ...flags);
		workload('torture-throws.cc', `torture-throws${name}`, '--driver-mode=g++', ...flags);
	}
	const gcc = ['-O2', '-fomit-frame-pointer', '-pthread'];
	const run = (compiler, source, name, ...flags) =>
		execFileSync(compiler, [...flags, '-o', join(folder, name), join('test/workloads', source)]);
	run('gcc', 'torture.c', 'torture-static', ...gcc, '-static');
	run('gcc', 'torture.c', 'torture-static-pie', ...gcc, '-static-pie');
	run('g++', 'torture-throws.cc', 'torture-throws-static', ...gcc, '-static');
	run('musl-gcc', 'torture.c', 'torture-musl', '-O2', '-fomit-frame-pointer', '-pthread');
	workload('torture-loads.c', 'torture-loads', '-fomit-frame-pointer');
	for (const [way, bytes] of [
		['old', 100],
		['new', 3000],
	]) {
		const flags = [`-DWAY=${way}`, `-DFRAME_BYTES=${bytes}`, '-fomit-frame-pointer', '-Wl,-z,lazy'];
		const name = `libtorture-${way}.so`;
		workload('torture-loads.c', name, '-DLIBRARY', '-shared', '-fPIC', ...flags);
	}
	const alone = ['-m32', '-nostdlib', '-static', '-ffreestanding', '-fno-stack-protector'];
	if (process.arch === 'x64') {
		workload('torture-32.c', 'torture-32', ...alone, '-fomit-frame-pointer');
		workload('torture-32.c', 'torture-32-plain', ...alone);
	}
}
if (others.length === 0) torture();
workload('sleepers.c', 'sleepers', '-fomit-frame-pointer');
workload('sleepers.c', 'sleepers-plain', '-O0');
workload('deep.c', 'deep', '-fomit-frame-pointer');
workload('waits.c', 'waits-stripped', '-s');
workload('inlined.c', 'inlined', '-g');
