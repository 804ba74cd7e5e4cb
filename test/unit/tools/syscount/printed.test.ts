/** What syscount prints of calls, as text and for programs: from the kernel's maps to the last line. */
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bucketOf } from '../../../../src/aggregate/buckets.js';
import { PerfCallHooks } from '../../../../src/bpf/calls/call-hooks.js';
import { Groups } from '../../../../src/bpf/groups.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { syscount as layout } from '../../../../src/generated/syscount.js';
import { syscount } from '../../../../src/tools/syscount/syscount.js';
import { temporaryFolder } from '../../symbolize/support.js';
import { Kernel, kindOf } from './kernel.js';

type Raw = Readonly<Record<string, unknown>>;
const [READ, WRITE, POLL, FUTEX, SENDFILE] = [0, 1, 7, 202, 40];
const [ENOENT, EAGAIN, ETIMEDOUT] = [2, 11, 110];
const { failure_about: ABOUT } = layout.enums;

const settingsOf = (raw: Raw) =>
	askedOf(syscount, { raw, interval_s: 1, count: 2, command: [] }).settings;

function tracing(t: TestContext, raw: Raw) {
	const kernel = new Kernel();
	const settings = settingsOf(raw);
	const reader = syscount.reader(
		...([kernel.object, settings, {} as never, () => undefined, undefined] as const),
	);
	t.after(() => reader.close?.());
	const read = async () => {
		const findings = await reader.read();
		const text = await syscount.text(settings).report(findings, { colour: false, width: 120 });
		return { findings, text, rows: findings.rows as readonly Record<string, unknown>[] };
	};
	return { kernel, reader, read };
}

const cells = (text: string) =>
	text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => line.trim().split(/ {2,}/));

/** What stands below the last heading. */
function lastColumn(text: string, name: string): string {
	const lines = text.split('\n');
	const end = lines.find((line) => line.startsWith('SYSCALL'))?.length ?? 0;
	return (lines.find((line) => line.startsWith(`${name} `)) ?? '').slice(end - 'WRITTEN'.length);
}

const skip = process.arch === 'x64' ? false : 'numbers of x86-64';

test('counts by call, of both ABIs, in each interval its own', { skip }, async (t) => {
	const { kernel, read } = tracing(t, {});
	const rows: unknown[] = [];
	for (const calls of [10, 3, 21]) {
		kernel.counted = [
			{ nr: READ, calls, errors: 4 },
			{ nr: 3, abi: 1, calls: calls + 2, errors: 1 },
			// All of them failed, none of the first kind returned.
			{ nr: POLL, calls: 1, errors: 0 },
		];
		const found = await read();
		rows.push(
			found.rows.map(({ syscall, nr, abi, calls, errors }) => [syscall, nr, abi, calls, errors]),
		);
	}
	const of = (calls: number) => [
		['read (32-bit)', 3, '32-bit', calls + 2, 1],
		['read', READ, 'native', calls, 4],
		['poll', POLL, 'native', 1, 0],
	];
	assert.deepEqual(rows, [of(10), of(3), of(21)]);
	// What was read is in no later interval, whichever half programs write to.
	assert.deepEqual((await read()).rows, []);
	assert.deepEqual((await read()).rows, []);
});

test('times: each call has its own, in each interval', { skip }, async (t) => {
	const { kernel, read } = tracing(t, { latency: true });
	kernel.timed = [
		{ nr: WRITE, usec: [10, 10, 10, 70] },
		{ nr: READ, usec: [3] },
	];
	kernel.counted = [{ nr: WRITE, calls: 0, errors: 2 }];
	const { findings, text } = await read();
	assert.deepEqual(findings.about, { unit: 'ns' });
	assert.deepEqual(cells(text), [
		['SYSCALL', 'CALLS', 'ERRORS', 'TOTAL', 'MEAN', 'P50', 'P99', 'MAX'],
		['write', '4', '2', '100 us', '25.0 us', '10.0 us', '70.0 us', '70.0 us'],
		['read', '1', '0', '3.00 us', '3.00 us', '3.00 us', '3.00 us', '3.00 us'],
		['5 calls, 2 failed in all'],
	]);
	const [first] = findings.rows as readonly Record<string, unknown>[];
	assert.deepEqual(
		[first?.total_ns, first?.mean_ns, first?.min_ns, first?.max_ns, first?.buckets],
		[100_000, 25_000, 10_000, 70_000, undefined],
	);
	kernel.timed = [{ nr: WRITE, usec: [10] }];
	assert.deepEqual(
		(await read()).rows.map(({ calls, total_ns }) => [calls, total_ns]),
		[[1, 10_000]],
	);
});

