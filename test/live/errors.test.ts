/** Bad input and bad luck: one line that says what, why and what to do, and the right status. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runToEnd, TSTRACE, tstrace } from './support.js';

interface Case {
	readonly args: readonly string[];
	readonly status: 1 | 2;
	readonly says: RegExp;
	readonly env?: Readonly<Record<string, string>>;
}

const CASES: readonly Case[] = [
	{ args: ['runqlatt'], status: 2, says: /unknown command 'runqlatt'.*runqlat/ },
	{ args: ['offcpu'], status: 2, says: /'offcpu': did you mean offcputime\? See tstrace --help$/ },
	{ args: ['foo'], status: 2, says: /unknown command 'foo'; see tstrace --help$/ },
	{ args: ['runqlat', '--zzzz'], status: 2, says: /unknown option '--zzzz'; see/ },
	{ args: ['trace', '-e', 'opennat'], status: 2, says: /"opennat": did you mean openat/ },
	{ args: ['trace', '-e', 'read,!write'], status: 2, says: /give "!write" an -e of its own/ },
	{ args: ['trace', '-z', '-Z'], status: 2, says: /cannot be used with/ },
	{ args: ['trace', '--path', '/a', '--fd', '1'], status: 2, says: /cannot be used with/ },
	{ args: ['trace', '-c', '--json'], status: 2, says: /--totals-only is for text, not JSON/ },
	{ args: ['trace', '-T', '1'], status: 2, says: /its name here is --min-duration/ },
	{ args: ['trace', '--buffer', '2G'], status: 2, says: /a size of 4K to 1G/ },
	{
		args: ['trace', '--min-duration', 'soon'],
		status: 2,
		says: /give microseconds from 0 to \d+, or 500us/,
	},
	{ args: ['trace', '--fd', 'x'], status: 2, says: /the number of a descriptor/ },
	{ args: ['trace', '--cpu', '0'], status: 2, says: /leave out --cpu/ },
	{ args: ['timehist', '-s'], status: 2, says: /'-s'; its name here is --summary-only; see/ },
	{ args: ['timehist', '--max-stack=3'], status: 2, says: /its name here is --max-depth; see/ },
	{ args: ['runqlat', '--jsn'], status: 2, says: /unknown option '--jsn'.*--json/ },
	{ args: ['runqlat', '--by', 'cgrp'], status: 2, says: /cgroup, cpu, comm/ },
	{ args: ['runqlat', 'five'], status: 2, says: /interval 'five': give seconds from/ },
	{ args: ['runqlat', '-1'], status: 2, says: /interval '-1': give seconds from/ },
	{ args: ['runqlat', '1e300'], status: 2, says: /interval '1e300'/ },
	{ args: ['runqlat', '1', '0'], status: 2, says: /count '0': give a whole number/ },
	{ args: ['runqlat', '1', '1.5'], status: 2, says: /count '1.5'/ },
	{ args: ['runqlat', '1', '1', '1'], status: 2, says: /too many arguments/ },
	{ args: ['runqlat', '-p', 'x'], status: 2, says: /--pid.*'x': give process/ },
	{ args: ['runqlat', '-p', '-7'], status: 2, says: /--pid.*'-7'/ },
	{ args: ['runqlat', '-p', '99999999999'], status: 2, says: /from 1 to 4194304/ },
	{ args: ['runqlat', '-p', '4194303'], status: 1, says: /no process or thread 4194303/ },
	{ args: ['runqlat', '--cpu', '99999'], status: 2, says: /CPUs from 0 to/ },
	{ args: ['runqlat', '--cgroup', '/nope', '1'], status: 1, says: /\/nope is not a cgroup/ },
	{ args: ['runqlat', '--comm', 'a-name-of-17-byte'], status: 2, says: /15 bytes/ },
	{ args: ['runqlat', '-P', '-L'], status: 2, says: /cannot be used with/ },
	{ args: ['runqlat', '-u', '-k'], status: 2, says: /cannot be used with/ },
	{ args: ['runqlat', '--slower', '5', '-P'], status: 2, says: /leave out --pids/ },
	{ args: ['runqlat', '--slower', '5', '--top', '3'], status: 2, says: /leave out --top/ },
	{
		args: ['offcputime', '--top', '3', '1'],
		status: 2,
		says: /--top is for text; .* folded, which has all entries: leave out --top, or add --format text/,
	},
	{
		args: ['offcputime', '--top', '3', '--folded', '1'],
		status: 2,
		says: /--top is for text, and folded has all entries: leave out --top/,
	},
	{ args: ['runqlat', '--slower', '0'], status: 2, says: /microseconds from 1/ },
	{ args: ['runqlat', '--follow', '1', '1'], status: 2, says: /add -p PID, or -- COMMAND/ },
	{ args: ['timehist', '1', '1'], status: 2, says: /too many arguments/ },
	{ args: ['timehist', '--ring-kb', '0'], status: 2, says: /a whole number from 1 to 1048576/ },
	{ args: ['timehist', '--max-depth', '17'], status: 2, says: /from 1 to 16/ },
	{ args: ['timehist', '--summary', '-S'], status: 2, says: /cannot be used with/ },
	{ args: ['timehist', '-S', '-g'], status: 2, says: /shows no lines; leave out --call-graph/ },
	{ args: ['timehist', '--max-depth', '3'], status: 2, says: /add -g/ },
	{ args: ['timehist', '-S', '--json'], status: 2, says: /--summary-only is for text/ },
	{ args: ['timehist', '--cpu-visual', '-o', 'x.json'], status: 2, says: /for text, not JSON/ },
	{ args: ['timehist', '-o', '/dev/full', '0.1'], status: 1, says: /the disk is full/ },
	{ args: ['runqlat', '--'], status: 2, says: /add a COMMAND after --/ },
	{
		args: ['runqlat', '-p', '1', '--', 'true'],
		status: 2,
		says: /give either -p\/-t or a COMMAND/,
	},
	{ args: ['runqlat', '--', 'no-such-cmd'], status: 1, says: /no command no-such-cmd/ },
	{ args: ['runqlat', '--', '/etc/passwd'], status: 1, says: /\/etc\/passwd.*not executable/ },
	{ args: ['runqlat', '-o', '/no/dir/f', '1'], status: 1, says: /its folder does not exist/ },
	{
		args: ['runqlat', '-o', 'x.svg', '1'],
		status: 2,
		says: /cannot write svg to x\.svg: this tool writes text and json/,
	},
	{
		args: ['runqlat', '-o', 'x.png', '1'],
		status: 2,
		says: /cannot write \.png; .* name the file \.svg or \.html/,
	},
	{ args: ['runqlat', '-o', '/', '1'], status: 1, says: /it is a folder/ },
	{ args: ['runqlat', '-o', '/dev/full', '0.1', '1'], status: 1, says: /the disk is full/ },
	{ args: ['runqlat', '--hdr', '/dev/full', '0.1', '1'], status: 1, says: /the disk is full/ },
	{
		args: ['runqlat'],
		status: 1,
		says: /libbpf is missing: cannot load \/none.so; install it: apt-get install libbpf1/,
		env: { TSTRACE_LIBBPF: '/none.so' },
	},
	{
		args: ['runqlat'],
		status: 1,
		says: /libbpf is too old: 1.0 or newer is needed/,
		env: { TSTRACE_LIBBPF: 'libc.so.6' },
	},
	{ args: ['runqlat'], status: 2, says: /must be one of sched_info/, env: { TSTRACE_FORCE: 'x' } },
	{
		args: ['runqlat'],
		status: 1,
		says: /BPF object \/none\/runqlat.bpf.o is missing/,
		env: { TSTRACE_BPF_DIR: '/none' },
	},
	{ args: ['runqlat', '-p', '\u001b[31m'], status: 2, says: /\\x1b\[31m/ },
];

/** The lines on stderr without those of a run that had begun. */
function complaint(stderr: string): string[] {
	return stderr
		.trimEnd()
		.split('\n')
		.filter((line) => !/^(Tracing|lost:|cost:| {6})/.test(line));
}

