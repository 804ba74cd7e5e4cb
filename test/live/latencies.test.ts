/** A thread's latencies, added up by the kernel's own code: each number of each wait where it belongs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schedlat } from '../../src/generated/schedlat.js';
import { readU64 } from '../../src/loader/layout.js';
import { PROT, SharedMapping } from '../../src/loader/memory.js';
import { BpfObject } from '../../src/loader/object.js';
import { randomFrom } from '../random.js';
import { callable } from './program-as-function.js';
import { testObject } from './test-object.js';

const { size, fields } = schedlat.structs.latencies;
const LAYOUT = {
	name: 'latencies',
	structs: {},
	enums: {},
	sections: {},
	maps: { results: { keySize: 4, valueSize: size } },
	programs: ['add'],
} as const;
/** As in bpf/lib/scheduling/run_queue.h. */
const KINDS = ['wakeup', 'preempted', 'since before', 'unknown'] as const;

interface Wait {
	readonly kind: (typeof KINDS)[number];
	readonly delay_ns: number;
	readonly throttled_ns: number;
	readonly end_ns: number;
}

/** What the kernel makes of a thread's waits. */
function added(waits: readonly Wait[]) {
	const object = new BpfObject(testObject('latencies'), LAYOUT);
	try {
		object.load(['add']);
		const add = callable(object, 'add', 4);
		for (const { kind, delay_ns, throttled_ns, end_ns } of waits)
			add(BigInt(KINDS.indexOf(kind)), BigInt(delay_ns), BigInt(throttled_ns), BigInt(end_ns));
		const memory = new SharedMapping(object.map('results').fd, size, PROT.read, 0);
		const view = new DataView(memory.buffer);
		const result = {
			count: view.getUint32(fields.count.offset, true),
			wakeups: view.getUint32(fields.wakeups.offset, true),
			sum: readU64(view, fields.sum.offset),
			throttled: readU64(view, fields.throttled_ns.offset),
			least: Number(2n ** 64n - 1n - view.getBigUint64(fields.min_complement.offset, true)),
			most: readU64(view, fields.max.offset),
			most_at: readU64(view, fields.max_ns.offset),
		};
		memory.unmap();
		return result;
	} finally {
		object.close();
	}
}

/** The same, by hand: without the throttled part, which is added up by itself. */
function expected(waits: readonly Wait[]) {
	const delays = waits.map(({ delay_ns, throttled_ns }) => delay_ns - throttled_ns);
	const most = Math.max(...delays);
	const total = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);
	return {
		count: waits.length,
		wakeups: waits.filter(({ kind }) => kind === 'wakeup').length,
		sum: total(delays),
		throttled: total(waits.map(({ throttled_ns }) => throttled_ns)),
		least: Math.min(...delays),
		most,
		most_at: waits[delays.indexOf(most)]?.end_ns,
	};
}

const waitOf = (kind: Wait['kind'], delay_ns: number, end_ns: number, throttled_ns = 0): Wait => ({
	kind,
	delay_ns,
	throttled_ns,
	end_ns,
});

for (const kind of KINDS) {
	test(`a wait of kind ${kind} is ${kind === 'wakeup' ? 'a' : 'no'} wake-up`, () => {
		const waits = [waitOf('wakeup', 10, 100), waitOf(kind, 20, 200), waitOf('preempted', 5, 300)];
		assert.deepEqual(added(waits), expected(waits));
	});
}

for (const [place, order] of [
	['first', [900, 20, 300]],
	['in the middle', [20, 900, 300]],
	['last', [300, 20, 900]],
] as const) {
	test(`the longest wait ended when it did, if it is the ${place} one`, () => {
		const waits = order.map((delay_ns, i) => waitOf('wakeup', delay_ns, 1000 * (i + 1)));
		assert.deepEqual(added(waits), expected(waits));
	});
}

test('a thousand waits of all kinds, some of them throttled', () => {
	const random = randomFrom(5);
	const waits = Array.from({ length: 1000 }, (_, i) => {
		const delay_ns = 1 + (random() % 1_000_000);
		const throttled_ns = random() % 3 === 0 ? random() % delay_ns : 0;
		return waitOf(KINDS[random() % 4] ?? 'unknown', delay_ns, 1e6 + i, throttled_ns);
	});
	assert.deepEqual(added(waits), expected(waits));
});