test('a histogram of the call that was asked for, and of no other, and not of what is shortest elsewhere', async (t) => {
	if (skip) return t.skip(skip);
	const { kernel, read } = tracing(t, { hist: 'write' });
	kernel.timed = [
		{ nr: WRITE, usec: [10, 70] },
		{ nr: READ, usec: [3, 500] },
	];
	const { rows, text } = await read();
	assert.deepEqual(
		rows.map(({ syscall, buckets }) => [syscall, (buckets as unknown[] | undefined)?.length]),
		[
			['read', undefined],
			['write', 2],
		],
	);
	assert.match(text, /^syscall = write$/m);
	assert.match(text, /^2 calls, 80\.0 us in all$/m);
	assert.match(text, /^p50 10\.0 .* max 70\.0 usecs$/m);
});

/** A group of calls of one kind, of 3 us each. */
const group = (kind: number, count: number, more: object = {}, sum = 3000 * count) =>
	[
		{ bucket: bucketOf(3000), kind, ...more },
		{ count, sum, min: 3000, max: 3000 },
	] as const;

test('processes: one row for each, with the name it had last; failures are counted, whatever the error', async (t) => {
	const { kernel, read } = tracing(t, { pids: true });
	const [one, two] = [
		{ tgid: 70, comm: 'one' },
		{ tgid: 80, comm: 'two' },
	];
	kernel.groups = [
		group(kindOf(0), 9, one),
		group(kindOf(0, ENOENT), 2, one),
		group(kindOf(0, EAGAIN), 5, one),
		group(kindOf(0), 30, two),
	];
	const { text, rows } = await read();
	assert.deepEqual(cells(text), [
		['PID', 'COMM', 'CALLS', 'ERRORS'],
		['80', 'two', '30', '0'],
		['70', 'one', '16', '7'],
		['46 calls, 7 failed in all'],
	]);
	assert.deepEqual(rows[1], { pid: 70, comm: 'one', calls: 16, errors: 7, in_progress: 0 });
	assert.deepEqual((await read()).rows, []);
	kernel.groups = [
		group(kindOf(0), 9, { tgid: 70, comm: 'before' }),
		group(kindOf(0, ENOENT), 2, { tgid: 70, comm: 'after' }),
	];
	assert.equal((await read()).rows[0]?.comm, 'after');
});

test('what is taken out of the kernel while tracing goes on counts, and what had no room of its own is told as lost', async (t) => {
	for (const raw of [
		{ pids: true },
		{ errors: true },
		{ bytes: true },
		{ latency: true, pids: true },
	]) {
		const { kernel, reader, read } = tracing(t, raw);
		kernel.groups = [group(kindOf(READ, ENOENT), 2, { tgid: 70, comm: 'one' })];
		reader.drain?.();
		kernel.groups = [group(kindOf(READ, ENOENT), 3, { tgid: 70, comm: 'one' })];
		const { rows } = await read();
		assert.deepEqual(
			rows.map(({ calls }) => calls),
			[5],
			JSON.stringify(raw),
		);
		const mock = t.mock.method(Groups.prototype, 'takeLost', () => ({ groups_merged: 3 }));
		assert.deepEqual(reader.lost?.(), { groups_merged: 3 });
		mock.mock.restore();
	}
});

test('programs for perf are attached as tracing begins, and no more as it ends', (t) => {
	const hooks = PerfCallHooks.prototype;
	const attach = t.mock.method(hooks, 'attach', () => undefined);
	const close = t.mock.method(hooks, 'close', () => undefined);
	const { reader } = tracing(t, {});
	reader.begin?.();
	assert.deepEqual(attach.mock.calls[0]?.arguments[1], [
		['syscount_enter_perf', 'sys_enter'],
		['syscount_exit_perf', 'sys_exit'],
	]);
	assert.equal(close.mock.callCount(), 0);
	reader.end?.();
	assert.equal(close.mock.callCount(), 1);
});

