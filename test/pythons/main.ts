/** Fetches other Pythons than this system's, as Debian's other releases have them, and runs Python's live tests on each. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Suite } from '../vm/apt.js';

const FOLDER = resolve('build/pythons');
const TESTS = ['python', 'python-waits', 'python-lines'].map(
	(name) => `build/test/test/live/${name}.test.js`,
);
const LOADER = 'ld-linux-x86-64.so.2';
const LIBRARIES = 'lib/x86_64-linux-gnu';
const PYTHONS = [
	{ version: '3.9', suite: 'bullseye' },
	{ version: '3.13', suite: 'trixie' },
	{ version: '3.14', suite: 'sid' },
];

/** A script that becomes a Python with the libraries of its release. */
function fetch({ version, suite: release }: (typeof PYTHONS)[number]): string {
	const suite = new Suite([release], 'amd64');
	suite.update();
	const root = `${FOLDER}/${version}`;
	rmSync(root, { recursive: true, force: true });
	mkdirSync(root, { recursive: true });
	const packages = suite.closure([`python${version}-minimal`, `libpython${version}-stdlib`]);
	for (const each of suite.extracted(packages)) execFileSync('cp', ['-a', `${each}/.`, root]);
	const script = `${FOLDER}/python${version}`;
	const program = `${root}/usr/bin/python${version}`;
	// Debian 11 has the C library in /lib, which is no link to /usr/lib there.
	const folders = [`${root}/usr/${LIBRARIES}`, `${root}/${LIBRARIES}`];
	const loader = folders.map((folder) => `${folder}/${LOADER}`).find(existsSync);
	writeFileSync(
		script,
		`#!/bin/sh\nexport PYTHONHOME='${root}/usr'\n` +
			`exec '${loader}' --library-path '${folders.join(':')}' '${program}' "$@"\n`,
	);
	chmodSync(script, 0o755);
	return script;
}

const scripts = PYTHONS.map(fetch);
const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...TESTS], {
	env: { ...process.env, PYTHONS: scripts.join(':') },
	stdio: 'inherit',
});
process.exitCode = status ?? 1;
