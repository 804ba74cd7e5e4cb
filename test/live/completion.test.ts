/** Completion, as the shells ask for it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { runToEnd, TSTRACE, tstrace } from './support.js';

const PATH = `${dirname(resolve(TSTRACE))}:${process.env.PATH}`;
const LISTING = 63;
const COMPLETING = 9;

/** What readline would get for the last of these words, in which the shell expands nothing. */
function bash(words: readonly string[], type = COMPLETING): string[] {
	const script =
		'source <(tstrace completion bash); COMP_TYPE=$1; shift; COMP_WORDS=("$@"); ' +
		`COMP_CWORD=$(($# - 1)); _tstrace; printf "%s\\n" "\${COMPREPLY[@]}"`;
	const args = ['-c', script, 'bash', `${type}`, ...words];
	const { stdout } = runToEnd('env', [`PATH=${PATH}`, 'bash', ...args]);
	return stdout.split('\n').filter((line) => line !== '');
}

function fish(line: string): string[] {
	const script = 'tstrace completion fish | source; complete -C $argv[1]';
	const { stdout } = runToEnd('env', [`PATH=${PATH}`, 'fish', '-c', script, line]);
	return stdout.split('\n').filter((each) => each !== '');
}

/** What zsh's compadd would get as values. */
function zsh(option: string, typed: string): string[] {
	const script =
		'compdef() {}; typeset -A compstate; compadd() { print -rl -- $values }; ' +
		'source <(tstrace completion zsh); PREFIX=$2; _tstrace_values $1';
	const args = ['-f', '-c', script, 'zsh', option, typed];
	const { stdout } = runToEnd('env', [`PATH=${PATH}`, 'zsh', ...args]);
	return stdout.split('\n').filter((line) => line !== '');
}

async function withProcess(name: string, action: (pid: number) => void): Promise<void> {
	const script = 'printf "%s" "$0" > /proc/self/comm; echo ready; read line; :';
	const child = spawn('bash', ['-c', script, name], { stdio: ['pipe', 'pipe', 'inherit'] });
	try {
		await once(child.stdout, 'data');
		action(child.pid as number);
	} finally {
		child.kill('SIGKILL');
	}
}

