import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PerfRecordError, parseRecord } from '../../../src/perf/parse.js';
import type { MmapRecord } from '../../../src/perf/records.js';
import { HOSTILE } from '../support.js';
import { comm, lost, mmap2, record, sample, task } from './records.js';

const ID = { pid: 1234, tid: 1235, time_ns: 2 ** 52 + 1, id: 42, cpu: 3 };
const { id: _id, cpu: _cpu, ...STAMP } = ID;
const LIBC = {
	start: 0x7fff_f000_0000,
	bytes: 0x2000,
	fileOffset: 0x1000,
	inode: 99,
	path: '/libc',
};
const [KERNEL, USER, GUEST] = [-128, -512, -2048];
const TEXT = -0x7f00_0000;

/** Between bytes that are not its own, which must not be seen. */
function parse(bytes: Uint8Array) {
	const around = new Uint8Array(bytes.length + 64).fill(0x58);
	around.set(bytes, 32);
	return parseRecord(new DataView(around.buffer, 32, bytes.length));
}

test('side-band records', () => {
	assert.deepEqual(parse(mmap2(ID, LIBC)), {
		...STAMP,
		type: 'mmap',
		start: LIBC.start,
		end: LIBC.start + 0x2000,
		fileOffset: 0x1000,
		major: 254,
		minor: 1,
		inode: 99,
		path: '/libc',
	});
	assert.deepEqual(parse(comm(ID, 'sh', true)), { ...STAMP, type: 'comm', comm: 'sh', exec: true });
	assert.deepEqual(parse(comm(ID, 'sh', false)), {
		...STAMP,
		type: 'comm',
		comm: 'sh',
		exec: false,
	});
	// With a build id in place of the numbers of its file.
	const withBuildId = mmap2(ID, LIBC);
	new DataView(withBuildId.buffer, withBuildId.byteOffset).setUint16(4, 2 | (1 << 14), true);
	const { inode, major, minor } = parse(withBuildId) as MmapRecord;
	assert.deepEqual([inode, major, minor], [0, 0, 0]);
	// Of another PID namespace.
	const { pid, tid } = parse(comm({ ...ID, pid: -1, tid: -1 }, 'sh', true)) as typeof ID;
	assert.deepEqual([pid, tid], [-1, -1]);
	const parent = { pid: 1, tid: 2 };
	assert.deepEqual(parse(task(7, ID, parent)), { ...STAMP, type: 'fork', parentPid: 1 });
	assert.deepEqual(parse(task(4, ID, parent)), { ...STAMP, type: 'exit' });
});

test('names are as they were given, whatever is in them', () => {
	for (const name of HOSTILE) {
		const expected = name.split('\0')[0];
		const parsed = parse(mmap2(ID, { ...LIBC, path: name }));
		assert.equal(parsed?.type === 'mmap' && parsed.path, expected);
	}
});

test('what was lost, and what is of no interest', () => {
	assert.deepEqual(parse(lost(17)), { type: 'lost', where: 'ring', lost: 17 });
	assert.deepEqual(parse(record(13, 0, [{ u64: 5 }])), {
		type: 'lost',
		where: 'hardware',
		lost: 5,
	});
	const throttle = record(5, 0, [{ u64: 9 }, { u64: 1 }, { u64: 1 }]);
	assert.deepEqual(parse(throttle), { type: 'throttle' });
	assert.equal(parse(record(99, 0, [])), undefined);
});

function stacksOf(ip: number, chain: readonly (number | bigint)[]) {
	const parsed = parse(sample(ID, { ip, period: 1001, chain }));
	assert.equal(parsed?.type, 'sample');
	return parsed?.type === 'sample' && { kernel: parsed.kernel, user: parsed.user };
}

test('a sample', () => {
	const parsed = parse(sample(ID, { ip: 1, period: 1001, chain: [KERNEL, TEXT, USER, 7, 8] }));
	const stacks = { kernel: [TEXT], user: [7, 8] };
	assert.deepEqual(parsed, { ...ID, type: 'sample', period: 1001, ...stacks });
});

test('call chains are split at their markers', () => {
	assert.deepEqual(stacksOf(7, [USER, 7, 8]), { kernel: [], user: [7, 8] });
	assert.deepEqual(stacksOf(TEXT, [KERNEL, TEXT, TEXT + 1]), {
		kernel: [TEXT, TEXT + 1],
		user: [],
	});
	assert.deepEqual(stacksOf(TEXT, [GUEST, 5, KERNEL, TEXT]), { kernel: [TEXT], user: [] });
	// PERF_CONTEXT_MAX is one, too.
	assert.deepEqual(stacksOf(TEXT, [KERNEL, TEXT, -4095, 5]), { kernel: [TEXT], user: [] });
});

test('without a call chain there is where it was', () => {
	assert.deepEqual(stacksOf(7, []), { kernel: [], user: [7] });
	assert.deepEqual(stacksOf(TEXT, []), { kernel: [TEXT], user: [] });
});

test('a user stack that went astray forges no kernel frames', () => {
	assert.deepEqual(stacksOf(7, [USER, 7, KERNEL, 5, 6]), { kernel: [], user: [7] });
	assert.deepEqual(stacksOf(7, [USER, 7, 8, TEXT]), { kernel: [], user: [7, 8] });
	assert.deepEqual(stacksOf(7, [USER, 7, 2n ** 62n, 8]), { kernel: [], user: [7] });
});

/** An answer, none, or a PerfRecordError; nothing from outside of it. */
function survives(bytes: Uint8Array): void {
	try {
		const parsed = parse(bytes);
		const name = parsed?.type === 'mmap' ? parsed.path : parsed?.type === 'comm' ? parsed.comm : '';
		assert.ok(!name.includes('XXXX'), 'read outside');
	} catch (error) {
		if (!(error instanceof PerfRecordError)) throw error;
	}
}

const EXAMPLES = [
	mmap2(ID, LIBC),
	comm(ID, 'sh', true),
	task(7, ID, ID),
	task(4, ID, ID),
	lost(1),
	sample(ID, { ip: 1, period: 1, chain: [KERNEL, TEXT, USER, 7, 8] }),
];

test('cut short anywhere', () => {
	for (const example of EXAMPLES) {
		for (let length = 0; length < example.length; length++) survives(example.slice(0, length));
	}
});

test('any bytes', () => {
	fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), survives));
	const type = fc.integer({ min: 0, max: 20 });
	fc.assert(
		fc.property(type, fc.uint8Array({ minLength: 8, maxLength: 300 }), (first, bytes) => {
			bytes.set([first, 0, 0, 0]);
			survives(bytes);
		}),
		{ numRuns: 2000 },
	);
});

test('any bytes changed', () => {
	const change = fc.tuple(fc.nat({ max: 200 }), fc.integer({ min: 0, max: 255 }));
	const changes = fc.array(change, { minLength: 1, maxLength: 6 });
	fc.assert(
		fc.property(fc.constantFrom(...EXAMPLES), changes, (example, list) => {
			const changed = Uint8Array.from(example);
			for (const [at, byte] of list) changed[at % changed.length] = byte;
			survives(changed);
		}),
		{ numRuns: 3000 },
	);
});
