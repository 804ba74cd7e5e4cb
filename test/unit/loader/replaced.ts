/** The system behind tstrace, for a test: what it answers is what the test says. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { constants } from 'node:os';
import type { TestContext } from 'node:test';
import { koffi } from '../../../src/loader/koffi.js';

/** Has a C function fail with this error, by its name; returns what it returns. */
export function fails(errno: string): number {
	koffi().errno(constants.errno[errno as keyof typeof constants.errno]);
	return -1;
}

const originals = new Map<object, object>();

/** Has these functions of a library answer instead of its own until the test ends; again in the same test: more of them. */
export function replace<T extends object>(t: TestContext, library: T, functions: Partial<T>): void {
	const own = originals.get(library) ?? { ...library };
	originals.set(library, own);
	Object.assign(library, functions);
	t.after(() => Object.assign(library, own));
}

/** An error of the system's, as node throws it. */
export const errorOf = (code: string): Error => Object.assign(new Error(code), { code });

/**
 * While `work` runs, these files hold this text, by path; an Error: who reads one gets that, and it is not there. All
 * others are as they are.
 */
export function withFiles<T>(files: Readonly<Record<string, string | Error>>, work: () => T): T {
	const { readFileSync, existsSync } = fs;
	const replaced = (path: string, options?: 'utf8') => {
		const text = files[path];
		if (text instanceof Error) throw text;
		return text ?? readFileSync(path, options);
	};
	const isThere = (path: string) =>
		path in files ? !(files[path] instanceof Error) : existsSync(path);
	fs.readFileSync = replaced as typeof readFileSync;
	fs.existsSync = isThere as typeof existsSync;
	syncBuiltinESMExports();
	try {
		return work();
	} finally {
		Object.assign(fs, { readFileSync, existsSync });
		syncBuiltinESMExports();
	}
}