test('scripts that the shells take', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	try {
		for (const shell of ['bash', 'zsh', 'fish']) {
			const script = join(folder, shell);
			const { status, stdout } = tstrace(['completion', shell]);
			assert.equal(status, 0);
			assert.match(stdout, /tstrace/);
			writeFileSync(script, stdout);
			const checked = runToEnd(shell, ['-n', script]);
			assert.equal(checked.status, 0, `${shell}: ${checked.stderr}`);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('tools, options, files, commands', () => {
	assert.deepEqual(bash(['tstrace', 'runq']), ['runqlat']);
	assert.deepEqual(bash(['tstrace', 'runqlat', '--sl']), ['--slower']);
	assert.deepEqual(bash(['tstrace', 'doc']), ['doctor']);
	assert.deepEqual(bash(['tstrace', 'doctor', '--j']), ['--json']);
	assert.ok(bash(['tstrace', 'runqlat', '-o', '/etc/passw']).includes('/etc/passwd'));
	assert.ok(bash(['tstrace', 'runqlat', '--', 'unshar']).includes('unshare'));
	assert.match(fish('tstrace runqlat --sl')[0] ?? '', /^--slower\t/);
});

test('values that are known beforehand', () => {
	assert.deepEqual(bash(['tstrace', 'runqlat', '--by', 'c']), ['cgroup', 'cpu', 'comm']);
	for (const flag of ['-s', '--sort']) {
		assert.deepEqual(bash(['tstrace', 'schedlat', flag, 'm']), ['migrations', 'max']);
	}
	assert.deepEqual(bash(['tstrace', 'offcputime', '--format', 'p']), ['pprof']);
	assert.deepEqual(fish('tstrace schedlat --sort max'), [
		'max\tsort by this column, largest first',
	]);
});

test('values that tstrace is asked for: states, calls, events', () => {
	assert.deepEqual(bash(['tstrace', 'offcputime', '--state', 'D']), ['D']);
	assert.deepEqual(bash(['tstrace', 'syscount', '--syscall', 'read,recvf']), ['read,recvfrom']);
	for (const flag of ['-e', '--event']) {
		const events = ['page-faults'];
		assert.deepEqual(bash(['tstrace', 'profile', flag, 'page']), events);
	}
	assert.deepEqual(zsh('--event', 'page'), ['page-faults']);
	assert.match(fish('tstrace profile -e page')[0] ?? '', /^page-faults(\t|$)/);
	assert.match(fish('tstrace syscount --errno ENOEN')[0] ?? '', /^ENOENT(\t|$)/);
});

test('processes: by number or name; a list says which is which', async () => {
	await withProcess('zq-complete', (pid) => {
		assert.deepEqual(bash(['tstrace', 'runqlat', '-p', 'zq-compl']), [`${pid}`]);
		assert.deepEqual(bash(['tstrace', 'runqlat', '-p', `1,${pid}`]), [`1,${pid}`]);
		assert.deepEqual(zsh('--pid', 'zq-compl'), [`${pid}`]);
		assert.deepEqual(fish(`tstrace runqlat -p ${pid}`), [`${pid}\tzq-complete`]);
		assert.deepEqual(bash(['tstrace', 'runqlat', '-t', 'zq-compl']), [`${pid}`]);
		for (const names of [bash(['tstrace', 'memleak', '--comm', 'zq']), zsh('--comm', 'zq')]) {
			assert.deepEqual(names, ['zq-complete']);
		}
		const list = bash(['tstrace', 'runqlat', '-p', ''], LISTING);
		assert.ok(list.includes(`${pid}  (zq-complete)`));
		const plain = bash(['tstrace', 'runqlat', '-p', '']);
		assert.ok(plain.includes(`${pid}`) && plain.every((value) => /^\d+$/.test(value)));
	});
});

test('cgroups, by their path from the mount on', () => {
	const folder = '/sys/fs/cgroup';
	const [first] = bash(['tstrace', 'runqlat', '--cgroup', '/']);
	assert.equal(first, '/');
	assert.ok(bash(['tstrace', 'runqlat', '--cgroup', folder])[0]?.startsWith(folder));
});

test('what was typed, and the names of strangers, are never executed', async () => {
	const folder = mkdtempSync('/tmp/w');
	try {
		const witness = join(folder, 'x');
		for (const typed of [`$(touch ${witness})`, `\`touch ${witness}\``, `';touch ${witness};'`]) {
			for (const option of ['-o', '-p', '--comm', '--cgroup', '--syscall'])
				bash(['tstrace', 'runqlat', option, typed]);
			zsh('--comm', typed);
		}
		assert.equal(existsSync(witness), false);
		const short = '/tmp/zq';
		rmSync(short, { force: true });
		await withProcess(`$(>${short})`, (pid) => {
			const names = bash(['tstrace', 'runqlat', '--comm', '$(>']);
			assert.deepEqual(names, [`\\$\\(\\>${short}\\)`]);
			const list = bash(['tstrace', 'runqlat', '-p', `${pid}`], LISTING);
			assert.ok(list.includes(`${pid}`));
			assert.deepEqual(zsh('--comm', '$(>'), [`$(>${short})`]);
		});
		assert.equal(existsSync(short), false);
		// Nobody else's begin so.
		for (const name of ['zqa\u001b[31mb', 'zqa\tb', 'zqa\u202eb']) {
			await withProcess(name, (pid) => {
				const names = bash(['tstrace', 'runqlat', '--comm', 'zqa']);
				assert.ok(!names.some((each) => /\\|\$/.test(each)), names.join('\n'));
				const list = bash(['tstrace', 'runqlat', '-p', ''], LISTING);
				assert.ok(list.some((line) => line.startsWith(`${pid}  (zqa\\`)));
				assert.doesNotMatch(list.join('\n'), /[^\P{Cc}\n]|\u202e/u);
			});
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});