test('errors that are normal in some calls only are no news in others', { skip }, async (t) => {
	const { kernel, read } = tracing(t, { errors: true });
	const [EINPROGRESS, CONNECT, FUTEX_TIME64] = [115, 42, 422];
	kernel.groups = [
		group(kindOf(READ, EINPROGRESS), 5),
		group(kindOf(FUTEX_TIME64, ETIMEDOUT, 1), 4),
		group(kindOf(READ, ENOENT), 3),
	];
	const { text } = await read();
	assert.deepEqual(cells(text).slice(5), [
		["ETIMEDOUT: the program's own time limit ended the wait: normal for futex"],
	]);
	kernel.groups = [group(kindOf(CONNECT, EINPROGRESS), 5)];
	assert.match((await read()).text, /^EINPROGRESS: .*normal for non-blocking sockets$/m);
});

test('failed calls with their times: all columns, as without -x', { skip }, async (t) => {
	const { kernel, read } = tracing(t, { failed: true, latency: true });
	kernel.timed = [{ nr: READ, usec: [3, 5] }];
	// A call that has failed without a duration does not make the others shorter.
	kernel.counted = [{ nr: READ, calls: 2, errors: 4 }];
	const { text } = await read();
	assert.deepEqual(cells(text), [
		['SYSCALL', 'CALLS', 'ERRORS', 'TOTAL', 'MEAN', 'P50', 'P99', 'MAX'],
		['read', '4', '4', '8.00 us', '4.00 us', '3.00 us', '5.00 us', '5.00 us'],
		['4 failed in all'],
	]);
});

test('a call that never returned has no shortest time; of calls that came equally often, those with most in progress are first', async (t) => {
	if (skip) return t.skip(skip);
	const { kernel, read } = tracing(t, { latency: true });
	kernel.open = [
		{ nr: READ, since_ns: 5 },
		{ nr: POLL, since_ns: 5 },
		{ nr: POLL, since_ns: 5 },
	];
	kernel.counted = [{ nr: WRITE, calls: 1, errors: 0 }];
	const { rows } = await read();
	assert.deepEqual(
		rows.map(({ syscall, min_ns, in_progress }) => [syscall, min_ns, in_progress]),
		[
			['write', 0, 0],
			['poll', 0, 2],
			['read', 0, 1],
		],
	);
	// One that was there before has gone on for longer than anybody has looked.
	kernel.open = [{ nr: READ, since_ns: 0 }];
	assert.equal((await read()).rows[0]?.longest_since_before, true);
});

test('errors: a row for each call and error, the most first; what is in progress has none', {
	skip,
}, async (t) => {
	const { kernel, read } = tracing(t, { errors: true });
	kernel.groups = [
		group(kindOf(FUTEX, ETIMEDOUT), 3),
		group(kindOf(READ, ENOENT), 4),
		group(kindOf(READ, EAGAIN), 6),
	];
	kernel.open = [{ nr: READ, since_ns: 1 }];
	const { text, rows } = await read();
	assert.deepEqual(cells(text), [
		['SYSCALL', 'ERROR', 'ERRORS'],
		['read', 'EAGAIN', '6'],
		['read', 'ENOENT', '4'],
		['futex', 'ETIMEDOUT', '3'],
		['13 failed in all'],
		['EAGAIN: nothing to read, or no room to write, yet: normal for polling'],
		["ETIMEDOUT: the program's own time limit ended the wait: normal for futex"],
	]);
	assert.deepEqual(rows[2], {
		...{ syscall: 'futex', nr: FUTEX, abi: 'native', error: 'ETIMEDOUT', errno: ETIMEDOUT },
		...{ calls: 3, errors: 3 },
	});
});

