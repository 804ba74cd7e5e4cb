/** Which BPF programs a file is part of, by their #include lines: pure. */
import { dirname, join, normalize } from 'node:path';

/** All of ours that `source` includes, and what these include, with itself. */
function includedBy(source: string, read: (file: string) => string): Set<string> {
	const all = new Set([source]);
	// What is added while it goes on is visited, too.
	for (const file of all) {
		for (const [, path = ''] of read(file).matchAll(/^#include "(.+)"$/gm))
			all.add(normalize(join(dirname(file), path)));
	}
	return all;
}

/** Those of `programs` that have to be compiled again when `file` changes. */
export function programsWith(
	file: string,
	programs: readonly string[],
	read: (file: string) => string,
): string[] {
	return programs.filter((program) => includedBy(program, read).has(file));
}
