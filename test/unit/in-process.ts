/** The command line in this process: a process of its own for each would take most of the tests' time. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Readable } from 'node:stream';
import tty from 'node:tty';
import { main } from '../../src/cli/main.js';

const STDOUT = 1;
const STDERR = 2;

export interface Said {
	readonly status: number;
	readonly stdout: string;
	readonly stderr: string;
}

/**
 * tstrace with these words after its name, `input` in a pipe, and no terminal. What it writes to standard output
 * and standard error is returned; files are written. One at a time.
 */
export async function inProcess(
	args: readonly string[],
	input: string | Uint8Array = '',
): Promise<Said> {
	const { openSync, writeSync } = fs;
	const { isatty } = tty;
	const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
	const written: Record<number, Buffer[]> = { [STDOUT]: [], [STDERR]: [] };
	// Descriptors of standard output and standard error: a pipe is opened anew, and gets another one.
	const outputs = new Map([STDOUT, STDERR].map((fd) => [fd, fd]));
	fs.openSync = ((path: string, flags: string, mode?: number) => {
		const fd = openSync(path, flags, mode);
		const output = [STDOUT, STDERR].find((each) => path === `/proc/self/fd/${each}`);
		if (output === undefined) outputs.delete(fd);
		else outputs.set(fd, output);
		return fd;
	}) as typeof openSync;
	fs.writeSync = ((fd: number, data: string | Uint8Array, ...more: never[]) => {
		const output = outputs.get(fd);
		if (output === undefined) return writeSync(fd, data as Uint8Array, ...more);
		const bytes = Buffer.from(data as Uint8Array).subarray(more[0] ?? 0);
		written[output]?.push(bytes);
		return bytes.length;
	}) as typeof writeSync;
	tty.isatty = () => false;
	syncBuiltinESMExports();
	const value = Readable.from([Buffer.from(input as Uint8Array)], { objectMode: false });
	Object.defineProperty(process, 'stdin', { value, configurable: true });
	try {
		const status = await main(args);
		const [stdout, stderr] = [STDOUT, STDERR].map((fd) => Buffer.concat(written[fd] ?? []));
		return { status, stdout: `${stdout}`, stderr: `${stderr}` };
	} finally {
		Object.defineProperty(process, 'stdin', stdin);
		fs.openSync = openSync;
		fs.writeSync = writeSync;
		tty.isatty = isatty;
		syncBuiltinESMExports();
	}
}
