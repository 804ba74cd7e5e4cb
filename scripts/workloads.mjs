// Compiles test/workloads into a folder; further flags are clang's, for another architecture.
// usage: node scripts/workloads.mjs FOLDER [FLAG...]
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const FLAGS = ['-O2', '-fno-omit-frame-pointer', '-Wall', '-Wextra', '-Werror', '-pthread'];
const [folder, ...others] = process.argv.slice(2);
/** Another architecture's, which is arm64. */
const foreign = others.length > 0;
const MUSL_TARGET = 'aarch64-linux-musl';

const driverOf = (source) => (source.endsWith('.cc') ? ['--driver-mode=g++'] : []);

function workload(source, name, ...more) {
	const out = ['-o', join(folder, name), join('test/workloads', source)];
	const flags = [...FLAGS, ...others, ...driverOf(source), ...more];
	execFileSync('scripts/clang.sh', [...flags, ...out]);
}

/** Without frame pointers, by gcc where that is there: it says otherwise than clang where an aligned stack is. */
function withGcc(source, name, ...more) {
	if (foreign) {
		workload(source, name, '-fomit-frame-pointer', ...more);
		return;
	}
	const flags = ['-O2', '-fomit-frame-pointer', '-pthread', ...more];
	const out = ['-o', join(folder, name), join('test/workloads', source)];
	execFileSync(source.endsWith('.cc') ? 'g++' : 'gcc', [...flags, ...out]);
}

/** With another C library than the system's: by its wrapper of gcc, or as that would do. */
function withMusl(source, name, ...flags) {
	const out = ['-o', join(folder, name), join('test/workloads', source)];
	if (!foreign) {
		execFileSync('musl-gcc', [...flags, '-pthread', ...out]);
		return;
	}
	const [system] = others.flatMap((flag) => /^--sysroot=(.*)/.exec(flag)?.slice(1) ?? []);
	const [begin, before, library, end] = ['crt1.o', 'crti.o', 'libc.a', 'crtn.o'].map((file) =>
		join(system, 'usr/lib', MUSL_TARGET, file),
	);
	const headers = ['-nostdlibinc', '-isystem', join(system, 'usr/include', MUSL_TARGET)];
	const parts = ['-static', '-nostdlib', begin, before, ...out, library, '-lgcc', end];
	execFileSync('scripts/clang.sh', [...others, ...headers, ...flags, ...parts]);
}

mkdirSync(folder, { recursive: true });
for (const source of readdirSync('test/workloads').filter((file) => file.endsWith('.c'))) {
	if (!source.startsWith('torture')) workload(source, basename(source, '.c'));
}
// What the compiler knows of malloc and free, it would leave out.
const ALLOCATES = ['-O1', '-fno-builtin'];
workload('leaks.c', 'leaks', ...ALLOCATES);
workload('freeing.c', 'freeing', ...ALLOCATES);
workload('freeing.c', 'libfreeing.so', ...ALLOCATES, '-DLIBRARY', '-shared', '-fPIC');
workload('heaps.c', 'heaps', ...ALLOCATES);
workload('heaps.c', 'libheaps.so', ...ALLOCATES, '-DLIBRARY', '-shared', '-fPIC');
workload('leaks.c', 'leaks-static', ...ALLOCATES, '-static');
workload('freeing.c', 'freeing-static', ...ALLOCATES, '-static');
workload('leaks.c', 'leaks-stripped', ...ALLOCATES, '-static', '-s');
const CPP = [...ALLOCATES, '-Wno-missing-field-initializers'];
workload('news.cc', 'news', ...CPP);
workload('news.cc', 'news-static', ...CPP, '-static');
workload('mangled.cc', 'mangled', ...CPP);
// x86 and arm64 have the same.
const KEEPS = ['-fno-builtin', '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls'];
withMusl('leaks.c', 'leaks-musl', '-O1', ...KEEPS);

/** Stacks that are hard to walk, of code that compilers make in several ways. */
function torture() {
	const WAYS = { '': ['-fomit-frame-pointer'], '-plain': ['-O0'] };
	for (const [name, flags] of Object.entries(WAYS)) {
		workload('torture.c', `torture${name}`, ...flags);
		workload('torture-throws.cc', `torture-throws${name}`, ...flags);
	}
	withGcc('torture.c', 'torture-static', '-static');
	withGcc('torture.c', 'torture-static-pie', '-static-pie');
	withGcc('torture-throws.cc', 'torture-throws-static', '-static');
	withMusl('torture.c', 'torture-musl', '-O2', '-fomit-frame-pointer');
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
	if (!foreign && process.arch === 'x64') {
		workload('torture-32.c', 'torture-32', ...alone, '-fomit-frame-pointer');
		workload('torture-32.c', 'torture-32-plain', ...alone);
	}
}
torture();
workload('sleepers.c', 'sleepers', '-fomit-frame-pointer');
workload('sleepers.c', 'sleepers-plain', '-O0');
workload('deep.c', 'deep', '-fomit-frame-pointer');
workload('traced.c', 'traced-plain', '-fomit-frame-pointer');
workload('sleepers.c', 'sleepers-static', '-fomit-frame-pointer', '-static');
withGcc('sleepers.c', 'sleepers-gcc');
workload('waits.c', 'waits-stripped', '-s');
workload('inlined.c', 'inlined', '-g');
for (const name of ['one', 'other'])
	workload('alike.c', `alike-${name}`, '-static', `-DWAIT=wait_as_${name}`);
