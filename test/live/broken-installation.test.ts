/** tstrace where something is missing that it was installed with, or the system usually has. */
import assert from 'node:assert/strict';
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Finished, runToEnd, TSTRACE } from './support.js';

interface Installation {
	run(args: readonly string[], stdin?: string): Finished;
}

/** An installation of its own, away from the checkout, so that nothing there is found by accident. */
function installed(prepare: (modules: string) => void, use: (at: Installation) => void): void {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-installed-'));
	try {
		for (const part of ['bin', 'dist', 'package.json'])
			cpSync(part, join(folder, part), { recursive: true });
		const modules = join(folder, 'node_modules');
		mkdirSync(modules);
		prepare(modules);
		use({
			run: (args, stdin) => {
				const words = [process.execPath, join(folder, 'bin/tstrace'), ...args];
				if (stdin === undefined) return runToEnd(words[0] as string, words.slice(1));
				const file = join(folder, 'stdin');
				writeFileSync(file, stdin);
				return runToEnd('sh', ['-c', 'exec "$@" < "$0"', file, ...words]);
			},
		});
	} finally {
		rmSync(folder, { recursive: true });
	}
}

const copy = (modules: string, name: string) =>
	cpSync(join('node_modules', name), join(modules, name), { recursive: true });

const NATIVE = `@koromix/koffi-linux-${process.arch}`;

const KOFFIS: ReadonlyArray<{
	readonly what: string;
	readonly prepare: (modules: string) => void;
	readonly says: RegExp;
}> = [
	{ what: 'missing', prepare: () => {}, says: /the npm package koffi is missing/ },
	{
		what: 'installed without optional packages',
		prepare: (modules) => copy(modules, 'koffi'),
		says: /koffi cannot be loaded: Cannot find the native Koffi module/,
	},
	{
		what: 'cut off in its middle',
		prepare: (modules) => {
			copy(modules, 'koffi');
			copy(modules, NATIVE);
			for (const libc of ['linux', 'musl'])
				truncateSync(join(modules, NATIVE, `${libc}_${process.arch}`, 'koffi.node'), 100);
		},
		says: /koffi cannot be loaded: .*koffi\.node: \w+/,
	},
	{
		what: 'full of nonsense',
		prepare: (modules) => {
			mkdirSync(join(modules, 'koffi'));
			writeFileSync(join(modules, 'koffi/index.js'), 'It is\nnot a\nprogram.\n');
		},
		says: /koffi cannot be loaded: Unexpected identifier/,
	},
];

for (const { what, prepare, says } of KOFFIS) {
	test(`koffi is ${what}: a line where it is needed, and the rest works`, () => {
		installed(prepare, ({ run }) => {
			for (const tool of ['runqlat', 'offcputime', 'profile', 'memleak', 'syscount']) {
				const { status, stdout, stderr } = run([tool, '-p', `${process.pid}`, '0.1']);
				assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
				assert.match(stderr, says);
				assert.match(stderr, /^tstrace \w+: .*; install tstrace again with npm.*\n$/);
			}
			const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
			assert.deepEqual(run(['--version']), { status: 0, stdout: `${version}\n`, stderr: '' });
			assert.match(run(['--help']).stdout, /^Usage: tstrace /);
			assert.match(run(['syscount', '-l']).stdout, /openat/);
			assert.match(run(['completion', 'bash']).stdout, /complete/);
			const picture = run(['flamegraph'], 'main;work 3\n');
			assert.equal(picture.stderr, '');
			assert.match(picture.stdout, /<svg.*work/s);
			assert.match(run(['fold'], 'main;work 3\n').stdout, /main;work 3/);
		});
	});

	test(`koffi is ${what}: doctor says that, and not that libbpf was missing`, () => {
		installed(prepare, ({ run }) => {
			const { status, stdout, stderr } = run(['doctor', '--json']);
			assert.deepEqual({ status, stderr }, { status: 1, stderr: '' });
			const { checks, tools } = JSON.parse(stdout) as {
				checks: { name: string; state: string; found: string; fix: string | null }[];
				tools: { name: string; runs: boolean; why?: string }[];
			};
			const [koffi, libbpf] = checks;
			assert.equal(koffi?.name, 'koffi');
			assert.equal(koffi?.state, 'missing');
			assert.match(koffi?.found ?? '', says);
			assert.match(koffi?.fix ?? '', /^install tstrace again with npm/);
			assert.equal(libbpf?.name, 'libbpf');
			assert.match(libbpf?.found ?? '', /^tstrace cannot tell: .*koffi/);
			assert.equal(libbpf?.fix, null);
			for (const { name, runs, why } of tools) {
				assert.equal(runs, false, name);
				assert.match(why ?? '', says);
			}
		});
	});
}

/** In a mount namespace where `hide` has been done; node is kept, wherever it is. */
function withoutShell(hide: string): Finished {
	const script = `exec 9< ${process.execPath} && ${hide} && exec /proc/self/fd/9 ${TSTRACE} runqlat -- ${TSTRACE}`;
	return runToEnd('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script]);
}

const SHELLS = [
	['is missing', 'mount -t tmpfs none $(dirname $(readlink -f /bin/sh))', /there is no/],
	[
		'cannot be executed',
		'mount --bind /dev/null $(readlink -f /bin/sh)',
		/\/bin\/sh cannot be executed/,
	],
] as const;

for (const [what, hide, says] of SHELLS) {
	test(`/bin/sh ${what}: COMMAND is not started, and one line says why`, () => {
		const { status, stdout, stderr } = withoutShell(hide);
		assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
		assert.match(stderr, /^tstrace runqlat: cannot start COMMAND: .*-p PID\n$/);
		assert.match(stderr, says);
	});
}
