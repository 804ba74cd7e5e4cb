/** SIGKILL, which nobody can prepare for: whenever it comes the kernel is left as it was, and so is the target. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
	codeBytesChanged,
	DETACHED,
	FullPipe,
	freeze,
	heldBy,
	type Phase,
	START_UP,
	stopIn,
	Target,
	TOOLS,
	untilNothingLeft,
} from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { hasEnded, Tracing, until } from './support.js';

const PHASES: readonly Phase[] = [
	...START_UP,
	{ name: 'run-time statistics are on', reached: (_, held) => held.statistics },
];

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool}, killed in every phase of a run`, async (t) => {
		for (const phase of PHASES) {
			await t.test(phase.name, async () => {
				const before = kernelObjects();
				const target = await Target.start();
				const tracing = Tracing.begin([tool, ...options, '-v', '-p', `${target.pid}`]);
				const { objects, perfEvents } = await stopIn(tracing, phase);
				if (phase.name.includes('Tracing')) {
					assert.ok([...objects].some((id) => !before.has(id)));
					// Of samples, or of what processes execute and map.
					assert.equal(perfEvents > 0, ['profile', 'offcputime', 'memleak'].includes(tool));
					assert.equal(codeBytesChanged(target.pid) > 0, tool === 'memleak');
				}
				const { status } = await tracing.end('SIGKILL');
				assert.equal(status, null);
				await untilNothingLeft(before);
				await target.isWhole();
			});
		}
	});
}

test('profile without BPF, killed while it samples', async () => {
	const before = kernelObjects();
	const without = ['setpriv', '--bounding-set=-all'];
	const target = await Target.start(without);
	const args = ['profile', '-v', '-p', `${target.pid}`];
	const tracing = await Tracing.start(args, {}, without);
	await freeze(tracing);
	const held = heldBy(tracing.pid);
	assert.ok(held.perfEvents > 0);
	assert.equal(held.objects.size, 0);
	await tracing.end('SIGKILL');
	await untilNothingLeft(before);
	await target.isWhole();
});

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool}, killed while it prints`, async () => {
		const before = kernelObjects();
		const target = await Target.start();
		const pipe = new FullPipe();
		const args = [tool, ...options, '--json', '-p', `${target.pid}`];
		const tracing = await Tracing.start(args, {}, pipe.by);
		tracing.signal('SIGINT');
		// It cannot end, as nobody reads.
		await stopIn(tracing, DETACHED);
		assert.equal((await tracing.end('SIGKILL')).status, null);
		pipe.close();
		await untilNothingLeft(before);
		await target.isWhole();
	});
}

test('a COMMAND that runs outlives a tstrace that is killed, and has nothing of it', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	const path = join(folder, 'go');
	try {
		execFileSync('mkfifo', [path]);
		const before = kernelObjects();
		const script = 'read go < "$0"; echo "went on" > "$0.done"';
		const tracing = await Tracing.start(['memleak', '--', 'sh', '-c', script, path]);
		const childOf = () =>
			Number(readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8').trim());
		await until(() => childOf() > 0);
		const pid = childOf();
		await until(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sh\0-c\0read go'));
		assert.deepEqual(heldBy(pid), { objects: new Set(), perfEvents: 0, statistics: false });
		tracing.signal('SIGKILL');
		await untilNothingLeft(before);
		assert.equal(codeBytesChanged(pid), 0);
		writeFileSync(path, 'x\n');
		await until(() => hasEnded(pid));
		assert.equal(readFileSync(`${path}.done`, 'utf8'), 'went on\n');
	} finally {
		rmSync(folder, { recursive: true });
	}
});
