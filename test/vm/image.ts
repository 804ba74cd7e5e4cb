/** What a machine boots: its kernel, and a file system in memory with node, tstrace and the live tests. */
import { execFileSync } from 'node:child_process';
import {
	closeSync,
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	openSync,
	readdirSync,
	realpathSync,
	rmSync,
	symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Architecture, Suite } from './apt.js';
import type { Machine } from './matrix.js';

export const FOLDER = 'build/vm';
const HERE = 'tstrace';
/** Of this checkout; besides node_modules. */
const FILES = ['bin', 'dist', 'package.json', 'build/test', 'build/test-bpf'];
const WORKLOADS = 'build/workloads';
const HOST = process.arch;
/** Needed to build and to lint, and large. */
const NOT_MODULES =
	/^(@biomejs|@esbuild|@koromix|@types|@typescript|esbuild|playwright-core|speedscope|typescript)$/;
/** What the live tests start; those that this machine has. */
const PROGRAMS =
	'addr2line bash chrt dd fish grep gzip head mount nice node perf script setpriv sh sleep strace taskset true unshare zsh';

/** What Debian and compilers call an architecture. */
export const NAMES: Readonly<Record<Machine['arch'], { debian: Architecture; target: string }>> = {
	x64: { debian: 'amd64', target: 'x86_64-linux-gnu' },
	arm64: { debian: 'arm64', target: 'aarch64-linux-gnu' },
};
const LIBBPF = 'libbpf.so.1';
/** Allocators that tests have programs use; those that this machine has. */
const ALLOCATORS = ['libjemalloc.so.2', 'libtcmalloc_minimal.so.4'];

/** The kernel of a machine, as the package of that name in its release has it. */
export function kernelOf({ arch, suites, flavour }: Machine): string {
	const architecture = NAMES[arch].debian;
	const suite = new Suite(suites, architecture);
	suite.update();
	// Since 7.x the image is in a package apart.
	const packages = suite.closure([`linux-image-${flavour}-${architecture}`]);
	const candidates = packages.filter((name) => /^linux-(image|binary)-\d/.test(name));
	for (const root of suite.extracted(candidates)) {
		// Since 7.x beside its modules.
		for (const folder of ['boot', 'usr/lib/modules']) {
			const files = existsSync(join(root, folder))
				? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
				: [];
			const kernel = files.find((file) => /(^|\/)vmlinu[xz][^/]*$/.test(file));
			if (kernel) return join(root, folder, kernel);
		}
	}
	throw new Error(`no kernel in ${candidates.join(', ')}`);
}

/**
 * Where node is new enough; the programs of the live tests and what they are linked with. Dash,
 * since busybox's sh runs its own dd in itself: nothing is executed, and COMMAND never begins.
 */
const FOREIGN = {
	suite: 'trixie',
	packages: 'nodejs libbpf1 busybox-static dash bash coreutils util-linux strace'.split(' '),
	/** To compile and link workloads with. */
	development: 'libc6-dev libgcc-14-dev libstdc++-14-dev musl-dev'.split(' '),
};

