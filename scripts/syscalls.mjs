// Writes src/generated/syscalls.ts: names of system calls by number, from the kernel's headers.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';

/**
 * Which header says it, and what has to be defined for it. arm64 has the generic numbers; the defines are
 * those of arch/arm64/include/uapi/asm/unistd.h, which headers for x86 do not come with.
 */
const TABLES = {
	x64: { header: 'asm/unistd_64.h', defines: [] },
	ia32: { header: 'asm/unistd_32.h', defines: [] },
	arm64: {
		header: 'asm-generic/unistd.h',
		defines: [
			'RENAMEAT',
			'NEW_STAT',
			'SET_GET_RLIMIT',
			'TIME32_SYSCALLS',
			'SYS_CLONE3',
			'MEMFD_SECRET',
		],
	},
};
/** How many there are, and where an architecture's own begin: no calls. */
const NO_CALLS = new Set(['syscalls', 'arch_specific_syscall']);

/** Debian keeps asm/ in a folder of the host's architecture. */
function includeFolders() {
	const folders = readdirSync('/usr/include').map((name) => `/usr/include/${name}`);
	return ['/usr/include', ...folders.filter((folder) => existsSync(`${folder}/asm`))];
}

function namesOf({ header, defines }) {
	// Headers of another architecture may not be there; then numbers are shown.
	if (!includeFolders().some((folder) => existsSync(`${folder}/${header}`))) return [];
	const input = `#include <${header}>\n`;
	const wanted = defines.map((name) => `-D__ARCH_WANT_${name}`);
	const includes = includeFolders().flatMap((folder) => ['-idirafter', folder]);
	const text = execFileSync(
		'scripts/clang.sh',
		['-E', '-dM', '-x', 'c', ...wanted, ...includes, '-'],
		{
			input,
			encoding: 'utf8',
		},
	);
	const macros = new Map(
		[...text.matchAll(/^#define (__NR\w+) (\S+)$/gm)].map(([, a, b]) => [a, b]),
	);
	const names = [];
	for (const macro of macros.keys()) {
		let value = macro;
		while (macros.has(value)) value = macros.get(value);
		const name = macro.replace(/^__NR_/, '');
		if (/^__NR_/.test(macro) && /^\d+$/.test(value) && !NO_CALLS.has(name))
			names.push([Number(value), name]);
	}
	return names.sort(([a], [b]) => a - b);
}

export function buildSyscalls() {
	mkdirSync('src/generated', { recursive: true });
	const tables = Object.entries(TABLES).map(([name, table]) => {
		const entries = namesOf(table).map(([number, call]) => `\t${number}: '${call}',\n`);
		return `export const ${name}: Readonly<Record<number, string>> = {\n${entries.join('')}};\n`;
	});
	writeFileSync(
		'src/generated/syscalls.ts',
		`// Written by scripts/syscalls.mjs; do not edit.\n${tables.join('')}`,
	);
}