test('bytes: what calls read and what they write, and both for what copies', {
	skip,
}, async (t) => {
	const { kernel, reader, read } = tracing(t, { bytes: true });
	kernel.groups = [
		group(kindOf(READ), 2, {}, 5000),
		group(kindOf(WRITE), 3, {}, 700),
		group(kindOf(SENDFILE), 1, {}, 90),
	];
	// Tracing goes on: so that the kernel's table has room.
	reader.drain?.();
	kernel.groups = [group(kindOf(WRITE), 1, {}, 11)];
	const { text, rows } = await read();
	assert.deepEqual(
		rows.map((row) => [row.syscall, row.calls, row.read_bytes, row.written_bytes, row.p50_ns]),
		[
			['read', 2, 5000, 0, undefined],
			['write', 4, 0, 711, undefined],
			['sendfile', 1, 90, 90, undefined],
		],
	);
	const lines = cells(text);
	assert.deepEqual(lines.slice(0, 4), [
		['SYSCALL', 'CALLS', 'ERRORS', 'READ', 'WRITTEN'],
		['read', '2', '0', '5,000 B'],
		['write', '4', '0', '711 B'],
		['sendfile', '1', '0', '90 B', '90 B'],
	]);
	assert.ok(lastColumn(text, 'write').endsWith('711 B'));
	assert.ok(!lastColumn(text, 'read').includes('5,000 B'));
	assert.match(lines.at(-1)?.[0] ?? '', /^7 calls, 0 failed, 5,090 B read, 801 B written in all$/);
});

test('bytes of processes: each kind of call by itself in the kernel, together here', async (t) => {
	const { kernel, read } = tracing(t, { bytes: true, pids: true });
	const { CALL_READS, CALL_WRITES } = layout.enums.call_trait;
	const one = { tgid: 70, comm: 'one' };
	kernel.groups = [
		group(kindOf(CALL_READS), 2, one, 5000),
		group(kindOf(CALL_WRITES), 3, one, 700),
		group(kindOf(CALL_READS | CALL_WRITES), 1, one, 90),
		group(kindOf(0), 4, one, 123),
	];
	assert.deepEqual((await read()).rows, [
		{
			...{ pid: 70, comm: 'one', calls: 10, errors: 0, in_progress: 0 },
			...{ read_bytes: 5090, written_bytes: 790 },
		},
	]);
});

test('what is in progress as tracing ends is looked for once; in an interval, at its end', {
	skip,
}, async (t) => {
	const { kernel, reader, read } = tracing(t, {});
	kernel.open = [
		{ nr: READ, since_ns: 1 },
		{ nr: READ, since_ns: 2 },
	];
	const progress = ({ rows }: Awaited<ReturnType<typeof read>>) =>
		rows.map(({ in_progress }) => in_progress);
	assert.deepEqual(progress(await read()), [2]);
	assert.deepEqual(progress(await read()), [2]);
	reader.end?.();
	kernel.open = [...kernel.open, { nr: POLL, since_ns: 3 }];
	const last = await read();
	assert.deepEqual(progress(last), [2]);
	assert.deepEqual((await read()).rows, []);
	assert.match(last.text, /^0 calls, 0 failed, 2 in progress in all$/m);
});

