import { execFileSync } from 'node:child_process';
import {
	closeSync,
	copyFileSync,
	fstatSync,
	mkdtempSync,
	openSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { CapturedStack } from '../../../src/aggregate/stack.js';
import { FileBytes } from '../../../src/elf/bytes.js';
import { type FileNames, nameOffsets } from '../../../src/symbolize/symbols/object-file.js';

/** A folder that is there until the tests of the file are over. */
export function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-symbolize-'));
	after(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

/** C with so many functions that need frames, which main calls; `begins`: what main does first. */
export function manyFunctions(count: number, begins = ''): string {
	const numbers = Array.from({ length: count }, (_, i) => i);
	const functions = numbers.map(
		(i) => `
__attribute__((noinline)) int work${i}(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) sum += printf("${i} %d\\n", i) + getchar();
	return sum + printf("%d\\n", sum) + puts("${i}");
}`,
	);
	return `
#include <stdio.h>
#include <stdlib.h>
${functions.join('')}
int main(int n, char **v)
{
	(void)v;
	${begins}
	return ${numbers.map((i) => `work${i}(n)`).join('+')};
}
`;
}

/** What was compiled, by what of it and how, in a folder that is there until all tests of this process are over. */
const compiled = new Map<string, string>();
let compiledIn: string | undefined;
/** Flags that only the linker needs. */
const LINKERS = /^-(?:Wl,|s$|static$|shared$|pie$|no-pie$|fuse-ld=)/;

function compiledOnce(key: string, run: (out: string) => void): string {
	const made = compiled.get(key);
	if (made) return made;
	if (compiledIn === undefined) {
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-compiled-'));
		process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
		compiledIn = folder;
	}
	const out = join(compiledIn, `${compiled.size}`);
	run(out);
	compiled.set(key, out);
	return out;
}

const clang = (...args: string[]) => execFileSync('scripts/clang.sh', ['-O1', '-g0', ...args]);

/** Compiles C with the project's clang, and links it; nothing twice, as either takes longer than most tests. */
export function compile(out: string, source: string, ...flags: string[]): string {
	const forCompiler = flags.filter((flag) => !LINKERS.test(flag));
	const object = compiledOnce(['-c', source, ...forCompiler].join('\n'), (path) => {
		writeFileSync(`${path}.c`, source);
		clang('-c', '-o', path, `${path}.c`, ...forCompiler);
	});
	const program = compiledOnce([object, ...flags].join('\n'), (path) =>
		clang('-Qunused-arguments', '-o', path, object, ...flags),
	);
	copyFileSync(program, out);
	return out;
}

/** Runs an LLVM tool of the project's version, as scripts/build-bpf.sh does. */
export function llvm(tool: string, ...args: string[]): string {
	const script = `exec $(command -v ${tool}-19 || command -v ${tool}) "$@"`;
	return execFileSync('sh', ['-c', script, tool, ...args], { encoding: 'utf8' });
}

/** A stack of this process, of which 1 was counted. */
export function stackOf(user: readonly number[], more: Partial<CapturedStack> = {}): CapturedStack {
	const whose = { pid: process.pid, tid: 0, comm: 'test', lost: false };
	const counted = { at_ns: 0, parts: [1], count: 1, variance: 0 };
	return { ...whose, ...counted, kernel: [], user, ...more };
}

export interface FunctionSymbol {
	readonly name: string;
	readonly address: number;
	readonly size_bytes: number;
}

/** What a tool of binutils prints; of LLVM's, each takes a tenth of a second to start. */
export const binutils = (tool: 'nm' | 'readelf', ...args: string[]): string =>
	execFileSync(tool, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });

/** The functions of a file by another reader: nm. */
export function functionsOf(path: string, ...flags: string[]): FunctionSymbol[] {
	return binutils('nm', '-S', '--defined-only', ...flags, path)
		.split('\n')
		.flatMap((line) => {
			// Without a size where it is 0.
			const match = /^([0-9a-f]+) (?:([0-9a-f]+) )?[tTwWi] ([^@]+)/.exec(line);
			if (!match) return [];
			const [, address = '', size = '0', name = ''] = match;
			return [
				{ name, address: Number.parseInt(address, 16), size_bytes: Number.parseInt(size, 16) },
			];
		});
}

/** Names offsets of a file on disk. */
export async function nameIn(
	path: string,
	offsets: readonly number[],
	roots = [''],
): Promise<FileNames> {
	const fd = openSync(path, 'r');
	try {
		return await nameOffsets(new FileBytes(fd, fstatSync(fd).size), path, { roots }, offsets);
	} finally {
		closeSync(fd);
	}
}
