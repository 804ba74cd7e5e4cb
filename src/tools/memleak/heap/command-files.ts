/** The files that a command will execute code of, found before it runs. */
import { spawnSync } from 'node:child_process';
import { Elf } from '../../../elf/elf.js';
import { commandPath } from '../../../proc/command-path.js';
import { beginningOf, openRegular, readFile } from '../../../proc/open.js';

/** "#!" scripts whose interpreters are scripts; the kernel allows 5 (fs/exec.c). */
const MAX_INTERPRETERS = 5;
const LIST_TIMEOUT_MS = 5000;
const MAX_LIST_BYTES = 1 << 20;

/**
 * The program's file and its libraries. The dynamic loader itself is asked (`--list`, which glibc's and
 * musl's have): it finds them as it will, and executes nothing of the program.
 */
export function commandFiles(words: readonly string[]): string[] {
	const program = programOf(commandPath(words[0] ?? ''));
	if (program === undefined) return [];
	const loader = interpreterOf(program);
	if (loader === undefined) return [program];
	const { stdout } = spawnSync(loader, ['--list', program], {
		encoding: 'utf8',
		timeout: LIST_TIMEOUT_MS,
		killSignal: 'SIGKILL',
		maxBuffer: MAX_LIST_BYTES,
		stdio: ['ignore', 'pipe', 'ignore'],
	});
	const paths = [...(stdout ?? '').matchAll(/(?:^|=> |\s)(\/\S+) \(0x/gm)].map(([, path]) => path);
	return [...new Set([program, loader, ...paths.filter((path) => path !== undefined)])];
}

/** The ELF file that the kernel executes for a file: of a script, its interpreter. */
function programOf(file: string): string | undefined {
	let path = file;
	for (let i = 0; i < MAX_INTERPRETERS; i++) {
		const line = /^#!\s*(\S+)/.exec(beginningOf(path) ?? '')?.[1];
		if (line === undefined) return path;
		path = line;
	}
	return undefined;
}

/** The dynamic loader that an ELF file names (PT_INTERP, in the section .interp). */
function interpreterOf(path: string): string | undefined {
	return readFile(
		openRegular(path),
		(bytes) => {
			const elf = new Elf(bytes);
			const section = elf.section('.interp');
			if (!section || section.size_bytes > 4096) return undefined;
			return elf.contents(section).toString('utf8').replace(/\0.*$/s, '') || undefined;
		},
		() => undefined,
	);
}
