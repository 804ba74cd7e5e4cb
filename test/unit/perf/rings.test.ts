/** The rings of several CPUs as one, over memory that the test fills. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { TstraceError } from '../../../src/errors.js';
import { koffi } from '../../../src/loader/koffi.js';
import { pageSizeBytes } from '../../../src/loader/memory.js';
import type { PerfEvent } from '../../../src/perf/open.js';
import { PerfRing } from '../../../src/perf/ring.js';
import { PerfRings, type TimedRecord } from '../../../src/perf/rings.js';
import { FakeEvents } from './fake-events.js';
import { FakeRing, PAGE_BYTES } from './fake-ring.js';
import { lost, record, task } from './records.js';

/** More than the longest record, so that it is not nearly full. */
const RING_BYTES = 2 ** 18;
const OWNER_FD = 100;
const ATTACHED_FD = 200;

/** CPUs with their rings, and what was done with these. */
class Machine {
	cpus: number[];
	/** By CPU. */
	readonly memories = new Map<number, FakeRing>();
	/** How many records found no room, by descriptor. */
	readonly lost = new Map<number, number>();
	/** How often an event was asked for that: each is a system call. */
	questions = 0;
	readonly closed: number[] = [];
	/** By descriptor: who is called when its ring asks for it. */
	readonly watched = new Map<number, () => void>();
	readonly asked: string[] = [];
	/** Why a ring of so many bytes cannot be mapped. */
	refuses: (bytes: number) => Error | undefined = () => undefined;

	constructor(t: TestContext, ...cpus: number[]) {
		this.cpus = cpus;
		new FakeEvents(t); // events count what they lose
		t.mock.method(PerfRing, 'map', (fd: number, bytes: number) => {
			const error = this.refuses(bytes);
			if (error) throw error;
			const memory = new FakeRing(RING_BYTES);
			this.memories.set(fd - OWNER_FD, memory);
			return new PerfRing(memory, PAGE_BYTES);
		});
		t.mock.method(koffi().node, 'poll', (fd: number, _: object, onReadable: () => void) => {
			this.watched.set(fd, onReadable);
			return { close: () => this.watched.delete(fd) };
		});
	}

	rings(attach?: (cpu: number) => readonly PerfEvent[]): PerfRings {
		return new PerfRings({
			ring_bytes: RING_BYTES,
			online: () => this.cpus,
			open: (cpu, watermark_bytes) => {
				this.asked.push(`${cpu}: ${watermark_bytes}`);
				return this.event(OWNER_FD + cpu);
			},
			...(attach && { attach }),
		});
	}

	event(fd: number): PerfEvent {
		const close = () => this.closed.push(fd);
		const lost = () => {
			this.questions++;
			return this.lost.get(fd) ?? 0;
		};
		return { fd, lost, close } as unknown as PerfEvent;
	}

	put(cpu: number, ...records: readonly Uint8Array[]): void {
		for (const each of records) assert.ok(this.memories.get(cpu)?.put(each));
	}
}

const exit = (tid: number, time_ns: number) => task(4, { pid: tid, tid, time_ns }, { pid: 1, tid });

/** Starts, and keeps the threads of what is delivered. */
function delivered(rings: PerfRings): number[] {
	const tids: number[] = [];
	rings.start(({ tid }: TimedRecord) => tids.push(tid));
	return tids;
}

test('records of all CPUs come in the order of their times, also those from before the start', (t) => {
	const machine = new Machine(t, 0, 1);
	const rings = machine.rings();
	machine.put(0, exit(10, 100), exit(30, 300));
	rings.drain();
	const tids = delivered(rings);
	machine.put(1, exit(20, 200), exit(40, 400));
	rings.drain();
	assert.deepEqual(tids, [10, 20, 30, 40]);
	rings.drain();
	assert.equal(tids.length, 4);
	// Of one time, in the order of the ring.
	machine.put(1, exit(41, 410), exit(42, 410), exit(43, 410));
	rings.drain();
	assert.deepEqual(tids.slice(4), [41, 42, 43]);
	// A ring that asks for it is read as well.
	machine.put(1, exit(50, 500));
	machine.watched.get(OWNER_FD + 1)?.();
	assert.equal(tids.at(-1), 50);
	rings.close();
	assert.equal(machine.watched.size, 0);
});

test('a ring that was full before it was watched is read all the same', async (t) => {
	const machine = new Machine(t, 0);
	const rings = machine.rings();
	machine.put(0, exit(10, 100));
	const tids = delivered(rings);
	await new Promise((resolve) => setImmediate(resolve));
	assert.deepEqual(tids, [10]);
	rings.close();
});

test('what was recorded after the reading began comes with the next one', (t) => {
	const machine = new Machine(t, 0);
	const rings = machine.rings();
	const tids = delivered(rings);
	const now_ns = Number(process.hrtime.bigint());
	machine.put(0, exit(20, now_ns + 1e15), exit(10, now_ns));
	rings.drain();
	assert.deepEqual(tids, [10]);
});

