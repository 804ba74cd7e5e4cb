import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { UsageError } from '../../../src/errors.js';
import { editDistance, nearest } from '../../../src/nearest.js';
import {
	canonicalName,
	EVENT_NAMES,
	eventName,
	eventOf,
	isClock,
	meant,
} from '../../../src/perf/names.js';

/** Numbers out of include/uapi/linux/perf_event.h. */
const KNOWN = [
	['cycles', 0, 0n],
	['cpu-cycles', 0, 0n],
	['instructions', 0, 1n],
	['cache-misses', 0, 3n],
	['branches', 0, 4n],
	['branch-misses', 0, 5n],
	['cache-references', 0, 2n],
	['bus-cycles', 0, 6n],
	['stalled-cycles-frontend', 0, 7n],
	['stalled-cycles-backend', 0, 8n],
	['idle-cycles-backend', 0, 8n],
	['ref-cycles', 0, 9n],
	['cpu-clock', 1, 0n],
	['task-clock', 1, 1n],
	['page-faults', 1, 2n],
	['context-switches', 1, 3n],
	['cpu-migrations', 1, 4n],
	['minor-faults', 1, 5n],
	['major-faults', 1, 6n],
	['alignment-faults', 1, 7n],
	['emulation-faults', 1, 8n],
	['dummy', 1, 9n],
	['bpf-output', 1, 10n],
	['cgroup-switches', 1, 11n],
	['L1-dcache-loads', 3, 0x0_00_00n],
	['L1-dcache-load-misses', 3, 0x1_00_00n],
	['LLC-store-misses', 3, 0x1_01_02n],
	['dTLB-prefetch-misses', 3, 0x1_02_03n],
	['iTLB-loads', 3, 0x0_00_04n],
	['L1-icache-prefetches', 3, 0x0_02_01n],
	['branch-load-misses', 3, 0x1_00_05n],
	['node-stores', 3, 0x0_01_06n],
	['node-prefetch-misses', 3, 0x1_02_06n],
	['r1a8', 4, 0x1a8n],
	['R1A8', 4, 0x1a8n],
	['CYCLES', 0, 0n],
] as const;

test('events by the names of perf list', () => {
	for (const [name, type, config] of KNOWN) {
		const event = eventOf(name);
		assert.deepEqual([event.type, event.config], [type, config], name);
	}
});

test('every name is found, and leads back to a name of the same event', () => {
	for (const name of EVENT_NAMES) {
		const event = eventOf(name);
		assert.equal(event.name, name);
		const { type, config } = eventOf(eventName(event));
		assert.deepEqual({ type, config }, { type: event.type, config: event.config });
	}
	assert.equal(eventName({ type: 4, config: 0x1a8n }), 'r1a8');
	assert.equal(eventOf('R1A8').name, 'r1a8');
	assert.equal(eventName({ type: 2, config: 77n }), '2:77', 'it has no name');
	for (const [typed, name] of [
		['CPU-cycles', 'cycles'],
		['cs', 'context-switches'],
		['r1a8', 'r1a8'],
		['sched:sched_switch', 'sched:sched_switch'],
	] as const)
		assert.equal(canonicalName(typed), name);
});

test('what is no event is told the nearest one', () => {
	for (const [wrong, right] of [
		['cycels', 'cycles'],
		['cpu_clock', 'cpu-clock'],
		['page-fault', 'page-faults'],
		['L1-dcache-load-mises', 'L1-dcache-load-misses'],
	] as const) {
		assert.throws(
			() => eventOf(wrong),
			(error) => error instanceof UsageError && error.message.includes(`: did you mean ${right}`),
			wrong,
		);
	}
});

test('what is no event is told why, as in a list', () => {
	assert.throws(
		() => eventOf('cache'),
		/^Error: "cache" is ambiguous: cache-references, cache-misses$/,
	);
	// Of one letter, that says nothing.
	assert.throws(() => eventOf('c'), /^Error: there is no event "c"/);
	const near = meant('cycle1', ['cycle2', 'cycle3', 'cycle4', 'cycle5']);
	assert.equal(near.split(' or ').length, 3, near);
	assert.throws(() => eventOf('cpu/event=1/'), /an event of one PMU, which cannot be used here/);
	assert.throws(
		() => eventOf('pagefaults'),
		/there is no event "pagefaults": did you mean page-faults or faults\?/,
	);
});

test('two events are clocks', () => {
	const clocks = EVENT_NAMES.filter((name) => isClock(eventOf(name)));
	assert.deepEqual(clocks, ['cpu-clock', 'task-clock']);
	assert.ok(!isClock({ type: 4, config: 0n }));
});

test('any text: an event or an error for the person who typed it', () => {
	fc.assert(
		fc.property(fc.string({ maxLength: 30 }), (text) => {
			try {
				eventOf(text);
			} catch (error) {
				assert.ok(error instanceof UsageError);
			}
		}),
	);
});

test('the edit distance: none to itself, the same both ways, one for a swap', () => {
	const word = fc.string({ maxLength: 8, unit: fc.constantFrom('a', 'b', 'c') });
	fc.assert(
		fc.property(word, word, (a, b) => {
			assert.equal(editDistance(a, a), 0);
			assert.equal(editDistance(a, b), editDistance(b, a));
			assert.ok(a === b || editDistance(a, b) > 0);
			assert.ok(editDistance(a, b) <= Math.max(a.length, b.length));
			assert.ok(editDistance(a, b) >= Math.abs(a.length - b.length));
			assert.equal(editDistance(`${a}xy${b}`, `${a}yx${b}`), 1);
		}),
	);
	assert.equal(editDistance('kitten', 'sitting'), 3);
	assert.equal(nearest('x', []), undefined);
});

test('the nearest word is one that is close, or begins as what was typed', () => {
	const tools = ['memleak', 'offcputime', 'profile', 'runqlat', 'schedlat', 'syscount', 'timehist'];
	for (const [typed, meant] of [
		['offcpu', 'offcputime'],
		['OFFCPU', 'offcputime'],
		['runqlatt', 'runqlat'],
		['rnuqlat', 'runqlat'],
		['proflie', 'profile'],
		['sys', 'syscount'],
		['foo', undefined],
		['s', undefined],
		['', undefined],
		['latency', undefined],
		['x'.repeat(100_000), undefined],
	] as const) {
		assert.equal(nearest(typed, tools), meant, typed.slice(0, 20));
	}
	const keys = ['runtime', 'switches', 'avg', 'p50', 'p99', 'max'];
	assert.equal(nearest('foo', keys), undefined);
	assert.equal(nearest('mx', keys), 'max');
	assert.equal(nearest('runtme', keys), 'runtime');
	assert.equal(nearest('max', ['max-overhead', 'max-buckets']), 'max-buckets');
	assert.doesNotMatch(
		messageOf(() => eventOf('foo')),
		/did you mean/,
	);
});

function messageOf(action: () => unknown): string {
	try {
		action();
	} catch (error) {
		return String(error);
	}
	return assert.fail('nothing was thrown');
}
