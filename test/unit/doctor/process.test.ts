/** Processes as doctor finds them: which of their files are looked at, and which process a number is. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	copyFileSync,
	existsSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { perfEvents } from '../../../src/doctor/perf.js';
import { examineProcess } from '../../../src/doctor/process.js';
import { judgeRuntimesOf } from '../../../src/doctor/runtimes.js';
import { memoryAnswers } from '../../../src/proc/memory-lock.js';
import { withFiles } from '../loader/replaced.js';
import { questions } from '../proc/asked.js';
import { fakeProc, NOBODY, statText } from '../proc/fake-proc.js';
import { compile, manyFunctions, temporaryFolder } from '../symbolize/support.js';

const folder = temporaryFolder();
const children: ChildProcess[] = [];
after(() => {
	for (const child of children) child.kill('SIGKILL');
});

/** Starts a program, and waits until it has written something. */
async function started(file: string): Promise<number> {
	const child = spawn(file, [], { stdio: ['pipe', 'pipe', 'inherit'] });
	children.push(child);
	await once(child.stdout, 'data');
	return child.pid as number;
}

/** Files that checks of this name are about, by the beginning of what they found. */
function filesOf(pid: number, name: string): string[] {
	const { checks } = examineProcess(pid);
	return checks.filter((each) => each.name === name).map(({ found }) => found.split(':')[0] ?? '');
}

test('of a program that only starts a library, that library is looked at', async () => {
	// More code than the C library has, as libpython and libjvm.
	const code = '__asm__(".text; .zero 4000000");';
	const ready = 'puts("ready"); fflush(stdout); getchar();';
	const source = `${code}${manyFunctions(20, ready).replace('int main(', 'int run(')}`;
	const library = compile(join(folder, 'libruns.so'), source, '-shared', '-fPIC', '-s');
	const launches = `int run(int, char **); int puts(const char *);
		int main(int n, char **words) { puts("begins"); n += run(n, words); puts("ends"); return n; }`;
	const launcher = compile(join(folder, 'launcher'), launches, `-Wl,${library}`);
	const pid = await started(launcher);
	const found = filesOf(pid, 'symbols');
	assert.equal(found[0], 'libruns.so');
	assert.match(found.slice(1).join(), /^(libc|ld-musl)[^,]*$/);
	// For unwind tables each file counts.
	assert.ok(filesOf(pid, 'unwind tables').includes('launcher'));
});

test('of a program with functions of its own, these, and the C library; whose it is', async () => {
	// More code than in any library.
	const code = '__asm__(".text; .zero 4000000");';
	const source = code + manyFunctions(20, 'puts("ready"); fflush(stdout); getchar();');
	const file = compile(join(folder, 'alone'), source, '-fno-omit-frame-pointer');
	const pid = await started(file);
	const [first] = examineProcess(pid).checks;
	assert.equal(first?.name, `process ${pid}`);
	assert.equal(first?.found, `alone, of user ${process.geteuid?.()}, ${file}`);
	// The user that it acts for.
	const status = `Name:\talone\nTgid:\t${pid}\nUid:\t7\t8\t9\t10\nVmSize:\t1 kB\n`;
	const as = withFiles({ [`/proc/${pid}/status`]: status }, () => examineProcess(pid));
	assert.match(as.checks[0]?.found ?? '', /^alone, of user 8, /);
	const found = filesOf(pid, 'symbols');
	assert.equal(found[0], 'alone');
	assert.match(found.slice(1).join(), /^(libc|ld-musl)[^,]*$/);
	assert.deepEqual(found, filesOf(pid, 'frame pointers'));
});

test('a thread is none of the processes, and is said to be of which; nor is a number that nobody has', async () => {
	const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
	try {
		await once(worker, 'online');
		const tid = readdirSync('/proc/self/task')
			.map(Number)
			.find((id) => id !== process.pid);
		const { checks, gone, unreadable } = examineProcess(tid as number);
		assert.equal(gone, `process ${tid}: a thread of process ${process.pid}`);
		assert.equal(checks[0]?.fix, `tstrace doctor -p ${process.pid}`);
		assert.equal(unreadable, undefined);
	} finally {
		await worker.terminate();
	}
	const none = 4_194_304;
	assert.equal(examineProcess(none).gone, `process ${none}: there is no such process`);
});

test('settings of perf events are each its own; what was opened to try is closed again', () => {
	const open = () => readdirSync('/proc/self/fd').length;
	perfEvents();
	const before = open();
	const checks = perfEvents();
	assert.equal(open(), before);
	for (const name of ['perf_event_paranoid', 'perf_event_max_stack', 'perf_event_mlock_kb']) {
		const value = readFileSync(`/proc/sys/kernel/${name}`, 'utf8').trim();
		const { found = '' } = checks.find((each) => each.name === name) ?? {};
		assert.equal(/^-?\d+/.exec(found)?.[0], value, name);
	}
});

test('a runtime that wrote a perf map has one; nothing is left open', (t) => {
	const map = `/tmp/perf-${process.pid}.map`;
	const file = { start: 0, end: 1, fileOffset: 0, major: 0, minor: 0, inode: 0, path: '/x/node' };
	const judge = () => judgeRuntimesOf(process.pid, '/x/app', [file]).map(({ state }) => state);
	assert.deepEqual(judge(), ['warn']);
	writeFileSync(map, '');
	t.after(() => rmSync(map));
	const open = () => readdirSync('/proc/self/fd').length;
	const before = open();
	assert.deepEqual(judge(), ['ok']);
	assert.equal(open(), before);
	assert.deepEqual(judgeRuntimesOf(process.pid, '/x/cat', [{ ...file, path: '/x/cat' }]), []);
});

test('a process whose memory does not answer is told where it is examined itself', async (t) => {
	const ask = questions(t);
	const stat = statText({ 0: 'D', 17: 1, 19: 77, 20: 4096 });
	fakeProc(t, {
		files: { [`/proc/${NOBODY}/task/${NOBODY}/stat`]: stat },
		folders: { [`/proc/${NOBODY}/task`]: [`${NOBODY}`] },
	});
	ask.silence();
	assert.equal(memoryAnswers(NOBODY), false);
	// Whatever else is asked for answers.
	await ask.speak();
	const { checks } = examineProcess(process.pid);
	assert.ok(checks.length > 2);
	assert.deepEqual(
		checks.filter(({ name }) => name === 'memory'),
		[],
	);
});

const PYTHON = '/usr/bin/python3.11';
const hasPython = existsSync(PYTHON) ? {} : { skip: `there is no ${PYTHON}` };

test(
	'a program that a runtime is in may have any name; other files are not looked into',
	hasPython,
	() => {
		const path = resolve(folder, 'app');
		copyFileSync(PYTHON, path);
		const file = {
			start: 0,
			end: 1,
			fileOffset: 0,
			major: 0,
			minor: 0,
			inode: statSync(path).ino,
			path,
		};
		const judged = (program: string) =>
			judgeRuntimesOf(process.pid, program, [file]).map(({ name, state }) => [name, state]);
		assert.deepEqual(judged(path), [['Python', 'ok']]);
		assert.deepEqual(judged('/x/other'), []);
	},
);
