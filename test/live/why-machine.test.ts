/** why: who else used the CPUs and the disks, by the kernel's own sums. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { Tracing, until, Workload } from './support.js';
import { schedstat } from './times.js';
import { type Report, why } from './why-reports.js';

/** On its CPU, while tstrace looks. */
const RUN_NS = 3e8;
/** From its disk, meanwhile. */
const READ_BYTES = 4 << 20;

test("who has the CPU that a process lacks: by the kernel's own sum", async () => {
	const lacking = await Workload.start('hog', '0');
	const taking = await Workload.start('hog', '0');
	const before_ns = schedstat(taking.pid).run_ns;
	const tracing = await Tracing.start(['why', '--json', '-p', `${lacking.pid}`, '60']);
	const begun_ns = schedstat(taking.pid).run_ns;
	await until(() => schedstat(taking.pid).run_ns >= begun_ns + RUN_NS);
	const ending_ns = schedstat(taking.pid).run_ns;
	const { stdout, status } = await tracing.end('SIGINT');
	const after_ns = schedstat(taking.pid).run_ns;
	await lacking.end();
	await taking.end();
	assert.equal(status, 0);
	const { machine } = JSON.parse(stdout) as Report;
	const others = machine.others.filter(({ comm }) => comm === 'hog');
	assert.deepEqual(
		others.map(({ pid, processes }) => [pid, processes]),
		[[taking.pid, 1]],
	);
	const run_ns = others[0]?.run_ns ?? 0;
	assert.ok(run_ns >= ending_ns - begun_ns, `${run_ns} of ${ending_ns - begun_ns}`);
	assert.ok(run_ns <= after_ns - before_ns, `${run_ns} of ${after_ns - before_ns}`);
});

test('who uses the disk meanwhile, traced or not: as /proc/PID/io has it', async (t) => {
	const folder = mkdtempSync('build/why-');
	t.after(() => rmSync(folder, { recursive: true }));
	const reader = await Workload.start('lab-disk', 'direct', '1', resolve(folder));
	const other = await Workload.start('hog', '0');
	const bytes = () =>
		Number(/^read_bytes: (\d+)$/m.exec(readFileSync(`/proc/${reader.pid}/io`, 'utf8'))?.[1]);
	reader.begin();
	const before = bytes();
	const tracings = await Promise.all(
		[reader, other].map(({ pid }) => Tracing.start(['why', '--json', '-p', `${pid}`, '60'])),
	);
	const begun = bytes();
	await until(() => bytes() >= begun + READ_BYTES);
	const ending = bytes();
	const ended = await Promise.all(tracings.map((tracing) => tracing.end('SIGINT')));
	const after = bytes();
	await reader.end();
	await other.end();
	const [own, beside] = ended.map(({ stdout }) => (JSON.parse(stdout) as Report).machine);
	const found = beside?.others.filter(({ pid }) => pid === reader.pid);
	assert.deepEqual(
		found?.map(({ comm, processes }) => [comm, processes]),
		[['lab-disk', 1]],
	);
	assert.ok(!own?.others.some(({ pid }) => pid === reader.pid), 'the traced one is no other');
	for (const read_bytes of [own?.read_bytes ?? 0, found?.[0]?.read_bytes ?? 0]) {
		assert.ok(read_bytes >= ending - begun, `${read_bytes} of ${ending - begun}`);
		assert.ok(read_bytes <= after - before, `${read_bytes} of ${after - before}`);
	}
});

/** Reads or writes 64 KiB of the disk again and again, itself or in a thread that ends, beside three that sleep. */
const USES_DISK = `
import mmap, os, sys, threading, time
file, buffer = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT), memoryview(mmap.mmap(-1, 65536))
work, args = (os.preadv if sys.argv[2] == 'read' else os.pwritev), (file, [buffer], 0)
for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
while True:
    if sys.argv[3] == 'itself': work(*args); continue
    thread = threading.Thread(target=work, args=args)
    thread.start(); thread.join()
`;

for (const [way, who] of [
	['read', 'ended threads of a process'],
	['write', 'ended threads of a process'],
	['write', 'a process itself'],
] as const)
	test(`${way}: what ${who} did with the disk counts once, and is no other use`, async (t) => {
		const folder = mkdtempSync('build/why-');
		t.after(() => rmSync(folder, { recursive: true }));
		const file = resolve(folder, 'file');
		writeFileSync(file, Buffer.alloc(1 << 16, 1), { flush: true });
		const args = ['-c', USES_DISK, file, way, who.split(' ').at(-1) ?? ''];
		const user = spawn('python3', args, { stdio: 'ignore' });
		const hog = await Workload.start('hog', '0');
		const bytes = (which: string) =>
			Number(
				new RegExp(`^${which}_bytes: (\\d+)$`, 'm').exec(
					readFileSync(`/proc/${user.pid}/io`, 'utf8'),
				)?.[1],
			);
		await until(() => bytes(way) > 1 << 20);
		const other = way === 'read' ? 'write' : 'read';
		const before = [bytes(way), bytes(other)] as const;
		const { others } = why('-p', `${hog.pid}`, '0.5').machine;
		const after = [bytes(way), bytes(other)] as const;
		user.kill('SIGKILL');
		await hog.end();
		const [own] = others.filter(({ disk_pid }) => disk_pid === user.pid);
		const { read_bytes = 0, written_bytes = 0 } = own ?? {};
		const [done, not] = way === 'read' ? [read_bytes, written_bytes] : [written_bytes, read_bytes];
		assert.ok(done > 1 << 16, JSON.stringify(others));
		assert.ok(done <= after[0] - before[0], `${done} of ${after[0] - before[0]}`);
		// Who writes may have to read where files are, or a page of its own code.
		assert.ok(not <= after[1] - before[1], `${not} of ${after[1] - before[1]}`);
	});

test('who only reads by its children has written nothing', async (t) => {
	const folder = mkdtempSync('build/why-');
	t.after(() => rmSync(folder, { recursive: true }));
	const file = resolve(folder, 'read');
	writeFileSync(file, Buffer.alloc(1 << 20, 1), { flush: true });
	// What a child has read is in the sum of its parent when that has waited for it.
	const read = `dd if=${file} of=/dev/null iflag=direct bs=64k status=none`;
	const shell = spawn('sh', ['-c', `while :; do ${read}; done`], { stdio: 'ignore' });
	const hog = await Workload.start('hog', '0');
	const { others } = why('-p', `${hog.pid}`, '0.5').machine;
	shell.kill('SIGKILL');
	await hog.end();
	const [own] = others.filter(({ comm }) => comm === 'sh');
	assert.ok((own?.read_bytes ?? 0) > 1 << 20, JSON.stringify(others));
	assert.equal(own?.written_bytes, 0);
});