test('what found no room: by what the events say, once, and of all events of a ring', (t) => {
	const machine = new Machine(t, 0, 1);
	const rings = machine.rings((cpu) => [machine.event(ATTACHED_FD + cpu)]);
	delivered(rings);
	machine.lost.set(OWNER_FD, 3);
	machine.lost.set(ATTACHED_FD, 4);
	assert.equal(rings.lost(), 0, 'nobody asks where there was room');
	// Which says that some were lost, but not when.
	machine.put(0, lost(1000));
	rings.drain();
	assert.equal(rings.lost(), 7);
	machine.lost.set(ATTACHED_FD, 6);
	machine.put(0, lost(1));
	rings.drain();
	assert.equal(rings.lost(), 2);
	assert.equal(rings.lost(), 0);
	assert.equal(machine.questions, 2 * 2, 'both events of the ring, where it may have lost some');
	// A ring that is nearly full may have lost some: of that no record tells as yet.
	machine.lost.set(OWNER_FD + 1, 5);
	for (let i = 0; i < 4; i++) machine.put(1, record(99, 0, [{ text: 'x'.repeat(60_000) }]));
	rings.drain();
	assert.equal(rings.lost(), 5);
	rings.close();
	assert.deepEqual(machine.closed, [ATTACHED_FD, OWNER_FD, ATTACHED_FD + 1, OWNER_FD + 1]);
});

test('what the hardware lost, what is no record, and what is too short, is lost', (t) => {
	const machine = new Machine(t, 0);
	const rings = machine.rings();
	const tids = delivered(rings);
	const sized = (bytes: number) => {
		const cut = Uint8Array.from(exit(1, 1).subarray(0, 16));
		new DataView(cut.buffer).setUint16(6, bytes, true);
		return cut;
	};
	machine.put(0, record(13, 0, [{ u64: 6 }]), sized(16), exit(2, 2));
	rings.drain();
	assert.deepEqual([rings.lost(), tids], [6 + 1, [2]]);
	// Where the next one begins is not known.
	machine.put(0, sized(4), exit(3, 3));
	rings.drain();
	assert.deepEqual([rings.lost(), tids], [1, [2]]);
});

test('pauses of sampling are counted since the last time', (t) => {
	const machine = new Machine(t, 0);
	const rings = machine.rings();
	delivered(rings);
	const throttle = record(5, 0, [{ u64: 9 }, { u64: 1 }, { u64: 1 }]);
	machine.put(0, throttle, throttle);
	rings.drain();
	assert.deepEqual([rings.pauses(), rings.pauses()], [2, 0]);
});

test('a CPU that goes leaves its records and its losses; one that comes is watched', (t) => {
	const machine = new Machine(t, 0, 1);
	const rings = machine.rings();
	const tids = delivered(rings);
	machine.put(1, exit(10, 100), lost(1));
	machine.lost.set(OWNER_FD + 1, 3);
	machine.cpus = [0, 2];
	rings.refreshCpus();
	assert.deepEqual([tids, rings.lost()], [[10], 3]);
	assert.deepEqual(machine.closed, [OWNER_FD + 1]);
	assert.deepEqual([...machine.watched.keys()], [OWNER_FD, OWNER_FD + 2]);
	rings.close();
	rings.close();
	assert.deepEqual(machine.closed, [OWNER_FD + 1, OWNER_FD, OWNER_FD + 2]);
});

test('where a user may lock less memory, all rings are smaller, and wake their reader earlier', (t) => {
	const machine = new Machine(t, 0, 1);
	machine.refuses = (bytes) =>
		bytes > RING_BYTES / 4 ? new TstraceError('too large', 'EPERM') : undefined;
	machine.rings();
	const watermarks = [RING_BYTES / 4, RING_BYTES / 8, RING_BYTES / 16];
	assert.deepEqual(machine.asked, [
		...watermarks.map((bytes) => `0: ${bytes}`),
		`1: ${RING_BYTES / 16}`,
	]);
	assert.deepEqual(machine.closed, [OWNER_FD, OWNER_FD]);
});

test('a ring that cannot be had leaves no event open, and says why', (t) => {
	const machine = new Machine(t, 0);
	machine.refuses = () => new TstraceError('none', 'EPERM');
	assert.throws(() => machine.rings(), /^TstraceError: no memory for perf events: .*mlock_kb/);
	const tried = Math.log2(RING_BYTES / pageSizeBytes()) + 1;
	assert.equal(machine.closed.length, tried);
	machine.refuses = () => new TstraceError('none', 'ENODEV');
	assert.throws(() => machine.rings(), { message: 'none' });
	assert.equal(machine.closed.length, tried + 1);
	machine.refuses = () => undefined;
	const fails = () => {
		throw new Error('no thread');
	};
	assert.throws(() => machine.rings(fails), /no thread/);
	assert.equal(machine.closed.length, tried + 2);
	assert.equal(machine.memories.get(0)?.unmapped, 1);
});
