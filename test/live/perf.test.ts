/** Perf events on a real kernel: what they report of processes whose doings are known. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, test } from 'node:test';
import { TstraceError } from '../../src/errors.js';
import { onlineCpus } from '../../src/perf/cpus.js';
import { hasPmu } from '../../src/perf/events.js';
import { eventOf } from '../../src/perf/names.js';
import { openPerfEvent } from '../../src/perf/open.js';
import type { SampleRecord, SidebandRecord } from '../../src/perf/records.js';
import { Sampler, type SamplerOptions } from '../../src/perf/sampler.js';
import { Sideband } from '../../src/perf/sideband.js';
import { until, Workload } from './support.js';
import { now_ns } from './times.js';

const NOBODY = 65534;
const PAGE_BYTES = 4096;
const HOG = resolve('build/workloads/hog');
const CPU_CLOCK = { event: eventOf('cpu-clock'), frequency_hz: 999 } as const;

function setting(name: string): number {
	return Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
}

/**
 * Without capabilities that count. Our real user stays, so that what we started is ours still:
 * man 2 ptrace, "Ptrace access mode checking".
 */
function asOrdinaryUser<T>(action: () => T): T {
	process.seteuid?.(NOBODY);
	try {
		return action();
	} finally {
		process.seteuid?.(0);
	}
}

function openPerfEvents(): string[] {
	return readdirSync('/proc/self/fd').filter((fd) => {
		try {
			return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:[perf_event]';
		} catch {
			return false; // the one that reads the folder
		}
	});
}

afterEach(() => assert.deepEqual(openPerfEvents(), []));

/** What an array collects while something is open, which is closed whatever happens. */
async function collecting(
	sideband: Sideband,
	action: (records: SidebandRecord[]) => void | Promise<void>,
): Promise<void> {
	const records: SidebandRecord[] = [];
	try {
		await action(records);
	} finally {
		sideband.close();
		sideband.close(); // twice is once
	}
}

function only<T extends SidebandRecord['type']>(records: readonly SidebandRecord[], type: T) {
	return records.filter((record) => record.type === type) as Extract<SidebandRecord, { type: T }>[];
}

test('the side-band tells the life of a process, in the order of time', async () => {
	const sideband = new Sideband();
	await collecting(sideband, (records) => {
		sideband.start((record) => records.push(record));
		const before_ns = now_ns();
		const { pid } = spawnSync('/bin/true');
		sideband.drain();
		const after_ns = now_ns();

		const its = records.filter((record) => record.pid === pid);
		assert.deepEqual(only(its, 'fork')[0]?.parentPid, process.pid);
		assert.deepEqual(
			only(its, 'comm')
				.filter(({ exec }) => exec)
				.map(({ comm }) => comm),
			['true'],
		);
		assert.equal(its.at(0)?.type, 'fork');
		assert.equal(its.at(-1)?.type, 'exit');

		const path = realpathSync('/bin/true');
		const mapped = only(its, 'mmap');
		const binary = mapped.find((record) => record.path === path);
		assert.equal(binary?.inode, statSync(path).ino);
		assert.ok(binary && binary.end > binary.start);
		assert.ok(
			mapped.some((record) => /\blibc[.-]/.test(record.path)),
			'libc',
		);

		for (const { time_ns } of its) assert.ok(time_ns > before_ns && time_ns < after_ns);
		const times = records.map(({ time_ns }) => time_ns);
		assert.deepEqual(
			times,
			times.toSorted((a, b) => a - b),
		);
		assert.equal(sideband.lost(), 0);
	});
});

/** For taskset: what is told of 30 of them is more than a ring has room for. */
const ON_ONE_CPU = ['-c', '0', '/bin/true'];

test('a ring that fills up is read without being told to', async () => {
	const sideband = new Sideband({ ring_bytes: PAGE_BYTES });
	await collecting(sideband, async (records) => {
		sideband.start((record) => records.push(record));
		// Full before anybody waits for it.
		for (let i = 0; i < 30; i++) spawnSync('taskset', ON_ONE_CPU);
		await until(() => records.length > 0);
		// Full while somebody does.
		for (let i = 0; i < 3; i++) {
			const before = records.length;
			for (let j = 0; j < 30; j++) await once(spawn('taskset', ON_ONE_CPU), 'exit');
			await until(() => records.length > before);
		}
	});
});

test('what finds no room is counted, even if nothing comes after it', async () => {
	const sideband = new Sideband({ ring_bytes: PAGE_BYTES });
	await collecting(sideband, (records) => {
		const pids = Array.from({ length: 30 }, () => spawnSync('taskset', ON_ONE_CPU).pid);
		sideband.start((record) => records.push(record));
		sideband.drain();
		const exits = only(records, 'exit').filter(({ pid }) => pids.includes(pid)).length;
		assert.ok(exits < pids.length);
		const lost = sideband.lost();
		assert.ok(lost >= pids.length - exits, `${lost} lost, but ${pids.length - exits} were missing`);
	});
});

test('opened and closed again and again; CPUs that are not there are left out', () => {
	for (let i = 0; i < 20; i++) new Sideband({ cpus: [0, 4095] }).close();
	const sideband = new Sideband();
	sideband.refreshCpus();
	assert.equal(openPerfEvents().length, onlineCpus().length);
	sideband.close();
});

interface Sampled {
	readonly sampler: Sampler;
	readonly samples: SampleRecord[];
	readonly records: SidebandRecord[];
}