for (const { args, status, says, env } of CASES) {
	const shown = [...Object.entries(env ?? {}).map((pair) => pair.join('=')), ...args].join(' ');
	test(JSON.stringify(shown), () => {
		const result = tstrace(args, env);
		const lines = complaint(result.stderr);
		assert.equal(lines.length, 1, result.stderr);
		assert.match(lines[0] ?? '', /^tstrace( (runqlat|timehist|trace|offcputime))?: /);
		assert.match(lines[0] ?? '', says);
		assert.doesNotMatch(result.stderr, /[^\P{Cc}\n]/u);
		assert.equal(result.status, status);
	});
}

test('a program that the verifier refuses: one line; the log only with -v', async () => {
	mkdirSync('build/refused', { recursive: true });
	await copyFile(`build/test-bpf/${process.arch}/refused.bpf.o`, 'build/refused/runqlat.bpf.o');
	const env = { TSTRACE_BPF_DIR: 'build/refused', TSTRACE_FORCE: 'sched_info' };
	const short = tstrace(['runqlat', '1', '1'], env);
	assert.equal(short.status, 1);
	const lines = short.stderr.trimEnd().split('\n');
	assert.equal(lines.length, 1, short.stderr);
	assert.match(
		lines[0] ?? '',
		/verifier refused BPF program switch_sched_info .*map_value_or_null/,
	);
	const long = tstrace(['runqlat', '-v', '1', '1'], env);
	assert.match(long.stderr, /BEGIN PROG LOAD LOG/);
});

