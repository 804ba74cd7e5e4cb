/** A server on the loopback that does what a test says, and a program whose symbols it has. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import type { Patience } from '../../../../src/reader.js';
import { compile, llvm, manyFunctions } from '../support.js';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface BadServer {
	readonly url: string;
	readonly host: string;
	/** Paths that were asked for, in this order. */
	readonly asked: string[];
}

/** Ends with the tests of the file, whatever it was doing. */
export async function serve(answer: Answer): Promise<BadServer> {
	const asked: string[] = [];
	const server = createServer((request, response) => {
		asked.push(request.url ?? '');
		answer(request, response);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	after(() => {
		server.close();
		server.closeAllConnections();
	});
	const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
	return { url: `http://${host}/`, host, asked };
}

export const notFound: Answer = (_request, response) => response.writeHead(404).end();

export interface SplitProgram {
	/** The program, without symbols. */
	readonly path: string;
	readonly buildId: string;
	/** The file with its symbols. */
	readonly debug: Buffer;
	readonly debugPath: string;
}

/** A program, and its symbols apart, under no name by which they are found. */
export function splitProgram(folder: string, name: string, functions = 3): SplitProgram {
	const built = compile(
		join(folder, `${name}-built`),
		manyFunctions(functions),
		'-Wl,--build-id=sha1',
	);
	const path = join(folder, name);
	const debugPath = join(folder, `${name}-symbols`);
	llvm('llvm-objcopy', '--only-keep-debug', built, debugPath);
	llvm('llvm-strip', '-o', path, built);
	const debug = readFileSync(debugPath);
	const { buildId = '' } = new Elf(new MemoryBytes(debug));
	return { path, buildId, debug, debugPath };
}

/** Remembers what was told; `interrupt`: as if the user sent a signal. */
export class Waiting implements Patience {
	readonly told: string[] = [];
	begun = 0;
	readonly #controller = new AbortController();

	tell(what: string, progress = ''): void {
		this.told.push(`${what} ${progress}`.trim());
	}

	during<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
		this.begun++;
		return action(this.#controller.signal);
	}

	interrupt(): void {
		this.#controller.abort();
	}
}

/** All files below a folder. */
export function filesIn(folder: string): string[] {
	if (!existsSync(folder)) return [];
	return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory() ? [] : [join(entry.parentPath, entry.name).slice(folder.length + 1)],
	);
}
