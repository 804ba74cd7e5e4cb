/** tstrace doctor: on this machine, on ones with something hidden, of processes of known make. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { Check, ToolCheck } from '../../src/doctor/check.js';
import { compile, manyFunctions, temporaryFolder } from '../unit/symbolize/support.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { needsNarrowCalls } from './narrow-calls.js';
import { type Finished, runToEnd, TSTRACE, tstrace, Workload } from './support.js';

const folder = temporaryFolder();
const TOOLS = readdirSync('src/tools').map((file) => file.replace(/\.ts$/, ''));

let before = kernelObjects();
beforeEach(() => {
	before = kernelObjects();
});
afterEach(() => untilReleased(before));

interface Told {
	readonly status: number | null;
	readonly tools: readonly ToolCheck[];
	/** The first check of this name whose finding has this text. */
	check(name: string, found?: string): Check;
	/** All checks of this name. */
	all(name: string): readonly Check[];
	tool(name: string): ToolCheck;
}

function told({ status, stdout, stderr }: Finished): Told {
	assert.equal(stderr, '');
	const { checks, tools } = JSON.parse(stdout) as { checks: Check[]; tools: ToolCheck[] };
	return {
		status,
		tools,
		all: (name) => checks.filter((each) => each.name === name),
		check(name, found = '') {
			const check = checks.find((each) => each.name === name && each.found.includes(found));
			assert.ok(check, `${name} is not in ${stdout}`);
			return check;
		},
		tool(name) {
			const tool = tools.find((each) => each.name === name);
			assert.ok(tool, `${name} is not in ${stdout}`);
			return tool;
		},
	};
}

const doctor = (...args: string[]) => told(tstrace(['doctor', '--json', ...args]));

test('here every tool runs, and says by which way', () => {
	const { status, tools, check, tool } = doctor();
	assert.equal(status, 0);
	assert.deepEqual(tools.map(({ name }) => name).sort(), TOOLS.sort());
	for (const { name, runs, way } of tools) assert.ok(runs && way, name);
	assert.match(tool('runqlat').way ?? '', /times waits with sched_info/);
	for (const name of ['BTF', 'libbpf', 'tracepoints', 'capabilities', 'kernel symbols']) {
		assert.equal(check(name).state, 'ok', name);
	}
	assert.match(check('libbpf').found, /^1\.\d.*, \/.*libbpf\.so\.1/);
});

test('as text: it fits, and has no colour where nobody sees it', () => {
	const { status, stdout, stderr } = tstrace(['doctor']);
	assert.equal(status, 0);
	assert.equal(stderr, '');
	for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
	assert.ok(!stdout.includes('\u001b'));
	assert.match(stdout, new RegExp(`^${TOOLS.length} of ${TOOLS.length} tools can run here:$`, 'm'));
	// Where it may load no BPF program it has the same colours, and takes a fraction of the time.
	const command = `setpriv --bounding-set=-all ${TSTRACE} doctor`;
	const seen = (env: Record<string, string>) =>
		runToEnd('script', ['-qec', command, '/dev/null'], { TERM: 'xterm', ...env });
	// Empty, it is not set (no-color.org).
	const { stdout: coloured } = seen({ NO_COLOR: '' });
	assert.ok(coloured.includes('\u001b[32mok'), coloured);
	assert.ok(!seen({ NO_COLOR: '1' }).stdout.includes('\u001b'));
});

const withCapabilities = (capabilities: string) =>
	told(runToEnd('setpriv', [`--bounding-set=-all${capabilities}`, TSTRACE, 'doctor', '--json']));

/** What needs no BPF program runs where none can be loaded. */
const WITHOUT_BPF = ['profile', 'stat'];

test('without capabilities: only what needs no BPF runs; what lacks, and what gives it', () => {
	const { status, tools, check, tool } = withCapabilities('');
	assert.equal(status, 1);
	for (const { name, runs } of tools) assert.equal(runs, WITHOUT_BPF.includes(name), name);
	assert.match(tool('profile').way ?? '', /without BPF/);
	assert.match(tool('runqlat').why ?? '', /needs CAP_BPF and CAP_PERFMON/);
	assert.equal(check('capabilities').state, 'missing');
	assert.match(check('capabilities').fix ?? '', /--cap-add BPF --cap-add PERFMON/);
});

test('with CAP_BPF and CAP_PERFMON every tool runs; what is lost is said', () => {
	const { status, check } = withCapabilities(',+bpf,+perfmon');
	assert.equal(status, 0);
	assert.equal(check('capabilities').state, 'warn');
	assert.equal(check('BPF statistics').state, 'warn');
});

