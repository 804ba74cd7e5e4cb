import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Profile } from 'pprof-format';
import type { Origin, StackProfile } from '../../../src/aggregate/stack-profile.js';
import { withStackTool } from '../../../src/converters/flamegraph/stack-tools.js';
import { renderPprof } from '../../../src/render/pprof.js';
import { foldedOf, profileOfText, profilesOf, unpacked } from '../input/formats.js';

/** What another decoder makes of the file, with its strings in their places. */
async function decoded(profile: StackProfile) {
	const pprof = Profile.decode(await unpacked(renderPprof(profile)));
	const text = (index: number | bigint) => pprof.stringTable.strings[Number(index)];
	const functions = new Map(pprof.function.map((each) => [each.id, text(each.name)]));
	const mappings = new Map(pprof.mapping.map((each) => [each.id, text(each.filename)]));
	const locations = new Map(
		pprof.location.map(({ id, line, mappingId }) => [
			id,
			{
				names: line.map(({ functionId }) => functions.get(functionId)),
				mapping: mappings.get(mappingId),
			},
		]),
	);
	return {
		pprof,
		sampleTypes: pprof.sampleType.map(({ type, unit }) => [text(type), text(unit)]),
		defaultType: text(pprof.defaultSampleType),
		comments: pprof.comment.map(text),
		samples: pprof.sample.map(({ locationId, value }) => ({
			value: value.map(Number),
			stack: locationId.map((id) => locations.get(id)),
		})),
		locations,
	};
}

const withOrigin = async (text: string, origin: Origin): Promise<StackProfile> => ({
	...(await profileOfText(text)),
	origin,
});

test('stacks are leaf first; a frame is one location of the mapping of its kind', async () => {
	const text = 'sh;main;sys_read_[k] 5\nsh;main;f_[j];g_[i] 7\nsh;main 1\n';
	const { samples, locations, pprof } = await decoded(await profileOfText(text));
	assert.deepEqual(samples, [
		{
			value: [5],
			stack: [
				{ names: ['sys_read'], mapping: '[kernel.kallsyms]' },
				{ names: ['main'], mapping: '' },
				{ names: ['sh'], mapping: '' },
			],
		},
		{
			value: [7],
			stack: [
				{ names: ['g'], mapping: '[inlined]' },
				{ names: ['f'], mapping: '[jit]' },
				{ names: ['main'], mapping: '' },
				{ names: ['sh'], mapping: '' },
			],
		},
		{
			value: [1],
			stack: [
				{ names: ['main'], mapping: '' },
				{ names: ['sh'], mapping: '' },
			],
		},
	]);
	assert.equal(locations.size, 5);
	assert.equal(pprof.function.length, 5);
});

test('values are what the tool measured', async () => {
	const types: Array<[Origin, string, string]> = [
		[{ tool: 'offcputime', unit: 'ns' }, 'off-CPU', 'nanoseconds'],
		[{ tool: 'profile', unit: 'samples', event: 'cycles' }, 'samples', 'count'],
		[{ tool: 'memleak', unit: 'bytes' }, 'space', 'bytes'],
		[{}, 'value', 'count'],
		[{ unit: 'ns' }, 'time', 'nanoseconds'],
	];
	for (const [origin, type, unit] of types) {
		const { sampleTypes, defaultType } = await decoded(
			await withStackTool(await withOrigin('a 1\n', origin)),
		);
		assert.deepEqual(sampleTypes, [[type, unit]]);
		assert.equal(defaultType, type);
	}
});

test('more stacks than are written at once: each is there once', async () => {
	const lines = Array.from({ length: 10_000 }, (_, i) => `sh;f${i} ${i + 1}\n`);
	const { samples } = await decoded(await profileOfText(lines.join('')));
	const found = samples.map(({ value, stack }) => `${stack[0]?.names[0]} ${value[0]}`);
	const expected = lines.map((line) => line.trim().replace('sh;', ''));
	assert.deepEqual(found.toSorted(), expected.toSorted());
});

test('when, how long, how often, and where', async () => {
	const { pprof, comments } = await decoded(
		await withOrigin('a 1\n', {
			tool: 'profile',
			unit: 'samples',
			start: '2026-01-31T12:00:00.123Z',
			duration_s: 2.5,
			frequency_hz: 99,
			host: 'build7',
			kernel: '6.1.0',
			command: ['tstrace', 'profile', '2.5'],
		}),
	);
	assert.equal(pprof.timeNanos, BigInt(Date.parse('2026-01-31T12:00:00.123Z')) * 1_000_000n);
	assert.equal(Number(pprof.durationNanos), 2.5e9);
	assert.equal(pprof.period, 10_101_010);
	assert.deepEqual(comments, [
		'tool: profile',
		'host: build7',
		'kernel: 6.1.0',
		'command: tstrace profile 2.5',
	]);
});

