/** Programs that look like scripts for node in /proc, as tstrace is one, and start ten times as fast. */
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A script for bash, by the name of node: its command line is "…/node PATH WORDS". */
export function writeProgram(path: string, script: string): void {
	const folder = join(dirname(path), 'interpreter');
	const interpreter = join(folder, 'node');
	if (!existsSync(interpreter)) {
		mkdirSync(folder);
		symlinkSync('/bin/bash', interpreter);
	}
	writeFileSync(path, `#!${interpreter}\n${script}`);
	chmodSync(path, 0o755);
}
