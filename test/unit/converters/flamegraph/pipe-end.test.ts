/** Who writes into a pipe, as /proc shows it of the end that somebody reads. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { PipeWriter } from '../../../../src/converters/flamegraph/pipe-writer.js';
import { writeProgram } from './programs.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-pipe-'));
after(() => rmSync(folder, { recursive: true }));

/** Programs that say that they run, and go on until they are ended. */
for (const name of ['tstrace', 'other'])
	writeProgram(
		join(folder, name),
		`# Its name as ps shows it may be anything.
[ -z "$AS" ] || printf '%s' "$AS" > /proc/self/comm
echo "running $BASHPID" >&2
while read -r line; do :; done
`,
	);

/** A shell and what it starts, which end with the test. */
function spawnGroup(t: TestContext, script: string) {
	const child = spawn('bash', ['-c', script], {
		cwd: folder,
		detached: true,
		env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
		stdio: ['pipe', 'ignore', 'pipe'],
	});
	t.after(() => process.kill(-(child.pid as number), 'SIGKILL'));
	return child;
}

async function firstLine({ stderr }: { stderr: Readable }): Promise<string> {
	for await (const line of createInterface({ input: stderr })) return line;
	return assert.fail('it ended');
}

/**
 * Runs a pipe line, until so many programs run in it, and one that reads. Returns the reading end, as a path; all of it
 * ends with the test.
 */
async function readingEnd(t: TestContext, writers: string, running: number): Promise<string> {
	const reader = `{ echo "reads $BASHPID" >&2; exec sleep 1000; }`;
	const child = spawnGroup(t, `${writers} | ${reader}`);
	const [readers, writing]: [string[], string[]] = [[], []];
	for await (const line of createInterface({ input: child.stderr })) {
		const [says, pid = assert.fail(line)] = line.split(' ');
		(says === 'reads' ? readers : writing).push(pid);
		if (readers.length === 1 && writing.length === running) break;
	}
	const end = `/proc/${readers[0]}/fd/0`;
	// While a shell prints to another descriptor, its standard output lies elsewhere: at first that, then this.
	const pipe = readlinkSync(end);
	while (!writing.every((pid) => readlinkSync(`/proc/${pid}/fd/1`) === pipe)) await setImmediate();
	return end;
}

/** What waits for its time, which the test says. */
function timersOf(t: TestContext): { lookAgain(): void } {
	const looks: (() => void)[] = [];
	t.mock.method(globalThis, 'setTimeout', (look: () => void) => {
		looks.push(look);
		return { unref: () => undefined };
	});
	return { lookAgain: () => (looks.shift() ?? assert.fail('it does not look again'))() };
}

/** What is known at first of who writes. */
function argumentsOf(path: string): readonly string[] | undefined {
	const writer = PipeWriter.of(path) ?? assert.fail('no pipe');
	writer.close();
	return writer.arguments;
}

for (const [writers, words, running = 1] of [
	['tstrace offcputime -p 1', ['offcputime', '-p', '1']],
	['(tstrace profile 5; true)', ['profile', '5']],
	['{ cat /dev/null; sh -c "tstrace profile; true"; }', ['profile']],
	["AS='a) R 1 1' tstrace profile", ['profile']],
	['other profile', undefined],
	['(tstrace profile 1 <&0 & tstrace profile 2 <&0; wait)', ['profile'], 2],
	['(tstrace profile <&0 & tstrace memleak <&0; wait)', undefined, 2],
	['(other <&0 & tstrace memleak <&0; wait)', ['memleak'], 2],
	// What it has started writes into the same pipe, and is not it.
	['tstrace offcputime -- other', ['offcputime', '--', 'other']],
] as const) {
	test(writers, async (t) => {
		const found = argumentsOf(await readingEnd(t, writers, running));
		// Of two that do the same either is told.
		assert.deepEqual(running === 2 ? found?.slice(0, 1) : found, words);
	});
}

test('the nearest process that writes may have any name: its family is found', async (t) => {
	const end = await readingEnd(t, `(tstrace profile <&0 & AS='a) R 1 1' other <&0; wait)`, 2);
	// In a process that was started last, to which the other is the nearest.
	const module = resolve('build/test/src/converters/flamegraph/pipe-writer.js');
	const code = `
		import { PipeWriter } from ${JSON.stringify(module)};
		console.log(JSON.stringify(PipeWriter.of(${JSON.stringify(end)})?.arguments ?? null));`;
	const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
		encoding: 'utf8',
	});
	assert.equal(stdout, '["profile"]\n', stderr);
});

test('what a writer starts later is found when it is looked at again', async (t) => {
	const { lookAgain } = timersOf(t);
	const go = join(folder, 'go');
	spawnSync('mkfifo', [go]);
	// A shell that becomes tstrace once it is told.
	const end = await readingEnd(
		t,
		`{ echo "running $BASHPID" >&2; read -r line < go; exec tstrace profile 7; }`,
		1,
	);
	const writer = PipeWriter.of(end) ?? assert.fail();
	assert.equal(writer.arguments, undefined);
	writeFileSync(go, '\n');
	for (let tries = 0; writer.arguments === undefined; tries++) {
		assert.ok(tries < 10_000, 'it is not found');
		lookAgain();
		await setImmediate();
	}
	assert.deepEqual(writer.arguments, ['profile', '7']);
	writer.close();
});

test('a writer that was not found at first is found soon', async (t) => {
	const { lookAgain } = timersOf(t);
	const reader = spawnGroup(t, 'exec 3< <(:); wait $!; echo "reads $BASHPID" >&2; exec sleep 1000');
	const end = `/proc/${(await firstLine(reader)).split(' ')[1]}/fd/3`;
	const writer = PipeWriter.of(end) ?? assert.fail();
	await firstLine(spawnGroup(t, `exec 1> ${end}; exec ./tstrace memleak`));
	assert.equal(writer.arguments, undefined);
	lookAgain();
	assert.deepEqual(writer.arguments, ['memleak']);
	writer.close();
});

test('of all the processes that are looked at, nothing stays open', async (t) => {
	const end = await readingEnd(t, 'tstrace profile', 1);
	const before = readdirSync('/proc/self/fd').length;
	for (let times = 0; times < 10; times++) assert.deepEqual(argumentsOf(end), ['profile']);
	assert.equal(readdirSync('/proc/self/fd').length, before);
});

test('what is no pipe has no writer that could be told', () => {
	for (const path of [join(folder, 'tstrace'), folder, '/dev/null', join(folder, 'missing')])
		assert.equal(PipeWriter.of(path), undefined, path);
});
