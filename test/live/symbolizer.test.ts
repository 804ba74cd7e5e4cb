import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	chownSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { ProcessHistory } from '../../src/symbolize/mappings/processes.js';
import { Symbolizer } from '../../src/symbolize/symbolizer.js';
import { compile, stackOf, temporaryFolder } from '../unit/symbolize/support.js';

/** Says where it has code, and waits; static, so that it runs in any root. */
const SOURCE = `
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int waits_here(void) { return getchar(); }
int main(int argc, char **argv)
{
	unsigned long code = (unsigned long)mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && argv[1][0] == 'm') {
		char path[99];
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		FILE *map = fopen(path, "w");
		fprintf(map, "%lx 100 jitted in place\\n", code);
		fclose(map);
	}
	printf("%lx %lx\\n", (unsigned long)waits_here, code);
	fflush(stdout);
	return waits_here();
}
`;
const folder = temporaryFolder();
const program = compile(join(folder, 'program'), SOURCE, '-static', '-no-pie');

const children: ChildProcess[] = [];
after(() => {
	for (const child of children) child.kill('SIGKILL');
});

interface Running {
	/** In our PID namespace. */
	readonly pid: number;
	/** Of a function, and of memory without a file. */
	readonly addresses: readonly number[];
	end(): Promise<void>;
}

async function start(...command: [string, ...string[]]): Promise<Running> {
	const [file, ...args] = command;
	const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
	children.push(child);
	const [line] = await once(createInterface(child.stdout), 'line');
	const addresses = line.split(' ').map((hex: string) => Number.parseInt(hex, 16));
	return {
		pid: child.pid ?? 0,
		addresses,
		async end() {
			child.stdin.end();
			await once(child, 'exit');
		},
	};
}

async function nameAll(history: ProcessHistory, { pid, addresses }: Running) {
	const symbolizer = new Symbolizer(history);
	const at_ns = Number(process.hrtime.bigint());
	const named = await symbolizer.resolve(
		addresses.map((address) => stackOf([address], { pid, at_ns })),
	);
	return named.map(({ user: [frame] }) => frame);
}

const FOUND = { name: 'waits_here', kind: 'user' };

test('a program that is deleted while it runs, and is gone before it is asked for', async () => {
	const path = join(folder, 'deleted');
	copyFileSync(program, path);
	const running = await start(path);
	rmSync(path);
	const history = new ProcessHistory();
	history.snapshot(running.pid);
	assert.deepEqual((await nameAll(history, running))[0], FOUND);
	await running.end();
	assert.deepEqual((await nameAll(history, running))[0], FOUND, 'held open');
	history.close();
});

test('a program whose path has become another file', async () => {
	const path = join(folder, 'replaced');
	copyFileSync(program, path);
	const running = await start(path);
	writeFileSync(`${path}.new`, 'something else');
	renameSync(`${path}.new`, path);
	const history = new ProcessHistory();
	history.snapshot(running.pid);
	assert.deepEqual((await nameAll(history, running))[0], FOUND);
	await running.end();
	history.close();
});

test('a program that has ended, whose file is there still; once it is another, it has no names', async () => {
	const path = join(folder, 'ended');
	copyFileSync(program, path);
	const running = await start(path);
	const history = new ProcessHistory();
	history.snapshot(running.pid);
	await running.end();
	assert.deepEqual((await nameAll(history, running))[0], FOUND);
	copyFileSync(program, `${path}.new`);
	renameSync(`${path}.new`, path);
	assert.match((await nameAll(history, running))[0]?.name ?? '', /^ended\+0x/);
	history.close();
});

/** With mounts of its own: files that nobody else sees. */
const IN_CONTAINER = 'mount -t tmpfs none "$1" && cp "$0" "$1/app" && exec "$1/app"';

test('a program that only its own mount namespace has', async () => {
	const mounted = join(folder, 'mounted');
	mkdirSync(mounted);
	// Here, there is another file of that name.
	writeFileSync(join(mounted, 'app'), 'something else');
	const running = await start('unshare', '-m', 'sh', '-c', IN_CONTAINER, program, mounted);
	const history = new ProcessHistory();
	history.snapshot(running.pid);
	assert.deepEqual((await nameAll(history, running))[0], FOUND);
	await running.end();
	assert.deepEqual((await nameAll(history, running))[0], FOUND, 'held open');
	history.close();
});

test('a program in a root of its own', async () => {
	const root = join(folder, 'root');
	mkdirSync(join(root, 'opt'), { recursive: true });
	copyFileSync(program, join(root, 'opt/app'));
	const running = await start('chroot', root, '/opt/app');
	const history = new ProcessHistory();
	history.snapshot(running.pid);
	assert.deepEqual((await nameAll(history, running))[0], FOUND);
	await running.end();
	assert.deepEqual((await nameAll(history, running))[0], FOUND, 'held open');
	history.close();
});

test('perf maps: of a running process, and after its end', async () => {
	const running = await start(program, 'map');
	const history = new ProcessHistory();
	history.snapshot(running.pid);
	const jitted = { name: 'jitted in place', kind: 'jit' };
	assert.deepEqual(await nameAll(history, running), [FOUND, jitted]);
	await running.end();
	assert.deepEqual(await nameAll(history, running), [FOUND, jitted]);

	const path = `/tmp/perf-${running.pid}.map`;
	chownSync(path, 65534, 65534);
	assert.equal((await nameAll(history, running))[1]?.name, '[anon]', "somebody else's");
	chownSync(path, 0, 0);
	utimesSync(path, 0, 1000);
	assert.equal((await nameAll(history, running))[1]?.name, '[anon]', 'of an older process');
	renameSync(path, `${folder}/map`);
	symlinkSync(`${folder}/map`, path);
	utimesSync(path, new Date(), new Date());
	assert.equal((await nameAll(history, running))[1]?.name, '[anon]', 'a link to elsewhere');
	rmSync(path);
	history.close();
});

test('perf maps: in a container, under the number that the process has there', async () => {
	const script = 'mount -t tmpfs none /tmp && cd / && exec "$0" map';
	// Not under /tmp, as the container has one of its own.
	const elsewhere = mkdtempSync('/var/tmp/tstrace-symbolizer-');
	after(() => rmSync(elsewhere, { recursive: true }));
	const path = join(elsewhere, 'program');
	copyFileSync(program, path);
	const running = await start('unshare', '-m', '-p', '-f', 'sh', '-c', script, path);
	const child = readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, 'utf8');
	const inside = { ...running, pid: Number(child) };
	const history = new ProcessHistory();
	history.snapshot(inside.pid);
	const [, frame] = await nameAll(history, inside);
	assert.deepEqual(frame, { name: 'jitted in place', kind: 'jit' });
	await running.end();
	history.close();
});
