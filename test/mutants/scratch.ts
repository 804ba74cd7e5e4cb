/** A copy of the working tree, built as it is: mutants live there, and nowhere else. */
import { execFileSync } from 'node:child_process';
import {
	chmodSync,
	cpSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { programsWith } from './includes.js';
import { applied, type Mutation, Unfit } from './mutation.js';

/** Of the working tree; what other runs keep in build/ can be large. */
const LEFT_OUT = [/^\.git$/, /^build\/(bench|vm)$/];

/** Where BPF programs are, and where their objects go. */
const PROGRAMS = [
	['bpf', 'dist/bpf'],
	['test/bpf', 'build/test-bpf'],
] as const;

const read = (file: string) => readFileSync(file, 'utf8');

/**
 * Makes the copy in a folder of its own; returns that. Packages are part of it: while mutants run for hours, the
 * working tree may get others. Its `tmp` is for what tests write.
 */
export function openScratch(): string {
	const scratch = mkdtempSync(join(tmpdir(), 'tstrace-mutants-'));
	// Some tests run as other users.
	chmodSync(scratch, 0o755);
	cpSync('.', scratch, {
		recursive: true,
		preserveTimestamps: true,
		verbatimSymlinks: true,
		// Named pipes of tests that were killed cannot be copied.
		filter: (path) => !LEFT_OUT.some((pattern) => pattern.test(path)) && !lstatSync(path).isFIFO(),
	});
	mkdirSync(join(scratch, 'tmp'));
	chmodSync(join(scratch, 'tmp'), 0o1777);
	return scratch;
}

/** Runs a build step; its last words, if it fails, are the error's. */
function step(file: string, ...args: readonly string[]): void {
	try {
		execFileSync(file, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
	} catch (error) {
		const said = `${(error as { stderr?: string }).stderr ?? error}`.trim().split('\n');
		throw new Unfit(`it does not compile: ${said.slice(0, 3).join(' ')}`);
	}
}

/** Compiles files of src/ anew. */
export function recompile(files: readonly string[]): void {
	step(process.execPath, 'scripts/recompile.mjs', ...files);
}

/** What is built from a file, and how; for this machine's architecture only. */
function productsOf(file: string): { readonly files: string[]; build(): void } {
	if (/^src\/(browser|generated)\//.test(file)) {
		throw new Unfit(`${file} is not built by itself`);
	}
	if (file.startsWith('src/')) {
		const compiled = `build/test/${file.replace(/\.ts$/, '.js')}`;
		return {
			files: [compiled, 'dist/main.cjs', 'dist/main.cache', 'dist/table-worker.cjs'],
			build: () => recompile([file]),
		};
	}
	const objects = PROGRAMS.flatMap(([from, to]) => {
		const programs = readdirSync(from).filter((name) => name.endsWith('.bpf.c'));
		const changed = programsWith(
			file,
			programs.map((name) => join(from, name)),
			read,
		);
		return changed.map((source) => ({
			source,
			object: join(to, process.arch, `${basename(source, '.c')}.o`),
		}));
	});
	if (objects.length === 0) throw new Unfit(`${file} is in no BPF program`);
	return {
		files: objects.map(({ object }) => object),
		build() {
			for (const { source, object } of objects)
				step('scripts/bpf-object.sh', source, process.arch, object);
		},
	};
}

/**
 * In the scratch copy, which is the current folder: puts the bug in, builds what it changes, does `work`,
 * and makes everything what it was. Throws Unfit where the mutation does not apply or does not compile.
 */
export async function withMutation<T>(mutation: Mutation, work: () => Promise<T>): Promise<T> {
	const text = read(mutation.file);
	const mutated = applied(text, mutation);
	const products = productsOf(mutation.file);
	const before = products.files.map((file) => [file, readFileSync(file)] as const);
	try {
		writeFileSync(mutation.file, mutated);
		products.build();
		return await work();
	} finally {
		writeFileSync(mutation.file, text);
		for (const [file, bytes] of before) writeFileSync(file, bytes);
	}
}

/** Removes the copy. */
export function closeScratch(scratch: string): void {
	rmSync(scratch, { recursive: true, force: true, maxRetries: 20 });
}
