import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { processLives, threadLives } from '../../../src/proc/lives.js';
import { compile, temporaryFolder } from '../symbolize/support.js';

test('whatever it is called, a process lives until it ends', async () => {
	// What stands behind the name in /proc/PID/stat is the state; a name may look like it.
	for (const name of ['plain', 'a) Z (b', ') X 1 2']) {
		const script = `printf '%s' '${name}' > /proc/$$/comm; echo ready; read -r end`;
		const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
		const pid = child.pid as number;
		await once(child.stdout, 'data');
		assert.ok(processLives(pid), name);
		assert.ok(threadLives(pid), name);
		child.stdin.end();
		await once(child, 'exit');
		assert.ok(!processLives(pid), name);
		assert.ok(!threadLives(pid), name);
	}
});

test('a zombie does not live', async () => {
	// The child ends when the shell has become another program, which does not wait for it.
	const script = 'sleep 1000 & echo $!; exec cat';
	const parent = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
	const [line] = await once(parent.stdout, 'data');
	const pid = Number(String(line));
	const name = () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8');
	while (name() !== 'cat\n') await new Promise(setImmediate);
	process.kill(pid);
	while (processLives(pid)) await new Promise(setImmediate);
	assert.doesNotThrow(() => process.kill(pid, 0), 'it is there still');
	assert.ok(!threadLives(pid));
	parent.stdin.end();
	await once(parent, 'exit');
});

const WITHOUT_FIRST_THREAD = `
#include <pthread.h>
#include <unistd.h>
static void *until_told(void *unused)
{
	char byte;

	(void)read(0, &byte, 1);
	return unused;
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, until_told, 0);
	pthread_exit(0);
}
`;

test('a process lives as long as any of its threads, whichever that is', async (t) => {
	const program = compile(join(temporaryFolder(), 'threads'), WITHOUT_FIRST_THREAD, '-pthread');
	const child = spawn(program, { stdio: ['pipe', 'inherit', 'inherit'] });
	t.after(() => child.kill('SIGKILL'));
	const pid = child.pid as number;
	// Its first thread ends by itself, and stays a zombie until the other has ended.
	while (threadLives(pid)) await new Promise(setImmediate);
	assert.ok(processLives(pid));
	child.stdin.end();
	await once(child, 'exit');
	assert.ok(!processLives(pid));
});
