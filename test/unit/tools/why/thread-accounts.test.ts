/** What is known of threads, as programs write it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import {
	configureAccounts,
	EndedThreads,
	readAccounts,
} from '../../../../src/tools/why/thread-accounts.js';

const { size, fields } = layout.structs.thread_account;
type Objects = Parameters<typeof readAccounts>[0];

const U64 = ['born_ns', 'at_ns', 'run_ns', 'ready_ns', 'read_bytes', 'written_bytes'] as const;

interface Given extends Partial<Record<(typeof U64)[number], bigint>> {
	readonly pid?: number;
	readonly tgid?: number;
	readonly tid?: number;
	readonly traced?: number;
	readonly preempted?: number;
	readonly comm?: string;
}

function write(view: DataView, at: number, given: Given): void {
	for (const name of U64) view.setBigUint64(at + fields[name].offset, given[name] ?? 0n, true);
	for (const name of ['pid', 'tgid', 'tid'] as const)
		view.setUint32(at + fields[name].offset, given[name] ?? 0, true);
	for (const name of ['traced', 'preempted'] as const)
		view.setUint8(at + fields[name].offset, given[name] ?? 0);
	const name = new Uint8Array(view.buffer, view.byteOffset + at + fields.comm.offset, 16);
	name.set(Buffer.from(`${given.comm ?? ''}\0`));
}

/** As an iterator writes them, in the middle of other bytes; `more`: of one that is not whole. */
function accounts(given: readonly Given[], more = 0) {
	const BEFORE = 8;
	const buffer = new ArrayBuffer(BEFORE + given.length * size + more + 24);
	new Uint8Array(buffer).fill(0xee);
	const view = new DataView(buffer, BEFORE, given.length * size + more);
	for (const [at, each] of given.entries()) write(view, at * size, each);
	const asked: string[] = [];
	const runIterator = (name: string) => {
		asked.push(name);
		return view;
	};
	const read = readAccounts({ runIterator } as unknown as Objects);
	assert.deepEqual(asked, ['read_accounts']);
	return read;
}

const FIRST: Given = {
	...{ born_ns: 11n, at_ns: 22n, run_ns: 33n, ready_ns: 44n, pid: 5, tgid: 6, tid: 7 },
	...{ read_bytes: 55n, written_bytes: 66n },
	comm: 'worker',
};

test('each field of each thread is where the program has written it', () => {
	const second = {
		...{ born_ns: 2n ** 53n, at_ns: 2n ** 53n - 1n, run_ns: 2n ** 40n, ready_ns: 0n },
		...{ pid: 0xffff_fffe, tgid: 0, tid: 2 ** 22, traced: 1, comm: 'kworker/0:1-eve' },
	};
	assert.deepEqual(accounts([FIRST, second, { preempted: 1, comm: 'x' }]), [
		{
			...{ kernelPid: 5, born_ns: 11, at_ns: 22, run_ns: 33, pid: 6, tid: 7, comm: 'worker' },
			...{ traced: false, ready_ns: 44, preempted: false, read_bytes: 55, written_bytes: 66 },
		},
		{
			...{ kernelPid: 0xffff_fffe, born_ns: 2 ** 53, at_ns: 2 ** 53 - 1, run_ns: 2 ** 40 },
			...{ pid: 0, tid: 2 ** 22, comm: 'kworker/0:1-eve' },
			...{ traced: true, ready_ns: 0, preempted: false, read_bytes: 0, written_bytes: 0 },
		},
		{
			...{ kernelPid: 0, born_ns: 0, at_ns: 0, run_ns: 0, pid: 0, tid: 0, comm: 'x' },
			...{ traced: false, ready_ns: 0, preempted: true, read_bytes: 0, written_bytes: 0 },
		},
	]);
});

test('no thread, and one that is not whole, is none', () => {
	assert.deepEqual(accounts([]), []);
	assert.equal(accounts([FIRST], size - 1).length, 1);
	assert.deepEqual(accounts([], size - 1), []);
});

test('there is room for tens of thousands of threads that end within a second', () => {
	const sizes = new Map<string, number>();
	const map = (name: string) => ({
		setMaxEntries: (bytes: number) => void sizes.set(name, bytes),
	});
	configureAccounts({ map } as unknown as Objects);
	const [[name, bytes = 0] = []] = [...sizes];
	assert.deepEqual([sizes.size, name], [1, 'ended_threads']);
	// The kernel wants a power of two; each record has 8 bytes before it.
	assert.ok(Number.isInteger(Math.log2(bytes)));
	assert.ok(bytes / (size + 8) >= 45_000, `${bytes / (size + 8)}`);
});

test('so many threads that have ended are kept, and the others are counted once: ended_threads_dropped', () => {
	const waiting: Given[] = [];
	const ring = {
		read: (see: (record: DataView) => void) => {
			const records = waiting.splice(0);
			for (const given of records) {
				const record = new DataView(new ArrayBuffer(size));
				write(record, 0, given);
				see(record);
			}
			return records.length;
		},
		close: () => undefined,
	};
	const ended = new EndedThreads(ring, 3);
	const drained = (...pids: readonly number[]) => {
		waiting.push(...pids.map((pid) => ({ pid, comm: 'x' })));
		ended.drain();
		return ended.all().map(({ kernelPid }) => kernelPid);
	};
	assert.deepEqual(drained(11, 12), [11, 12]);
	assert.deepEqual(ended.lost(), {});
	assert.deepEqual(drained(13, 14, 15), [11, 12, 13]);
	assert.deepEqual(ended.lost(), { ended_threads_dropped: 2 });
	assert.deepEqual(drained(16), [11, 12, 13]);
	assert.deepEqual(ended.lost(), { ended_threads_dropped: 1 });
	assert.deepEqual(ended.lost(), {});
});
