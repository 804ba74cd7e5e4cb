/** Which versions of Node.js tstrace runs on, and what it says on others. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const TOO_OLD =
	/^tstrace: Node\.js \S+ \(\/.*\/node\) is too old: install 20\.12 or newer \(of 21: 21\.7\)\n$/;
const { version, engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
	version: string;
	engines: { node: string };
};

function run(node: string, args: readonly string[]) {
	const { status, stdout, stderr } = spawnSync(node, args, { encoding: 'utf8' });
	return { status, stdout, stderr };
}

/** npm has these versions for one architecture only. */
const HAVE_THEM = process.arch === 'x64' ? {} : { skip: 'npm has no Node.js 20.12.0 for it' };
const RUNS = { status: 0, stdout: `${version}\n`, stderr: '' };

test(
	'the oldest version runs; the one before it says in one line that it is too old',
	HAVE_THEM,
	() => {
		assert.equal(engines.node, '^20.12.0 || >=21.7.0');
		for (const program of ['bin/tstrace', 'bin/flamegraph']) {
			const oldest = run(resolve('build/nodes/20.12.0/node'), [program, '--version']);
			assert.equal(oldest.stdout || oldest.stderr, RUNS.stdout);
			const before = run(resolve('build/nodes/20.11.1/node'), [program, '--version']);
			assert.deepEqual([before.status, before.stdout], [1, '']);
			assert.match(before.stderr, TOO_OLD);
			assert.ok(before.stderr.includes('20.11.1'), before.stderr);
		}
	},
);

test('any other version is told by its number', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-node-'));
	try {
		const pretend = join(folder, 'pretend.cjs');
		const answer = (as: string) => {
			writeFileSync(
				pretend,
				`Object.defineProperty(process.versions, 'node', { value: '${as}' });\n`,
			);
			return run(process.execPath, ['--require', pretend, 'bin/tstrace', '--version']);
		};
		for (const as of ['4.9.1', '18.20.8', '20.0.0', '20.9.0', '21.0.0', '21.6.2']) {
			const { status, stderr } = answer(as);
			assert.equal(status, 1, as);
			assert.match(stderr, TOO_OLD, as);
		}
		for (const as of ['20.12.0', '20.19.6', '21.7.0', '22.0.0', '26.1.0', '100.0.0'])
			assert.deepEqual(answer(as), RUNS, as);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('what it is built for is as old', () => {
	const targets = readFileSync('scripts/compile.mjs', 'utf8').match(/target: '[^']*'/g);
	assert.deepEqual(targets, ["target: 'node20.12'"]);
});
