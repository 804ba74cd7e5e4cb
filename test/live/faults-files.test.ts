/** Disks, file systems and /proc that do not give what tracing asks of them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { once, Target, TOOLS, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { type Finished, runToEnd, Tracing, TSTRACE, Workload } from './support.js';

let folder = '';
before(() => {
	folder = mkdtempSync(join(tmpdir(), 'tstrace-files-'));
});
after(() => rmSync(folder, { recursive: true }));

/** Runs tstrace in a mount namespace of its own, after `prepare`; `by` becomes tstrace. */
function mounted(prepare: string, args: readonly string[], by: readonly string[] = []): Finished {
	const script = `${prepare} || exit 99; exec "$@"`;
	const namespace = ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'];
	return runToEnd('unshare', [...namespace, ...by, TSTRACE, ...args]);
}

const PAGE = 4096;

/** What is larger than a page, whatever was traced. */
for (const [form, args] of [
	['text', ['syscount', '0.05', '100']],
	['JSON', ['runqlat', '-L', '0.05', '100']],
	['HdrHistogram log', ['runqlat', '0.05', '1000']],
	['lines', ['timehist', '5']],
	['SVG', ['offcputime', '0.2']],
	['page', ['profile', '-F', '999', '0.2']],
	['page', ['memleak', '--churn', '0.2', '1']],
] as const) {
	test(`a disk that gets full: ${args[0]}, ${form}`, async () => {
		const objects = kernelObjects();
		const name = { SVG: 'o.svg', page: 'o.html', JSON: 'o.json' }[form as string] ?? 'o.txt';
		const option = form.includes('Hdr') ? '--hdr' : '-o';
		const storm = await Workload.start('storm');
		storm.begin();
		const [tool, ...rest] = args;
		const { status, stderr } = mounted(`mount -t tmpfs -o size=${PAGE} none ${folder}`, [
			tool,
			...['-q', '-p', `${storm.pid}`, option, join(folder, name), ...rest],
		]);
		await storm.end();
		const last = stderr.trimEnd().split('\n').at(-1) ?? '';
		assert.match(last, /^tstrace \w+: cannot write to .*: the disk is full; free some space/);
		assert.equal(status, 1);
		await untilNothingLeft(objects);
	});
}

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool} where nothing can be written: it needs no file`, async () => {
		const objects = kernelObjects();
		const target = await Target.start();
		const readOnly =
			`mount --bind / ${folder} && mount -o remount,bind,ro ${folder} && ` +
			`for each in proc sys dev; do mount --bind /$each ${folder}/$each || exit 98; done`;
		const words = [tool, ...options, '--json', '-p', `${target.pid}`, '0.2'];
		const by = ['chroot', folder, 'env', '-C', resolve('.')];
		const { status, stdout, stderr } = mounted(readOnly, [...words, ...once(tool)], by);
		assert.equal(status, 0, stderr);
		assert.equal(JSON.parse(stdout).tool, tool);
		await untilNothingLeft(objects);
		await target.isWhole();
	});
}

/** An ordinary user who may trace, but not look into others' processes. */
const TRACER = [
	'setpriv',
	'--reuid=65534',
	'--regid=65534',
	'--clear-groups',
	'--inh-caps=-all,+bpf,+perfmon',
	'--ambient-caps=-all,+bpf,+perfmon',
];

for (const hidepid of ['noaccess', 'invisible']) {
	for (const [tool = '', ...options] of TOOLS) {
		test(`${tool}, hidepid=${hidepid}: says that it is hidden, not that it has ended`, async () => {
			const objects = kernelObjects();
			const target = await Target.start();
			const args = [tool, ...options, '-p', `${target.pid}`, '0.2'];
			const mount = `mount -t proc -o hidepid=${hidepid} proc /proc`;
			const { status, stderr } = mounted(mount, args, TRACER);
			assert.equal(status, 1);
			assert.match(
				stderr,
				/: process \d+ is hidden from you: \/proc .* hidepid; run tstrace as root/,
			);
			await untilNothingLeft(objects);
			await target.isWhole();
		});
	}
}

test('hidepid: who is not named is traced', () => {
	const mount = 'mount -t proc -o hidepid=invisible proc /proc';
	for (const tool of ['runqlat', 'offcputime', 'syscount', 'schedlat', 'profile', 'timehist']) {
		const { status, stderr } = mounted(mount, [tool, '0.2', ...once(tool)], TRACER);
		assert.equal(status, 0, stderr);
		assert.match(stderr, /^Tracing /m);
	}
});

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool} without permission to /proc/PID/root: names by the same files here`, async () => {
		const objects = kernelObjects();
		const target = await Target.start();
		const args = [tool, ...options, '--json', '-p', `${target.pid}`];
		const tracing = await Tracing.start(args, {}, TRACER);
		const { status, stdout, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 0, stderr);
		assert.equal(JSON.parse(stdout).tool, tool);
		// It waits in read(), which the C library has, and is not hidden.
		if (tool === 'offcputime') assert.match(stdout, /"read"/);
		await untilNothingLeft(objects);
		await target.isWhole();
	});
}

test('memleak of files that cannot be opened says so', async () => {
	const target = await Target.start();
	// Another file has its path; its own is not to be had by way of the process.
	const hide = `mount --bind /dev/null ${resolve('build/workloads/calls')}`;
	const { status, stderr } = mounted(
		hide,
		['memleak', '-O', 'calls', '-p', `${target.pid}`, '0.2', '1'],
		TRACER,
	);
	assert.equal(status, 1);
	assert.match(
		stderr,
		/cannot open the files that process \d+ has mapped: not allowed; run tstrace as root/,
	);
	await target.isWhole();
});

test('without /proc: one line that says so', () => {
	for (const [tool = ''] of TOOLS) {
		const { status, stderr } = mounted('mount -t tmpfs none /proc', [tool, '0.2']);
		assert.equal(status, 1);
		assert.match(stderr, /^tstrace \w+: .*\/proc is not mounted; mount -t proc proc \/proc\n$/);
	}
});

for (const closed of ['1', '2', '0', '0 1 2']) {
	test(`descriptors ${closed} closed: nothing else is taken for them`, async () => {
		const objects = kernelObjects();
		const redirections = closed.replace(/\d/g, (fd) => `${fd}>&-`);
		const script = `exec ${TSTRACE} syscount 0.2 1 ${redirections}`;
		const { status, stdout, stderr } = runToEnd('sh', ['-c', script]);
		assert.equal(status, 0, stderr);
		assert.equal(stdout === '', closed.includes('1'));
		assert.equal(stderr === '', closed.includes('2'));
		await untilNothingLeft(objects);
	});
}
