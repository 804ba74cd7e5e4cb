/**
 * QEMU, fetched by name like the kernels: the same on every machine. Before 8.0 it gets the flags wrong
 * that cmpxchg16b leaves (a helper read them before they were stored), and kernels since 6.5, which use it
 * for every allocation, do not boot.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Suite } from './apt.js';
import { FOLDER, NAMES } from './image.js';
import type { Machine } from './matrix.js';

const SUITE = 'trixie';
const EMULATORS: Readonly<Record<Machine['arch'], { package: string; program: string }>> = {
	x64: { package: 'qemu-system-x86', program: 'qemu-system-x86_64' },
	arm64: { package: 'qemu-system-arm', program: 'qemu-system-aarch64' },
};
/** Where its firmware is. */
const DATA = ['usr/share/qemu', 'usr/share/seabios'];

/** The command that runs the emulator of an architecture, with the libraries of its own release. */
export function emulatorOf(arch: Machine['arch']): string[] {
	const host = NAMES[process.arch as Machine['arch']];
	if (!host) throw new Error(`no emulator for a machine like this one: ${process.arch}`);
	const emulator = EMULATORS[arch];
	const suite = new Suite([SUITE], host.debian);
	suite.update();
	const packages = suite.extracted(suite.closure([emulator.package]));
	const libraries = resolve(FOLDER, `emulator-${arch}`);
	rmSync(libraries, { recursive: true, force: true });
	mkdirSync(libraries);
	for (const folder of packages.map((path) => join(path, 'usr/lib', host.target))) {
		for (const name of existsSync(folder) ? readdirSync(folder) : []) {
			if (name.includes('.so')) symlinkSync(join(folder, name), join(libraries, name));
		}
	}
	const loader = readdirSync(libraries).find((name) => name.startsWith('ld-linux-'));
	const inPackages = (path: string) =>
		packages.map((each) => join(each, path)).filter((each) => existsSync(each));
	const [program] = inPackages(`usr/bin/${emulator.program}`);
	if (!loader || !program) throw new Error(`no ${emulator.program} in ${packages.join(', ')}`);
	return [
		...[join(libraries, loader), '--library-path', libraries, program],
		...DATA.flatMap(inPackages).flatMap((path) => ['-L', path]),
	];
}