/** Builds the file system for an architecture; returns the archive that a kernel unpacks at boot. */
export function initramfsOf(arch: Machine['arch']): string {
	const root = join(FOLDER, `root-${arch}`);
	rmSync(root, { recursive: true, force: true });
	for (const folder of ['usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'usr/local/bin', HERE])
		mkdirSync(join(root, folder), { recursive: true });
	for (const link of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${link}`, join(root, link));
	if (arch === HOST) {
		systemOfHost(root);
		cpSync(WORKLOADS, join(root, HERE, WORKLOADS), { recursive: true });
	} else {
		systemOfDebian(root, arch);
	}
	for (const file of FILES) cpSync(file, join(root, HERE, file), { recursive: true });
	for (const name of readdirSync('node_modules').filter((each) => !NOT_MODULES.test(each)))
		cpSync(join('node_modules', name), join(root, HERE, 'node_modules', name), { recursive: true });
	const koffi = `node_modules/@koromix/koffi-linux-${arch}`;
	cpSync(join(arch === HOST ? '.' : foreignModules(arch), koffi), join(root, HERE, koffi), {
		recursive: true,
	});
	copyFileSync('test/vm/init.sh', join(root, 'init'));
	execFileSync('chmod', ['755', join(root, 'init')]);
	const archive = join(FOLDER, `initramfs-${arch}.cpio`);
	const out = openSync(archive, 'w');
	try {
		execFileSync('sh', ['-c', 'find . | busybox cpio -o -H newc'], {
			cwd: root,
			stdio: ['ignore', out, 'ignore'],
		});
	} finally {
		closeSync(out);
	}
	rmSync(root, { recursive: true });
	return archive;
}

/** Programs of this machine and the libraries they are linked with, where they are found here. */
function systemOfHost(root: string): void {
	copyFileSync(pathOf('busybox') ?? '', join(root, 'usr/bin/busybox'));
	for (const name of PROGRAMS.split(' ')) {
		const path = name === 'node' ? process.execPath : pathOf(name);
		if (!path) continue;
		copyFileSync(realpathSync(path), join(root, 'usr/bin', name));
		for (const library of librariesOf(path)) copyLibrary(library, root);
	}
	const libbpf = libraryPath(LIBBPF);
	if (!libbpf) throw new Error(`there is no ${LIBBPF} here: ldconfig -p`);
	for (const path of [libbpf, ...ALLOCATORS.flatMap((name) => libraryPath(name) ?? [])])
		for (const library of [path, ...librariesOf(path)]) copyLibrary(library, root);
	for (const loader of readdirSync('/lib').filter((name) => /^ld-musl-.*\.so\.1$/.test(name)))
		copyLibrary(join('/lib', loader), root);
}

/** A system of packages of another architecture, and the workloads compiled for it. */
function systemOfDebian(root: string, arch: Machine['arch']): void {
	const { debian, target } = NAMES[arch];
	const suite = new Suite([FOREIGN.suite], debian);
	suite.update();
	for (const package_ of suite.extracted(suite.closure(FOREIGN.packages))) overlay(package_, root);
	const sysroot = join(FOLDER, `sysroot-${arch}`);
	rmSync(sysroot, { recursive: true, force: true });
	mkdirSync(join(sysroot, 'usr/lib'), { recursive: true });
	symlinkSync('usr/lib', join(sysroot, 'lib'));
	for (const package_ of suite.extracted(suite.closure(FOREIGN.development)))
		overlay(package_, sysroot);
	execFileSync(
		process.execPath,
		[
			...['scripts/workloads.mjs', join(root, HERE, WORKLOADS)],
			...[`--target=${target}`, `--sysroot=${resolve(sysroot)}`, '-fuse-ld=lld'],
		],
		{ stdio: 'inherit' },
	);
}

/** What a package brings, without what is only to be read. */
function overlay(from: string, to: string): void {
	execFileSync('sh', [
		'-c',
		'tar -C "$1" --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale -c . | tar -C "$2" --keep-directory-symlink -x',
		'sh',
		from,
		to,
	]);
}

/** The native part of koffi for another architecture, as package-lock.json has it. */
function foreignModules(arch: Machine['arch']): string {
	const folder = join(FOLDER, `modules-${arch}`);
	mkdirSync(folder, { recursive: true });
	for (const file of ['package.json', 'package-lock.json']) copyFileSync(file, join(folder, file));
	const npm = [
		'ci',
		'--omit=dev',
		'--ignore-scripts',
		'--no-audit',
		'--no-fund',
		'--loglevel=error',
	];
	execFileSync('npm', [...npm, '--os=linux', `--cpu=${arch}`, '--force'], { cwd: folder });
	return folder;
}

/** Undefined: this machine does not have it. */
function pathOf(program: string): string | undefined {
	return ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
		.map((folder) => join(folder, program))
		.find((path) => existsSync(path));
}

/** Undefined: this machine does not have it. */
function libraryPath(name: string): string | undefined {
	const listed = execFileSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
	const line = listed.split('\n').find((each) => each.trimStart().startsWith(`${name} `));
	return line && / => (\S+)/.exec(line)?.[1];
}

function librariesOf(file: string): string[] {
	try {
		const listed = execFileSync('ldd', [file], {
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', 'ignore'],
		});
		return [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
	} catch {
		return []; // not dynamically linked, or a script
	}
}

/** To where it is looked for: /lib is /usr/lib there, too. */
function copyLibrary(path: string, root: string): void {
	const to = join(root, path.replace(/^\/lib/, '/usr/lib'));
	if (existsSync(to)) return;
	mkdirSync(dirname(to), { recursive: true });
	copyFileSync(realpathSync(path), to);
}