test('counts with decimals are multiplied, and their unit says by what', async () => {
	const text = 'a 0.125\nb 2\nc 1e-9\n';
	const { sampleTypes, samples } = await decoded(await profileOfText('a 0.125\nb 2\n'));
	assert.deepEqual(sampleTypes, [['value', 'count/1000']]);
	assert.deepEqual(
		samples.map(({ value }) => value),
		[[125], [2000]],
	);
	const profile = await profileOfText(text);
	const [again] = await profilesOf(await unpacked(renderPprof(profile)));
	assert.equal(foldedOf(again), foldedOf(profile));
});

test('decimals that no whole number has are rounded, and the file says so', async () => {
	const { comments, samples } = await decoded(await profileOfText(`a ${1 / 3}\n`));
	assert.deepEqual(samples[0]?.value, [333_333_333]);
	assert.deepEqual(comments, ['counts are rounded to 1/1000000000']);
});

test('nanoseconds are whole; what is there stays there', async () => {
	const { sampleTypes, samples } = await decoded(
		await withOrigin('a 0.25\nb 7.6\n', { unit: 'ns' }),
	);
	assert.deepEqual(sampleTypes, [['time', 'nanoseconds']]);
	assert.deepEqual(
		samples.map(({ value }) => value),
		[[1], [8]],
	);
});

test('stacks of which nothing was counted are left out', async () => {
	assert.equal((await decoded(await profileOfText('a 0\nb 1\n'))).samples.length, 1);
});

test('a count that pprof cannot hold is refused before anything is written', async () => {
	const profile = await profileOfText('a 1\n');
	profile.stacks.add([0], 1, 2 ** 63);
	assert.throws(() => renderPprof(profile), { name: 'TstraceError', message: /speedscope/ });
});

test('what it counts, where no tool of ours says it; how often, in the words of what it counts', async () => {
	const about = async (origin: Origin) => {
		const { pprof, sampleTypes } = await decoded(
			await withStackTool(await withOrigin('a 1\n', origin)),
		);
		const text = (at: number | bigint) => pprof.stringTable.strings[Number(at)];
		const { periodType: each, period } = pprof;
		return [sampleTypes[0], each && [text(each.type), text(each.unit)], Number(period)];
	};
	const cases: readonly (readonly [Origin, readonly string[], string | undefined, number])[] = [
		[{ event: 'faults' }, ['faults', 'count'], undefined, 0],
		[{ event: 'load', unit: 'us' }, ['load', 'us'], undefined, 0],
		[{ unit: 'us' }, ['value', 'us'], undefined, 0],
		[{ event: 'alloc', unit: 'bytes' }, ['alloc', 'bytes'], undefined, 0],
		[{ event: 'lock', unit: 'ns' }, ['lock', 'nanoseconds'], undefined, 0],
		[
			{ tool: 'offcputime', unit: 'ns', period_ns: 1_000_000.4 },
			['off-CPU', 'nanoseconds'],
			'off-CPU',
			1_000_000,
		],
		[{ unit: 'samples', frequency_hz: 100 }, ['samples', 'count'], 'cpu', 10_000_000],
		// What is said in nanoseconds is exact.
		[{ unit: 'samples', period_ns: 7, frequency_hz: 100 }, ['samples', 'count'], 'cpu', 7],
	];
	for (const [origin, type, periodType, period] of cases)
		assert.deepEqual(
			await about(origin),
			[type, periodType && [periodType, 'nanoseconds'], period],
			JSON.stringify(origin),
		);
});

test('all functions have names already: nobody is to look for those of [jit] or the kernel', async () => {
	const { pprof } = await decoded(await profileOfText('a 1\n'));
	assert.ok(pprof.mapping.every(({ hasFunctions }) => hasFunctions));
	assert.ok(pprof.function.every(({ name, systemName }) => name === systemName));
});

test('bytes are whole, too', async () => {
	const origin = { unit: 'bytes' };
	const { sampleTypes, samples } = await decoded(await withOrigin('a 0.25\nb 7.6\n', origin));
	assert.deepEqual(sampleTypes, [['space', 'bytes']]);
	assert.deepEqual(
		samples.flatMap(({ value }) => value),
		[1, 8],
	);
});
