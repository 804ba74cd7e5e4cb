import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Origin } from '../../../../src/aggregate/stack-profile.js';
import { refusalOf, remarksOf } from '../../../../src/converters/diff/comparable.js';

const NS: Origin = { tool: 'offcputime', unit: 'ns' };
const SAMPLES: Origin = { tool: 'profile', unit: 'samples', event: 'cycles', frequency_hz: 99 };
const FOLDED: Origin = {};

const refusal = (before: Origin, after: Origin) => refusalOf({ before, after }, 'total');

test('different units are refused, and different events and tools of the same unit', () => {
	assert.match(refusal(NS, SAMPLES) ?? '', /^cannot compare ns with samples: /);
	const faults = { ...SAMPLES, event: 'page-faults' };
	assert.match(refusal(SAMPLES, faults) ?? '', /^cannot compare cycles with page-faults: /);
	const other = { ...NS, tool: 'offwaketime' };
	assert.match(refusal(NS, other) ?? '', /^cannot compare offcputime with offwaketime: /);
	assert.match(refusal({ tool: 'a' }, { tool: 'b' }) ?? '', /^cannot compare a with b: /);
});

test('the event counts, whoever counted it and however restricted', () => {
	assert.equal(refusal(SAMPLES, { ...SAMPLES, tool: 'perf', event: 'cycles:ppp' }), undefined);
	assert.match(
		refusal({ event: 'kmem:kmalloc' }, { event: 'kmem:kfree' }) ?? '',
		/kmem:kmalloc with kmem:kfree/,
	);
});

test('what one of them does not say is no reason, as long as only shares are compared', () => {
	for (const [before, after] of [
		[NS, FOLDED],
		[FOLDED, NS],
		[FOLDED, FOLDED],
	] as const) {
		assert.equal(refusal(before, after), undefined);
	}
	for (const normalization of ['none', 'duration'] as const) {
		const said = refusalOf({ before: NS, after: FOLDED }, normalization) ?? '';
		assert.match(said, /^after has no unit, and the other is in ns, .*--normalize total$/);
		const other = refusalOf({ before: FOLDED, after: NS }, normalization) ?? '';
		assert.match(other, /^before has no unit, and the other is in ns, /);
		assert.equal(refusalOf({ before: FOLDED, after: FOLDED }, normalization), undefined);
		assert.equal(refusalOf({ before: NS, after: NS }, normalization), undefined);
	}
});

test('samples of different length are no common unit, but for shares', () => {
	const faster = { ...SAMPLES, frequency_hz: 997 };
	assert.equal(refusal(SAMPLES, faster), undefined);
	const said = refusalOf({ before: SAMPLES, after: faster }, 'duration') ?? '';
	assert.match(said, /^samples were taken 99 times a second before and 997 times a second after, /);
	const counted = { tool: 'profile', unit: 'samples', event: 'cycles', period: 1000 };
	const mixed = refusalOf({ before: counted, after: SAMPLES }, 'none') ?? '';
	assert.match(mixed, /^samples were taken every 1000 events before and 99 times a second after, /);
	assert.equal(refusalOf({ before: counted, after: counted }, 'none'), undefined);
});

test('what else differs is said, a remark each; what one does not know is not', () => {
	const before: Origin = {
		...SAMPLES,
		host: 'a',
		kernel: '6.1',
		duration_s: 5.001,
		filters: { pids: [1, 2], follow: true },
	};
	assert.deepEqual(remarksOf({ before, after: before }), []);
	assert.deepEqual(remarksOf({ before, after: { ...before, duration_s: 5.02 } }), []);
	const after = {
		...before,
		host: 'b',
		kernel: '6.2',
		duration_s: 10,
		frequency_hz: 49,
		filters: {},
	};
	assert.deepEqual(remarksOf({ before, after }), [
		'hosts differ: a before, b after',
		'kernels differ: 6.1 before, 6.2 after',
		'durations differ: 5 s before, 10 s after',
		'sampling differs: 99 times a second before, 49 times a second after',
		'filters differ: follow; pids 1, 2 before, none after',
	]);
	assert.deepEqual(remarksOf({ before: FOLDED, after: before }), [
		'before has no unit, after is in samples: shares are right only if both have the same unit',
	]);
	assert.deepEqual(remarksOf({ before: FOLDED, after: FOLDED }), []);
});

test('events and periods that differ are said as each had them; durations with three digits', () => {
	const before: Origin = { event: 'cycles', unit: 'ns', period_ns: 1000, duration_s: 12.345 };
	const after = { ...before, event: 'cycles:u', period_ns: 3000, duration_s: 60 };
	assert.deepEqual(remarksOf({ before, after }), [
		'events differ: cycles before, cycles:u after',
		'durations differ: 12.3 s before, 60 s after',
		'sampling periods differ: 1000 ns before, 3000 ns after',
	]);
});

test('where one has no event, the tools say whether they count the same', () => {
	const [ours, theirs] = [{ tool: 'profile', event: 'cycles' }, { tool: 'perf' }];
	assert.match(refusal(ours, theirs) ?? '', /^cannot compare profile with perf: .* the same tool$/);
	assert.match(refusal(theirs, ours) ?? '', /^cannot compare perf with profile: /);
	assert.equal(refusal(ours, { tool: 'profile' }), undefined);
	assert.equal(refusal(ours, {}), undefined);
});
