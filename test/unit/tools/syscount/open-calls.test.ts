/** Calls that have not returned: how many, and how long the longest takes already. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { syscount as layout } from '../../../../src/generated/syscount.js';
import type { BpfObject } from '../../../../src/loader/object.js';
import { Calls, type CallsSettings } from '../../../../src/tools/syscount/calls.js';

const { size, fields } = layout.structs.open_call;

interface Open {
	/** 0: it began before tracing did. */
	readonly since_ns: number;
	readonly nr?: number;
	/** As programs count them: 0 is the machine's own. */
	readonly abi?: number;
	readonly tgid?: number;
	readonly comm?: string;
}

const [BEGUN_NS, NOW_NS] = [1_000, 11_000];
/** Calls that began then, and how long they take already; of BEFORE it is at least so long. */
const [EARLY, EARLY_NS] = [{ since_ns: 4_000 }, 7_000];
const LATE = { since_ns: 9_500 };
const [BEFORE, BEFORE_NS] = [{ since_ns: 0 }, 10_000];

/** What is said of these, which have not returned NOW_NS. */
function sumsOf(t: TestContext, open: readonly Open[], settings: Partial<CallsSettings> = {}) {
	const view = new DataView(new ArrayBuffer(size * open.length));
	for (const [i, { since_ns, nr = 5, abi = 0, tgid = 21, comm = 'one' }] of open.entries()) {
		const at = i * size;
		view.setBigUint64(at + fields.since_ns.offset, BigInt(since_ns), true);
		view.setUint32(at + fields.nr.offset, nr, true);
		view.setUint32(at + fields.abi.offset, abi, true);
		view.setUint32(at + fields.tgid.offset, tgid, true);
		Buffer.from(comm).copy(new Uint8Array(view.buffer), at + fields.comm.offset);
	}
	const object = { layout, runIterator: () => view } as unknown as BpfObject<typeof layout>;
	const none = { timed: true, byProcess: false, byErrno: false, bytes: false, open: true };
	const calls = new Calls(object, { ...none, ...settings });
	const clock = t.mock.method(process.hrtime, 'bigint', () => BigInt(BEGUN_NS));
	calls.begin();
	clock.mock.mockImplementation(() => BigInt(NOW_NS));
	calls.findOpen();
	clock.mock.restore();
	return calls
		.take()
		.map(({ nr, tgid, comm, open, longest_ns, sinceBefore, calls }) => {
			assert.equal(calls, 0, 'none has returned');
			return { nr, tgid, comm, open, longest_ns, sinceBefore };
		})
		.sort((a, b) => a.nr - b.nr || a.tgid - b.tgid);
}

const CALL = { nr: 5, tgid: 0, comm: '' };

test('of several of one name the longest is shown, with whether that one began before tracing did', (t) => {
	const before = { ...CALL, longest_ns: BEFORE_NS, sinceBefore: true };
	const seen = { ...CALL, longest_ns: EARLY_NS, sinceBefore: false };
	for (const [open, expected] of [
		[[BEFORE], before],
		[[EARLY], seen],
		[[BEFORE, EARLY], before],
		[[EARLY, BEFORE], before],
		[[EARLY, LATE], seen],
		[[LATE, EARLY], seen],
		[[LATE, BEFORE, EARLY], before],
	] as const)
		assert.deepEqual(
			sumsOf(t, open),
			[{ ...expected, open: open.length }],
			`${open.map(({ since_ns }) => since_ns)}`,
		);
});

test('seen as it began, before the interval did: how long it takes is known, whatever others take at least', (t) => {
	const attached = { since_ns: BEGUN_NS - 300 };
	const known = { ...CALL, open: 2, longest_ns: NOW_NS - attached.since_ns, sinceBefore: false };
	assert.deepEqual(sumsOf(t, [BEFORE, attached]), [known]);
	assert.deepEqual(sumsOf(t, [attached, BEFORE]), [known]);
});

test('each call has its own', (t) => {
	const open = [{ ...LATE, nr: 6 }, BEFORE, { ...EARLY, nr: 6 }];
	assert.deepEqual(sumsOf(t, open), [
		{ ...CALL, open: 1, longest_ns: BEFORE_NS, sinceBefore: true },
		{ ...CALL, nr: 6, open: 2, longest_ns: EARLY_NS, sinceBefore: false },
	]);
});

test('by process, each process has its own, whatever its calls are', (t) => {
	const two = { tgid: 22, comm: 'two' };
	const open = [{ ...LATE, ...two }, BEFORE, { ...LATE, nr: 6 }, { ...EARLY, ...two, nr: 7 }];
	assert.deepEqual(sumsOf(t, open, { byProcess: true }), [
		{ nr: 0, tgid: 21, comm: 'one', open: 2, longest_ns: BEFORE_NS, sinceBefore: true },
		{ nr: 0, tgid: 22, comm: 'two', open: 2, longest_ns: EARLY_NS, sinceBefore: false },
	]);
});

test('one that began after the clock was read takes no time yet, and is there', (t) => {
	assert.deepEqual(sumsOf(t, [{ since_ns: NOW_NS + 20 }]), [
		{ ...CALL, open: 1, longest_ns: 0, sinceBefore: false },
	]);
});

test('nobody asks for them: they are in no result', (t) => {
	assert.deepEqual(sumsOf(t, [EARLY, BEFORE], { open: false }), []);
});

test('calls of one number by two ABIs are two', (t) => {
	const open = [BEFORE, { ...LATE, abi: 1 }, { ...EARLY, abi: 1 }];
	assert.deepEqual(
		sumsOf(t, open).map(({ open, longest_ns }) => ({ open, longest_ns })),
		[
			{ open: 1, longest_ns: BEFORE_NS },
			{ open: 2, longest_ns: EARLY_NS },
		],
	);
});
