import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	Function as Fn,
	Line,
	Location,
	Mapping,
	Profile,
	Sample,
	StringTable,
	ValueType,
} from 'pprof-format';
import { READING } from '../profiles.js';
import { foldedOf, profilesOf } from './formats.js';

/** As another profiler would write it: inlined lines, files, several types, ids of all sizes. */
function example({ values = [3, 30_000] as Array<number | bigint> } = {}) {
	const stringTable = new StringTable();
	const text = (value: string) => stringTable.dedup(value);
	const names = ['main', 'outer', 'inner', 'sys_read', 'mod_fn', 'jitted'];
	const big = 2n ** 64n - 1n;
	const at = (id: number | bigint, mappingId: number, ...functions: number[]) =>
		new Location({
			id,
			mappingId,
			address: 0xffff_ffff_8100_0000n,
			line: functions.map((functionId) => new Line({ functionId })),
		});
	return new Profile({
		stringTable,
		sampleType: [
			new ValueType({ type: text('samples'), unit: text('count') }),
			new ValueType({ type: text('cpu'), unit: text('microseconds') }),
		],
		mapping: ['/usr/bin/app', '[kernel.kallsyms]', '/lib/modules/6.1/x.ko', '/tmp/perf-7.map'].map(
			(file, i) => new Mapping({ id: i + 1, filename: text(file) }),
		),
		function: names.map((name, i) => new Fn({ id: i + 1, name: text(name) })),
		location: [
			at(1, 1, 1),
			at(big, 1, 3, 2),
			at(big - 1n, 2, 4),
			at(4, 3, 5),
			at(5, 4, 6),
			at(6, 1),
			at(7, 0),
		],
		sample: [
			new Sample({ locationId: [big - 1n, big, 1], value: values }),
			new Sample({ locationId: [4, 5, 1], value: [1, 10] }),
			new Sample({ locationId: [6, 7, 1], value: [0, 20] }),
			new Sample({ locationId: [], value: [1, 1] }),
		],
	});
}

test('a profile for each type; the last is the one to show', async () => {
	const notices: string[] = [];
	const profiles = await profilesOf(example().encode(), { notices });
	assert.deepEqual(
		profiles.map(({ origin, preferred }) => ({ ...origin, preferred })),
		[
			{ event: 'samples', unit: 'samples', preferred: false },
			{ event: 'cpu', unit: 'ns', preferred: true },
		],
	);
	assert.equal(
		foldedOf(profiles[0]),
		'main;outer;inner_[i];sys_read_[k] 3\nmain;jitted_[j];mod_fn_[k] 1\n',
	);
	assert.equal(
		foldedOf(profiles[1]),
		'main;outer;inner_[i];sys_read_[k] 30000000\nmain;jitted_[j];mod_fn_[k] 10000\n' +
			'main;[unknown];[app] 20000\n',
	);
	assert.deepEqual(notices, ['left out 1 sample without a stack']);
});

test('one event of several', async () => {
	const options = { ...READING, addresses: true, event: 'cpu' };
	const profiles = await profilesOf(example().encode(), { options });
	assert.equal(profiles.length, 1);
	assert.match(foldedOf(profiles[0]), /main;\[unknown <0xffffffff81000000>];\[app <0x/);
	await assert.rejects(
		profilesOf(example().encode(), { options: { ...READING, event: 'cycles' } }),
		{ name: 'TstraceError', message: 'there is no event cycles; choose one of samples, cpu' },
	);
});

test('differences of profiles are refused, with what to do', async () => {
	for (const negative of [-1, -(2n ** 40n), -(2n ** 63n)]) {
		await assert.rejects(profilesOf(example({ values: [negative, 1] }).encode()), {
			name: 'TstraceError',
			message: /negative counts.*tstrace diff/,
		});
	}
});

test('numbers of another length than there are types', async () => {
	for (const values of [[1], [1, 2, 3]]) {
		await assert.rejects(profilesOf(example({ values }).encode()), {
			name: 'TstraceError',
			message: /pprof file that is damaged/,
		});
	}
});

test('fields come in any order', async () => {
	const { sample, mapping, location, function: functions, stringTable, sampleType } = example();
	const parts = [
		new Profile({ sample, location, stringTable }),
		new Profile({ function: functions, mapping, stringTable: emptyStrings() }),
		new Profile({ sampleType, stringTable: emptyStrings() }),
	].map((part) => part.encode());
	const [first] = await profilesOf(example().encode());
	const [again] = await profilesOf(Buffer.concat(parts));
	assert.equal(foldedOf(again), foldedOf(first));
});

/** One more '' at the end of the strings, which nothing refers to. */
const emptyStrings = () => new StringTable();
