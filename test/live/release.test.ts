/** Nothing stays behind: no program, map, link, descriptor or process, whatever way a run ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { runqlat } from '../../src/generated/runqlat.js';
import { BpfObject } from '../../src/loader/object.js';
import { counts, heldBy } from './faults.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { hasEnded, importing, Tracing, tstrace, until } from './support.js';

const OBJECT = `dist/bpf/${process.arch}/runqlat.bpf.o`;

function load(): BpfObject<typeof runqlat> {
	const object = new BpfObject(OBJECT, runqlat);
	for (const half of ['groups_0', 'groups_1'] as const) object.map(half).setMaxEntries(16);
	object.load(['switch_sched_info', 'seed_slices'], ['hash_waits']);
	object.attach('switch_sched_info');
	object.setVariable('window', 1);
	return object;
}

test('loading and closing again and again leaves no descriptor and nothing in the kernel', async () => {
	load().close();
	const before = kernelObjects();
	const descriptors = readdirSync('/proc/self/fd').length;
	for (let i = 0; i < 10; i++) load().close();
	assert.equal(readdirSync('/proc/self/fd').length, descriptors);
	await untilReleased(before);
});

test('an iterator that has run leaves no descriptor and no link, while its object is open', async () => {
	const object = load();
	try {
		object.runIterator('seed_slices');
		const descriptors = readdirSync('/proc/self/fd').length;
		const held = kernelObjects();
		for (let i = 0; i < 20; i++) object.runIterator('seed_slices');
		assert.equal(readdirSync('/proc/self/fd').length, descriptors);
		await untilReleased(held);
	} finally {
		object.close();
	}
});

test('while an object is open the kernel does hold it', async () => {
	const before = kernelObjects();
	const object = load();
	const held = heldBy(process.pid);
	for (const kind of ['program', 'map', 'link'] as const) assert.ok(counts(held, kind) > 0, kind);
	object.close();
	object.close(); // twice is once
	assert.throws(() => object.map('hists'), /closed/);
	await untilReleased(before);
});

for (const [name, args] of [
	['a histogram', ['runqlat']],
	['groups', ['runqlat', '-L', '--split']],
	['events', ['runqlat', '--slower', '1']],
] as const) {
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
		test(`${name}, ended with ${signal}`, async () => {
			const before = kernelObjects();
			const tracing = await Tracing.start(args);
			assert.ok(heldBy(tracing.pid).objects.size > 0);
			const { status, stderr } = await tracing.end(signal);
			if (signal !== 'SIGKILL') assert.equal(status, 0, stderr);
			await untilReleased(before);
		});
	}
}

test('two signals in a row leave nothing either', async () => {
	const before = kernelObjects();
	const tracing = await Tracing.start(['runqlat', '-L']);
	tracing.signal('SIGINT');
	tracing.signal('SIGINT');
	const { status } = await tracing.end();
	assert.ok(status === 130 || status === 0);
	await untilReleased(before);
});

test('a run that fails half-way leaves nothing', async () => {
	const before = kernelObjects();
	mkdirSync('build/refused', { recursive: true });
	await copyFile(`build/test-bpf/${process.arch}/refused.bpf.o`, 'build/refused/runqlat.bpf.o');
	const failed = tstrace(['runqlat', '1', '1'], { TSTRACE_BPF_DIR: 'build/refused' });
	assert.equal(failed.status, 1);
	assert.equal(tstrace(['runqlat', '-p', '4194303']).status, 1);
	assert.equal(tstrace(['runqlat', '--cgroup', '/no/such', '1', '1']).status, 1);
	await untilReleased(before);
});

test('a COMMAND that is held ends when tstrace is killed before it lets go', async () => {
	const script = `import { Command } from '${resolve('build/test/src/run/held-command.js')}';
		console.log(new Command(['sleep', '1000']).pid); setInterval(() => {}, 1000);`;
	const holder = spawn(process.execPath, ['--input-type=module', '-e', script]);
	const [line] = await once(holder.stdout, 'data');
	const pid = Number(line);
	assert.ok(existsSync(`/proc/${pid}`));
	holder.kill('SIGKILL');
	await until(() => hasEnded(pid));
});

test('a COMMAND that runs ends with tstrace, when that is told to end', async () => {
	const before = kernelObjects();
	const tracing = await Tracing.start(['runqlat', '--', 'sleep', '1000']);
	const [child] = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8')
		.trim()
		.split(' ');
	assert.ok(child && existsSync(`/proc/${child}`));
	await tracing.end('SIGTERM');
	await until(() => hasEnded(Number(child)));
	await untilReleased(before);
});

test('statistics that cost every program time are on for samples only', async () => {
	const tracing = await Tracing.start(['runqlat']);
	await until(() => heldBy(tracing.pid).statistics);
	await until(() => !heldBy(tracing.pid).statistics);
	await tracing.end('SIGINT');
});

test('a run ends even where node itself would wait for ever at its end', () => {
	const { status, stdout, stderr } = tstrace(
		['runqlat', '-q', '--json', '0.1', '1'],
		importing('lingers'),
	);
	assert.equal(status, 0);
	assert.match(stdout, /^\{"tool":"runqlat".*\}\n$/);
	assert.match(stderr, /^exit handlers ran, status 0$/m);
	const command = ['runqlat', '-q', '0.1', '1', '--', 'sh', '-c', 'exit 7'];
	assert.equal(tstrace(command, importing('lingers')).status, 7);
});
