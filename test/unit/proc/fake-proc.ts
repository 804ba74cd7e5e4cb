/** Processes that there are not, and mounts: /proc says of them what a test says. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Above the kernel's limit of 2^22: what is said of it is all that there is. */
export const NOBODY = 5_000_000;

interface Said {
	/** Texts of files, by path. */
	readonly files?: Readonly<Record<string, string>>;
	/** Where links lead. */
	readonly links?: Readonly<Record<string, string>>;
	/** What is in folders. */
	readonly folders?: Readonly<Record<string, readonly string[]>>;
}

const saying = new WeakMap<TestContext, (said: Said) => void>();

/** Says this until the test is over, or something else is said; returns a function that says that. */
export function fakeProc(t: TestContext, first: Said): (said: Said) => void {
	const say = saying.get(t) ?? replaced(t);
	saying.set(t, say);
	say(first);
	return say;
}

function replaced(t: TestContext): (said: Said) => void {
	let said: Said = {};
	const { readFileSync, readlinkSync, readdirSync, openSync } = fs;
	/** What is said of a path; else what is really there. */
	const answer = <T>(
		of: Readonly<Record<string, T>> | undefined,
		path: unknown,
		really: () => T,
	): T => {
		const found = of?.[String(path)];
		if (found !== undefined) return found;
		if (String(path).startsWith(`/proc/${NOBODY}`))
			throw Object.assign(new Error(`${path}`), { code: 'ENOENT' });
		return really();
	};
	/** A file that has this text, and no name any more. */
	const opened = (text: string): number => {
		const path = join(tmpdir(), `tstrace-said-${process.pid}`);
		fs.writeFileSync(path, text);
		const fd = openSync(path, 'r');
		fs.rmSync(path);
		return fd;
	};
	type Name = 'readFileSync' | 'readlinkSync' | 'readdirSync' | 'openSync';
	const replace = (name: Name, by: unknown) => t.mock.method(fs, name, by as never);
	const mocks = [
		replace('readFileSync', (path: string, how: never) =>
			answer<unknown>(said.files, path, () => readFileSync(path, how)),
		),
		replace('readlinkSync', (path: string) => answer(said.links, path, () => readlinkSync(path))),
		replace('openSync', (path: string, ...how: [never, never]) => {
			const text = answer<string | number>(said.files, path, () => openSync(path, ...how));
			return typeof text === 'string' ? opened(text) : text;
		}),
		replace('readdirSync', (path: string, how: never) =>
			answer<unknown>(said.folders, path, () => readdirSync(path, how)),
		),
	];
	syncBuiltinESMExports();
	t.after(() => {
		for (const { mock } of mocks) mock.restore();
		syncBuiltinESMExports();
	});
	return (next) => {
		said = next;
	};
}

/** /proc/PID/stat: fields behind the name, from 0, as man 5 proc_pid_stat has them from 3. */
export function statText(fields: Readonly<Record<number, string | number>>): string {
	const all = Array.from({ length: 50 }, (_, i) => fields[i] ?? 7000 + i);
	return `${NOBODY} (a) b) ${all.join(' ')}\n`;
}