/** Runs it in a mount namespace of its own, where `prepare` has been done before. */
function inMountNamespace(prepare: string): Told {
	const script = `${prepare} && exec ${TSTRACE} doctor --json`;
	return told(runToEnd('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script]));
}

test('a kernel without BTF', () => {
	const { status, check, tool } = inMountNamespace('mount -t tmpfs none /sys/kernel/btf');
	assert.equal(status, 1);
	assert.equal(check('BTF').state, 'missing');
	assert.match(check('BTF').fix ?? '', /CONFIG_DEBUG_INFO_BTF=y/);
	assert.match(check('uprobes').found, /^tstrace cannot tell: this kernel has no BTF/);
	assert.ok(!tool('runqlat').runs);
	assert.match(tool('runqlat').why ?? '', /no BTF/);
});

test('a machine without /proc: what cannot be told is said of each', () => {
	const { status, tools, check } = inMountNamespace('mount -t tmpfs none /proc');
	assert.equal(status, 1);
	for (const name of ['capabilities', 'perf events', 'hardware counters', 'kernel symbols']) {
		assert.equal(check(name).state, 'missing');
		assert.match(check(name).found, /^tstrace cannot tell: .*\/proc/);
	}
	assert.equal(check('BTF').state, 'ok');
	assert.ok(tools.every(({ runs }) => !runs));
});

test('libbpf really missing', () => {
	const hide =
		'for lib in $(find /usr/lib /lib -name "libbpf.so.[01]*" -type f); do mount --bind /dev/null $lib || exit 9; done';
	const { status, tools, check } = inMountNamespace(hide);
	assert.equal(status, 1);
	assert.equal(check('libbpf').state, 'missing');
	assert.match(check('libbpf').fix ?? '', /install libbpf|add libbpf|-S libbpf/);
	for (const { name, runs } of tools) assert.equal(runs, name === 'stat', name);
});

test('tracefs and kernel symbols hidden: tools run', () => {
	const hide =
		'for at in $(awk \'$3 == "tracefs" { print $2 }\' /proc/mounts); do umount $at || exit 9; done; ' +
		'mount --bind /dev/null /proc/kallsyms';
	const { status, check } = inMountNamespace(hide);
	assert.equal(status, 0);
	assert.equal(check('kernel symbols').costs, 'kernel frames have no names');
	assert.equal(check('tracefs').fix, 'mount -t tracefs tracefs /sys/kernel/tracing');
});

test('a program that the verifier refuses is that tool alone', () => {
	const objects = join(folder, 'bpf');
	cpSync(`dist/bpf/${process.arch}`, objects, { recursive: true });
	copyFileSync(`build/test-bpf/${process.arch}/refused.bpf.o`, join(objects, 'runqlat.bpf.o'));
	const { status, tools, tool } = told(tstrace(['doctor', '--json'], { TSTRACE_BPF_DIR: objects }));
	assert.equal(status, 1);
	for (const { name, runs } of tools) assert.equal(runs, name !== 'runqlat', name);
	assert.match(tool('runqlat').why ?? '', /verifier refused BPF program .*map_value_or_null/);
});

const SOURCE = manyFunctions(20, 'free(malloc(n)); puts("ready"); fflush(stdout); getchar();');

const children: ChildProcess[] = [];
after(() => {
	for (const child of children) child.kill('SIGKILL');
});

/** Starts a program and waits until it has said something. */
async function started(file: string, ...args: string[]): Promise<number> {
	const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
	children.push(child);
	await once(child.stdout, 'data');
	return child.pid as number;
}

test('-p: several programs, with and without frame pointers, symbols, unwind tables', async () => {
	const framed = compile(join(folder, 'framed'), SOURCE, '-fno-omit-frame-pointer');
	const frameless = compile(join(folder, 'frameless'), SOURCE, '-fomit-frame-pointer', '-s');
	const flags = ['-fomit-frame-pointer', '-fno-asynchronous-unwind-tables', '-fno-unwind-tables'];
	const mute = compile(join(folder, 'mute'), SOURCE, ...flags);
	const pids: number[] = [];
	for (const file of [framed, frameless, mute]) pids.push(await started(file));
	const hog = await Workload.start('hog', '0');
	const { status, check, all } = doctor('-p', [...pids, hog.pid].join());
	await hog.end();
	assert.equal(status, 0);

	assert.match(check(`process ${pids[0]}`).found, /^framed, of user \d+, \/.*framed$/);
	assert.equal(check('frame pointers', 'framed:').state, 'ok');
	assert.equal(check('unwind tables', 'framed:').state, 'ok');
	assert.match(check('unwind tables', 'libc').found, /: has unwind tables$/);
	assert.equal(check('symbols', 'framed:').state, 'ok');
	const allocators = all('allocator');
	assert.equal(allocators.length, pids.length + 1);
	for (const { found } of allocators) assert.match(found, /libc/);

	assert.equal(check('unwind tables', 'frameless:').state, 'ok');
	assert.match(check('frame pointers', 'frameless:').found, /: [0-9] % of .*; only --unwind fp/);
	assert.equal(check('symbols', 'frameless:').state, 'warn');

	assert.match(check('unwind tables', 'mute:').found, /its stacks are guessed/);

	// Small, and it has no library but the C library.
	for (const name of ['frame pointers', 'symbols']) check(name, 'hog: ');
});

test('-p: static and stripped: memleak cannot run there', async () => {
	const file = compile(join(folder, 'static'), SOURCE, '-static', '-s');
	const { status, tools, check } = doctor('-p', String(await started(file)));
	assert.equal(status, 1);
	assert.equal(check('allocator').state, 'missing');
	for (const { name, runs } of tools) assert.equal(runs, name !== 'memleak', name);
});

/** Says so, and waits; without a C library, which for 32 bits may not be installed. */
const SOURCE_32 = `
static int call(int number, int a, int b, int c)
{
	int result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
void _start(void) { call(4, 1, (int)"ready", 5); for (;;) call(29, 0, 0, 0); }
`;

if (process.arch === 'x64') {
	test('-p: a 32-bit program', needsNarrowCalls(), async () => {
		const flags = ['-m32', '-static', '-nostdlib', '-ffreestanding', '-fno-pic'];
		const file = compile(join(folder, 'small'), SOURCE_32, ...flags);
		const pid = await started(file);
		const { status, check, tool } = doctor('-p', String(pid));
		assert.equal(status, 1);
		assert.match(check(`process ${pid}`).found, /32-bit$/);
		assert.match(tool('memleak').why ?? '', /it is a 32-bit program/);
	});
}

test('-p: node with and without a perf map', async () => {
	const script = "process.stdout.write('ready'); process.stdin.resume();";
	const plain = await started(process.execPath, '-e', script);
	const mapped = await started(process.execPath, '--perf-basic-prof', '-e', script);
	const { check } = doctor('-p', `${plain},${mapped}`);
	if (process.versions.v8.startsWith('11.3.')) {
		assert.equal(check('JavaScript').state, 'ok');
		assert.match(check('JavaScript').found, /V8 11\.3\.\d+: its functions have names/);
	} else {
		const without = check('JIT map', `perf-${plain}.map`);
		assert.equal(without.state, 'warn');
		assert.match(without.fix ?? '', /--perf-basic-prof/);
	}
	assert.equal(check('JIT map', `perf-${mapped}.map`).state, 'ok');
	rmSync(`/tmp/perf-${mapped}.map`);
});

test('-p: the kernel’s own, a thread, none at all', async () => {
	const kernel = doctor('-p', '2');
	assert.match(kernel.check('process 2').found, /kthreadd, a kernel thread/);
	assert.ok(!kernel.tool('memleak').runs);
	const threads = readdirSync(`/proc/${process.pid}/task`).map(Number);
	const thread = threads.find((tid) => tid !== process.pid);
	const { status, tools, check } = doctor('-p', `4194303,${thread}`);
	assert.equal(status, 1);
	assert.equal(check('process 4194303').found, 'there is no such process');
	for (const { why } of tools) assert.equal(why, 'process 4194303: there is no such process');
	assert.equal(check(`process ${thread}`).fix, `tstrace doctor -p ${process.pid}`);
});

test("an ordinary user's profile sees that user's processes only", async () => {
	const script = "process.stdout.write('ready'); process.stdin.resume();";
	const pid = await started(process.execPath, '-e', script);
	const { status, stdout } = runToEnd('setpriv', [
		'--reuid=65534',
		'--regid=65534',
		'--clear-groups',
		TSTRACE,
		'doctor',
		'--json',
		'-p',
		String(pid),
	]);
	const { tool, check } = told({ status, stdout, stderr: '' });
	assert.equal(status, 1);
	assert.ok(!tool('profile').runs);
	assert.match(tool('profile').why ?? '', /not allowed to observe/);
	assert.equal(check('capabilities').fix, 'sudo tstrace doctor');
});

test('wrong usage', () => {
	for (const args of [['-p', 'x'], ['--jsn'], ['5']]) {
		const { status, stdout, stderr } = tstrace(['doctor', ...args]);
		assert.equal(status, 2, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, /^tstrace doctor: .*\n$/);
	}
});