test('failed calls: what each was about, the most failures first', { skip }, async (t) => {
	const folder = temporaryFolder();
	const path = join(folder, 'open-file');
	writeFileSync(path, '');
	const fd = openSync(path, 'r');
	t.after(() => closeSync(fd));
	const { kernel, read } = tracing(t, { paths: true });
	const tgid = process.pid;
	const failed = (count: number, key: object, errno = ENOENT, pid = tgid) =>
		[
			{ tgid: pid, kind: kindOf(READ, errno), ...key },
			{ count, comm: 'failing' },
		] as const;
	const about = ABOUT.FAILURE_DESCRIPTOR;
	const long = 'x'.repeat(208);
	kernel.failures = [
		failed(1, { about: ABOUT.FAILURE_NOTHING }, ENOENT, 5),
		failed(2, { about: ABOUT.FAILURE_PATH, text: '/etc/none' }, ENOENT, 4),
		failed(20, { about: ABOUT.FAILURE_PATH, text: '' }),
		failed(30, { about: ABOUT.FAILURE_PATH_CUT, text: '/a/long/path' }),
		failed(40, { about: ABOUT.FAILURE_PATH_UNREADABLE, text: 'rubbish' }),
		failed(50, { about, descriptor: fd, text: 'open-file' }),
		failed(60, { about, descriptor: fd, text: 'another' }),
		failed(70, { about, descriptor: 9, mode: 0o140755, inode: 77, text: '' }),
		failed(80, { about, descriptor: 9, mode: 0o010600, inode: 78, text: '' }),
		failed(90, { about: ABOUT.FAILURE_DESCRIPTOR_CLOSED, descriptor: -100, text: 'old' }, EAGAIN),
		failed(15, { about: ABOUT.FAILURE_PATH, text: long }),
		failed(14, { about, descriptor: 9, mode: 0o010600, inode: 79, text: 'a-fifo' }),
	];
	const { rows, text } = await read();
	const row = (errors: number) => {
		const {
			pid: _,
			comm,
			syscall,
			nr,
			abi,
			error,
			errno,
			errors: __,
			...subject
		} = rows.find((each) => each.errors === errors) ?? {};
		assert.deepEqual([comm, syscall, nr, abi], ['failing', 'read', READ, 'native']);
		assert.deepEqual([error, errno], errors === 90 ? ['EAGAIN', EAGAIN] : ['ENOENT', ENOENT]);
		return subject;
	};
	assert.deepEqual(
		rows.map(({ errors }) => errors),
		[90, 80, 70, 60, 50, 40, 30, 20, 15, 14, 2, 1],
	);
	assert.deepEqual(row(1), {});
	assert.deepEqual(row(2), { path: '/etc/none' });
	assert.deepEqual(row(30), { path: '/a/long/path', path_cut: true });
	assert.deepEqual(row(40), { path: null });
	assert.deepEqual(row(15), { path: long });
	assert.deepEqual(row(50), { descriptor: fd, file: path });
	assert.deepEqual(row(60), { descriptor: fd, file: 'another' });
	assert.deepEqual(row(70), { descriptor: 9, file: 'socket:[77]' });
	assert.deepEqual(row(80), { descriptor: 9, file: 'pipe:[78]' });
	assert.deepEqual(row(14), { descriptor: 9, file: 'a-fifo' });
	assert.deepEqual(row(90), { descriptor: -100, file: null });
	const subjects = cells(text)
		.slice(1, 13)
		.map((line) => line[5]);
	assert.deepEqual(
		subjects.filter((_, i) => i !== 8),
		[
			...['-100 (not open)', '9 → pipe:[78]', '9 → socket:[77]', `${fd} → another`],
			...[`${fd} → ${path}`, '(unreadable)', '/a/long/path…', '""', '9 → a-fifo'],
			...['/etc/none', undefined],
		],
	);
	assert.match(text, /^472 failed in all\nEAGAIN: /m);
	// A file that was deleted meanwhile is still the same.
	rmSync(path);
	kernel.failures = [failed(5, { about, descriptor: fd, text: 'open-file' })];
	assert.deepEqual(
		(await read()).rows.map(({ file }) => file),
		[`${path} (deleted)`],
	);
});

test('of many failed calls the first ones are shown, and how many failed in the others and in all', {
	skip,
}, async (t) => {
	const { kernel, read } = tracing(t, { paths: true, top: 2 });
	kernel.failures = [50, 40, 3, 2].map((count) => [
		{ tgid: count, kind: kindOf(READ, ENOENT) },
		{ count, comm: 'failing' },
	]);
	const { text } = await read();
	assert.deepEqual(cells(text).slice(3), [
		['2 more with 5 failed; --top 0 shows them'],
		['95 failed in all'],
	]);
});

test('of many calls the first ones are shown, and how many the others are; what was not called does not count', {
	skip,
}, async (t) => {
	const { kernel, read } = tracing(t, { latency: true, top: 1 });
	kernel.timed = [
		{ nr: WRITE, usec: [10] },
		{ nr: READ, usec: [3, 3] },
	];
	kernel.open = [{ nr: POLL, since_ns: Number(process.hrtime.bigint()) }];
	const lines = cells((await read()).text).slice(2);
	assert.deepEqual(lines[0], ['1 more with 2 calls, 0 failed; --top 0 shows them']);
	assert.match(lines[1]?.[0] ?? '', /^in progress: poll 1 \(/);
	assert.deepEqual(lines[2], ['3 calls, 0 failed, 1 in progress in all']);
});
