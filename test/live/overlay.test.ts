/**
 * Functions of runtimes have names in containers, too. Their files lie on overlay file systems, whose mappings have other
 * devices in /proc than in the kernel.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { foldedLines, stackReport } from './stacks.js';
import { runToEnd, TSTRACE } from './support.js';

/** Each says that it has begun, and burns CPU time in one function until its input ends. */
const PROGRAMS = [
	{
		name: 'Python',
		command: [
			'/usr/bin/python3.11',
			'-c',
			'import threading, os, sys\ndef burn_inside():\n while going: pass\ngoing = True\n' +
				'threading.Thread(target=burn_inside).start()\nprint("begun", file=sys.stderr)\n' +
				'os.read(0, 1)\ngoing = False\n',
		],
		function: 'burn_inside (<string>:2)',
	},
	{
		name: 'Node.js',
		command: [
			'/usr/bin/node',
			// Nothing is inlined.
			'--no-opt',
			'-e',
			'function burn_inside(n) { while (n > 0) n = Math.sqrt(n * n) - 1; }\n' +
				'function turn() { burn_inside(1e5); setImmediate(turn); }\n' +
				'process.stdin.on("end", () => process.exit()).resume(); turn(); console.error("begun");\n',
		],
		function: 'burn_inside ([eval]:1)',
	},
] as const;

let folder = '';
let root = '';

before(() => {
	folder = mkdtempSync(join(tmpdir(), 'tstrace-overlay-'));
	// An overlay cannot be written to one of another: this may be one.
	execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
	root = join(folder, 'root');
	const layers = ['upper', 'work'].map((name) => join(folder, name));
	for (const each of [root, ...layers]) mkdirSync(each);
	const [upper, work] = layers;
	const options = `lowerdir=/,upperdir=${upper},workdir=${work}`;
	execFileSync('mount', ['-t', 'overlay', '-o', options, 'overlay', root]);
});

after(() => {
	for (const each of [root, folder]) execFileSync('umount', [each]);
	rmdirSync(folder);
});

/** Of what is counted in whole stacks, how much is in those with this function: at first, tables are not there yet. */
function shareOf(folded: string, name: string): number {
	let within = 0;
	let all = 0;
	for (const [frames, value] of foldedLines(folded)) {
		if (frames.includes('[cut]')) continue;
		all += value;
		if (frames.includes(name)) within += value;
	}
	return within / all;
}

const chrooted = (command: readonly string[]): string[] => ['chroot', root, ...command];

async function whileRunning(
	command: readonly string[],
	use: (child: ChildProcess) => void,
): Promise<void> {
	const [file = '', ...args] = chrooted(command);
	const child = spawn(file, args, { stdio: ['pipe', 'inherit', 'pipe'] });
	const ended = once(child, 'exit');
	try {
		await once(child.stderr ?? assert.fail(), 'data');
		use(child);
	} finally {
		child.stdin?.end();
		await ended;
	}
}

for (const { name, command, function: shown } of PROGRAMS) {
	const options = existsSync(command[0]) ? {} : { skip: `there is no ${command[0]}` };

	test(`${name}, chosen while it runs: its function`, options, async () => {
		await whileRunning(command, ({ pid }) => {
			// Which file it is turns out when the first stack is met: then there is a table to read.
			const args = ['profile', '--format', 'folded', '-F', '199', '-p', `${pid}`, '4'];
			const { stdout, stderr, status } = runToEnd(TSTRACE, args);
			assert.equal(status, 0, stderr);
			const share = shareOf(stdout, shown);
			// To start, and to collect, takes its share, too: more of it on a busy machine.
			assert.ok(share > 0.6, `${share}\n${stderr}\n${stdout}`);
		});
	});

	test(`${name}, met by a tstrace that traces all: its function`, options, async () => {
		await whileRunning(command, ({ pid }) => {
			const args = ['profile', '--json', '-F', '199', '8'];
			const { stacks } = stackReport(runToEnd(TSTRACE, args));
			const own = stacks.filter(({ key, cut }) => key.pid === pid && !cut);
			const sum = (those: typeof own) => those.reduce((all, { value }) => all + value, 0);
			const within = sum(own.filter(({ frames }) => frames.includes(shown)));
			const others = own.filter(({ frames }) => !frames.includes(shown));
			const rest = others.map(({ frames, value }) => `${frames.join(';')} ${value}`);
			// The collector, and what calls the function, are there, too: more of them on a busy machine.
			assert.ok(within > 0.6 * sum(own), `${within} of ${sum(own)}\n${rest.join('\n')}`);
		});
	});

	test(`${name}, as COMMAND: its function`, options, () => {
		const words = chrooted(command).map((word) => `'${word}'`);
		const shell = ['sh', '-c', `sleep 2 | ${words.join(' ')}`];
		const args = ['profile', '--format', 'folded', '-F', '199', '--follow', '--', ...shell];
		const { stdout, stderr, status } = runToEnd(TSTRACE, args);
		assert.equal(status, 0, stderr);
		const share = shareOf(stdout, shown);
		// To start, and to collect, takes its share, too: more of it on a busy machine.
		assert.ok(share > 0.6, `${share}\n${stderr}\n${stdout}`);
	});
}
