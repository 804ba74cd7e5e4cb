/** redis-server: commands that sleep, compute, wait for the disk; commands by number, memory that stays. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { redisServer } from '../../bench/shared/servers.js';
import { chainText, wakersOf } from '../live/chain-reports.js';
import { reportsOf } from '../live/reports.js';
import { sumOf, timeFor, withFrame } from '../live/stacks.js';
import { Tracing, until } from '../live/support.js';
import { schedstat } from '../live/times.js';
import { during, said, serverFolder, totalOf } from './support.js';

const folder = serverFolder();
const SOCKET = join(folder, 'socket');
const redis = (...words: readonly string[]) => said('redis-cli', '-s', SOCKET, ...words);
let pid = '';

before(async () => {
	const options = [
		'--port',
		'0',
		'--unixsocket',
		SOCKET,
		'--save',
		'',
		'--enable-debug-command',
		'yes',
	];
	pid = `${await redisServer(folder, ['-s', SOCKET], options)}`;
});

test('DEBUG SLEEP: offcputime has the command, and as long as it slept', async () => {
	const { report, seconds } = await during(['offcputime', '-p', pid], () =>
		redis('debug', 'sleep', '0.5'),
	);
	const asleep = withFrame(report.stacks, 'debugCommand');
	const blocked_s = sumOf(asleep, 'blocked') / 1e9;
	assert.ok(blocked_s >= 0.5 && blocked_s <= seconds, `${blocked_s} s of ${seconds} s`);
	for (const { frames } of asleep) assert.ok(frames.includes('main'), frames.join());
});

test('a slow script: profile has it in nearly all samples', async () => {
	const script = 'local sum = 0; for i = 1, 100000000 do sum = sum + i end; return sum';
	const { report } = await during(['profile', '-p', pid], () => redis('eval', script, '0'));
	const all = sumOf(report.stacks);
	const inScript = sumOf(withFrame(report.stacks, 'evalGenericCommand'));
	assert.ok(all > 0 && inScript >= 0.8 * all, `${inScript} of ${all} samples`);
});

test('so many commands: syscount has as many answers, and as many bytes as they are long', async () => {
	const COMMANDS = 500;
	// One after another, over one connection: 7 bytes are the answer "+PONG\r\n".
	const { report } = await during(['syscount', '--bytes', '-p', pid], () =>
		redis('-r', `${COMMANDS}`, 'ping'),
	);
	const writes = report.rows.filter(({ syscall }) => syscall === 'write' || syscall === 'writev');
	assert.equal(totalOf(writes, 'calls'), COMMANDS);
	assert.equal(totalOf(writes, 'written_bytes'), 7 * COMMANDS);
});

test('so many wake-ups: runqlat has as many waits as the kernel', async () => {
	const tid = Number(pid);
	const before = schedstat(tid).waits;
	const { report, done } = await during(['runqlat', '-t', pid], () => {
		const first = schedstat(tid).waits;
		redis('-r', '500', 'ping');
		return schedstat(tid).waits - first;
	});
	const most = schedstat(tid).waits - before;
	const { waits_unseen = 0, waits_misbooked = 0 } = report.lost;
	const count = report.groups.reduce((sum, group) => sum + group.count, 0);
	const least = done - waits_unseen - waits_misbooked;
	// One that was there as tracing began, or is as it ends, is a wait for one of the two only.
	assert.ok(count >= least - 1 && count <= most + 1, `${count}, not ${least} to ${most}`);
});

test('keys that stay: memleak has their bytes, and that they go', async () => {
	const [KEYS, BYTES] = [200, 10_000];
	const fill = `for i = 1, ${KEYS} do redis.call('set', 'key' .. i, string.rep('x', ${BYTES})) end`;
	const { report } = await during(['memleak', '-p', pid], () => redis('eval', fill, '0'));
	// Each with what its length takes.
	const kept = withFrame(report.stacks, 'createStringObject');
	const bytes = sumOf(kept);
	assert.ok(bytes >= KEYS * BYTES && bytes <= 1.01 * KEYS * BYTES, `${bytes} bytes`);
	const count = sumOf(kept, 'count');
	assert.ok(count >= KEYS && count <= 1.05 * KEYS, `${count}`);
	const emptied = await during(['memleak', '-p', pid], () => {
		redis('eval', fill.replaceAll('key', 'other'), '0');
		redis('flushall');
	});
	const left = sumOf(withFrame(emptied.report.stacks, 'createStringObject'));
	assert.ok(left < 0.1 * KEYS * BYTES, `${left} bytes`);
});

test('appendfsync always: the disk is waited for to write the append-only file, and no other file', async () => {
	const COMMANDS = 300;
	redis('config', 'set', 'appendfsync', 'always');
	redis('config', 'set', 'appendonly', 'yes');
	// It has this name once all keys are in another file.
	const path = join(folder, 'appendonlydir', 'appendonly.aof.1.incr.aof');
	await until(() => existsSync(path));
	// The same calls, counted by another tool.
	const calls = await Tracing.start(['syscount', '--latency', '--json', '-p', pid]);
	const { report } = await during(['offcputime', '--exact', '-p', pid], () =>
		redis('-r', `${COMMANDS}`, 'set', 'key', 'value'),
	);
	const [{ rows = [] } = {}] = reportsOf((await calls.end('SIGINT')).stdout);
	const synced = rows.filter(({ syscall }) => syscall === 'fdatasync' || syscall === 'fsync');
	// The file that has all keys is synced by another thread, a moment later.
	const syncs = totalOf(synced, 'calls');
	assert.ok(syncs >= COMMANDS && syncs <= COMMANDS + 2, `${syncs} syncs`);
	const disk = report.stacks.filter(({ wait }) => wait?.kind?.startsWith('disk'));
	const disk_ns = sumOf(disk, 'blocked');
	// A sync runs, too, and waits for a CPU at its end.
	assert.ok(disk_ns > 0 && disk_ns <= totalOf(synced, 'total_ns'), `${disk_ns} ns`);
	assert.ok(sumOf(disk, 'count') >= COMMANDS, 'each waits once at least');
	const file_ns = timeFor(disk, (object) => object.type === 'file' && object.path === path);
	assert.ok(file_ns >= 0.99 * disk_ns, `${file_ns} of ${disk_ns} ns`);
	for (const { wait, frames } of disk) assert.equal(wait?.kind, 'disk_write', frames.join());
	assert.ok(sumOf(withFrame(disk, 'flushAppendOnlyFile')) >= 0.99 * sumOf(disk));
	// No process: a disk that has finished, or the kernel's thread that asked the disk for it.
	const chains = await during(['offwaketime', '--hops', '4', '--exact', '-p', pid], () =>
		redis('-r', `${COMMANDS}`, 'set', 'key', 'value'),
	);
	redis('config', 'set', 'appendonly', 'no');
	const ended = withFrame(chains.report.stacks, 'flushAppendOnlyFile').filter(
		({ wait }) => wait?.kind === 'disk_write',
	);
	const byDisk = ended.filter((stack) => wakersOf(stack).at(-1)?.irq !== undefined);
	const byKernel = ended.filter(({ wait }) => /^(kworker|jbd2)\//.test(`${wait?.waker?.comm}`));
	const seen = ended.map((stack) => `${chainText(stack)}: ${stack.value}`).join(', ');
	assert.ok(sumOf(byDisk) > 0, seen);
	// Some are woken in the moment when they go to sleep; or by who was on the CPU as the disk had finished.
	const others = ended.filter((stack) => !byDisk.includes(stack) && !byKernel.includes(stack));
	assert.ok(sumOf(others) <= 0.03 * sumOf(ended), seen);
});