function started(sampler: Sampler): Sampled {
	const sampled = { sampler, samples: [] as SampleRecord[], records: [] as SidebandRecord[] };
	sampler.start(
		(sample) => sampled.samples.push(sample),
		(record) => sampled.records.push(record),
	);
	return sampled;
}

/** Waits until there are some. */
async function someSamples({ sampler, samples }: Sampled): Promise<SampleRecord[]> {
	await until(() => {
		sampler.drain();
		return samples.length >= 20;
	});
	return samples;
}

/** The hog's own code, as /proc/PID/maps has it. */
function codeOf(pid: number): (address: number | undefined) => boolean {
	const line = readFileSync(`/proc/${pid}/maps`, 'utf8')
		.split('\n')
		.find((text) => text.endsWith(HOG) && text.includes(' r-xp '));
	const [start = 0, end = 0] = (line?.split(' ')[0] ?? '')
		.split('-')
		.map((hex) => Number(`0x${hex}`));
	return (address = 0) => address >= start && address < end;
}

test('an ordinary user samples its process, in user space', async () => {
	assert.ok(setting('perf_event_paranoid') <= 2, 'kernel.perf_event_paranoid is above 2');
	const hog = await Workload.start('hog');
	const before_ns = now_ns();
	const sampler = asOrdinaryUser(
		() => new Sampler({ ...CPU_CLOCK, pids: [hog.pid], kernel: 'if-allowed' }),
	);
	try {
		assert.equal(sampler.kernelIncluded, setting('perf_event_paranoid') <= 1);
		const samples = await someSamples(started(sampler));
		const isCode = codeOf(hog.pid);
		for (const sample of samples) {
			assert.equal(sample.pid, hog.pid);
			assert.equal(sample.tid, hog.pid);
			assert.ok(sample.time_ns > before_ns && sample.time_ns < now_ns());
			assert.equal(sample.period, 1001001); // 1 s / 999, in ns
			if (!sampler.kernelIncluded) assert.deepEqual(sample.kernel, []);
		}
		assert.ok(samples.some(({ user }) => isCode(user[0])));
		assert.equal(sampler.lost(), 0);
	} finally {
		sampler.close();
		sampler.close();
		await hog.end();
	}
});

test('of a process held in a shell: the program it executes, and its children', async () => {
	// `true`, since a shell executes its last command in its own place.
	const shell = spawn('sh', ['-c', `read line; exec sh -c '${HOG}; true'`]);
	const sampler = asOrdinaryUser(
		() => new Sampler({ ...CPU_CLOCK, pids: [shell.pid as number], kernel: 'no' }),
	);
	try {
		const sampled = started(sampler);
		shell.stdin.write('\n');
		const [line] = await once(shell.stdout, 'data');
		const pid = Number(String(line).split(' ')[1]);
		await until(() => {
			sampler.drain();
			return sampled.samples.some((sample) => sample.pid === pid);
		});
		const { samples, records } = sampled;
		assert.ok(samples.every((sample) => sample.pid === pid || sample.pid === shell.pid));
		assert.ok(
			only(records, 'fork').some((fork) => fork.pid === pid && fork.parentPid === shell.pid),
		);
		assert.ok(only(records, 'comm').some((comm) => comm.pid === pid && comm.comm === 'hog'));
		assert.ok(only(records, 'mmap').some((mmap) => mmap.pid === pid && mmap.path === HOG));
	} finally {
		sampler.close();
		shell.stdin.end();
		await once(shell, 'close');
	}
});

test('the whole machine, with the kernel', async () => {
	const hog = await Workload.start('hog');
	const sampler = new Sampler({ ...CPU_CLOCK, systemWide: true, kernel: 'yes' });
	try {
		const sampled = started(sampler);
		await until(() => {
			sampler.drain();
			return sampled.samples.some(({ pid }) => pid === hog.pid);
		});
		assert.ok(sampled.samples.every(({ pid }) => pid > 0));
	} finally {
		sampler.close();
		await hog.end();
	}
});

function refused(action: () => { close(): void }, pattern: RegExp): void {
	assert.throws(
		() => action().close(),
		(error) => error instanceof TstraceError && pattern.test(error.message),
	);
}

test('errors say what to do', () => {
	const paranoid = `kernel.perf_event_paranoid is ${setting('perf_event_paranoid')}`;
	const own: SamplerOptions = { ...CPU_CLOCK, pids: [process.pid], kernel: 'yes' };
	asOrdinaryUser(() => {
		const wide = new RegExp(`whole machine: ${paranoid}.*sysctl kernel.perf_event_paranoid=0`);
		refused(() => new Sideband(), wide);
		const kernel = new RegExp(`the kernel: ${paranoid}.*sysctl kernel.perf_event_paranoid=1`);
		refused(() => new Sampler(own), kernel);
		const init: SamplerOptions = { ...CPU_CLOCK, pids: [1], kernel: 'no' };
		refused(() => new Sampler(init), /observe process 1: .*belongs to another user/);
	});
	refused(() => new Sampler({ ...own, pids: [4194303] }), /nothing to sample: process 4194303/);
	refused(() => new Sampler({ ...own, frequency_hz: 10 ** 9 }), /the limit is \d+/);
	refused(
		() => new Sampler({ ...own, maxStack: 60000 }),
		/sysctl kernel.perf_event_max_stack=60000/,
	);
	const nothing = { type: 4, config: 0n };
	if (!hasPmu())
		refused(() => openPerfEvent(nothing, { pid: 0, cpu: -1 }), /no such hardware event/);
});