/** Runs tstrace in a mount namespace of its own, where `prepare` has been done before. */
function inMountNamespace(prepare: string, args: string): ReturnType<typeof runToEnd> {
	const script = `${prepare} && exec ${TSTRACE} ${args}`;
	return runToEnd('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script]);
}

test('libbpf.so.1 really missing', () => {
	const hide =
		'for lib in $(find /usr/lib /lib -name "libbpf.so.[01]*" -type f); do mount --bind /dev/null $lib || exit 9; done';
	const { status, stderr } = inMountNamespace(hide, 'runqlat 1 1');
	assert.equal(status, 1);
	assert.match(stderr, /^tstrace runqlat: libbpf is missing: .*dnf install libbpf.*\n$/);
});

test('a kernel without BTF', () => {
	const { status, stderr } = inMountNamespace('mount -t tmpfs none /sys/kernel/btf', 'runqlat 1 1');
	assert.equal(status, 1);
	assert.match(stderr, /^tstrace runqlat: this kernel has no BTF.*CONFIG_DEBUG_INFO_BTF=y.*\n$/);
});

/** Runs tstrace with these capabilities at the most, whoever we are and wherever we are cloned. */
function withCapabilities(capabilities: string, ...args: string[]): ReturnType<typeof runToEnd> {
	return runToEnd('setpriv', [`--bounding-set=-all${capabilities}`, TSTRACE, ...args]);
}

test('a user without privileges: which are missing, and how to get them', () => {
	for (const [has, missing] of [
		['', 'CAP_BPF and CAP_PERFMON'],
		[',+bpf', 'CAP_PERFMON'],
	] as const) {
		const { status, stderr } = withCapabilities(has, 'runqlat', '1');
		assert.equal(status, 1);
		assert.match(stderr, new RegExp(`^tstrace runqlat: tracing needs ${missing}: .*sudo.*\n$`));
	}
});

test('CAP_BPF and CAP_PERFMON are enough', () => {
	const { status, stderr, stdout } = withCapabilities(',+bpf,+perfmon', 'runqlat', '0.2', '1');
	assert.equal(status, 0, stderr);
	assert.match(stdout, /distribution/);
});

test('an output file that may not be written', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	try {
		writeFileSync(join(folder, 'f'), '', { mode: 0o444 });
		const { status, stderr } = inMountNamespace(
			`mount --bind ${folder} ${folder} && mount -o remount,bind,ro ${folder}`,
			`runqlat -o ${folder}/f 1 1`,
		);
		assert.equal(status, 1);
		assert.match(stderr, /the file system is read-only; choose another place/);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('a closed pipe ends the tool quietly', () => {
	const { status, stderr } = runToEnd('bash', [
		'-c',
		`set -o pipefail; ${TSTRACE} runqlat -q 0.1 50 | head -n 1 >/dev/null`,
	]);
	assert.equal(status, 0);
	assert.equal(complaint(stderr).join('\n').replace(/^$/, ''), '');
});
