/** What pprof profiles of other programs say of themselves, and forms that only some writers use. */
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
import { isPprof } from '../../../src/input/pprof.js';
import { Fields } from '../../../src/input/protobuf.js';
import { foldedOf, profilesOf } from './formats.js';

/** A profile with these types, and one sample, in main, of which each value is its type's number. */
function typed(
	types: readonly (readonly [type: string, unit: string])[],
	more: (text: (value: string) => number) => object = () => ({}),
): Uint8Array {
	const stringTable = new StringTable();
	const text = (value: string) => stringTable.dedup(value);
	return new Profile({
		stringTable,
		sampleType: types.map(([type, unit]) => new ValueType({ type: text(type), unit: text(unit) })),
		function: [new Fn({ id: 1, name: text('main') })],
		location: [new Location({ id: 1, line: [new Line({ functionId: 1 })] })],
		sample: [new Sample({ locationId: [1], value: types.map((_, i) => i + 1) })],
		...more(text),
	}).encode();
}

const HEAP = [
	['alloc_objects', 'count'],
	['alloc_space', 'bytes'],
	['energy', 'joules'],
	['sample', 'count'],
] as const;

test('units: bytes are bytes, counts are samples only of samples, and a unit nobody knows is kept', async () => {
	const profiles = await profilesOf(typed(HEAP));
	assert.deepEqual(
		profiles.map(({ origin }) => [origin.event, origin.unit]),
		[
			['alloc_objects', undefined],
			['alloc_space', 'bytes'],
			['energy', 'joules'],
			['sample', 'samples'],
		],
	);
	assert.deepEqual(profiles.map(foldedOf), ['main 1\n', 'main 2\n', 'main 3\n', 'main 4\n']);
});

test('the type to show is the one that the file names, else the last', async () => {
	const shown = async (bytes: Uint8Array) =>
		(await profilesOf(bytes)).map(({ preferred }) => preferred);
	assert.deepEqual(await shown(typed(HEAP)), [false, false, false, true]);
	const named = typed(HEAP, (text) => ({ defaultSampleType: text('alloc_space') }));
	assert.deepEqual(await shown(named), [false, true, false, false]);
});

test('a period is a time only in nanoseconds; of a heap it is bytes', async () => {
	const periodOf = async (type: string, unit: string, period: number) => {
		const more = (text: (value: string) => number) => ({
			period,
			periodType: new ValueType({ type: text(type), unit: text(unit) }),
		});
		return (await profilesOf(typed([['samples', 'count']], more)))[0]?.origin.period_ns;
	};
	assert.equal(await periodOf('cpu', 'nanoseconds', 10_000_000), 10_000_000);
	assert.equal(await periodOf('space', 'bytes', 524_288), undefined);
	assert.equal(await periodOf('cpu', 'nanoseconds', 0), undefined);
});

test('when it began and how long it took; comments of others say nothing', async () => {
	const more = (text: (value: string) => number) => ({
		timeNanos: 1_769_860_800_500_000_000n,
		durationNanos: 5_250_000_000n,
		comment: [text('a note on host: x'), text('host: web1'), text('kernel: 6.1')],
	});
	const [profile] = await profilesOf(typed([['samples', 'count']], more));
	assert.deepEqual(profile?.origin, {
		event: 'samples',
		unit: 'samples',
		start: '2026-01-31T12:00:00.500Z',
		duration_s: 5.25,
		host: 'web1',
		kernel: '6.1',
	});
});

test('a function has its name, and only without one that of the linker; a file has its last part', async () => {
	const long = 'n'.repeat(300);
	const at = (id: number, mappingId: number, ...functions: number[]) =>
		new Location({ id, mappingId, line: functions.map((each) => new Line({ functionId: each })) });
	const bytes = typed([['samples', 'count']], (text) => ({
		mapping: ['/opt/x/app', '[vdso]', `/lib/${long}`].map(
			(file, i) => new Mapping({ id: i + 1, filename: text(file) }),
		),
		function: [
			new Fn({ id: 1, name: text('a::b'), systemName: text('_ZN1a1bEv') }),
			new Fn({ id: 2, systemName: text('_start') }),
		],
		location: [at(1, 1, 2), at(2, 1, 1), at(3, 1), at(4, 2), at(5, 3)],
		sample: [new Sample({ locationId: [5, 4, 3, 2, 1], value: [7] })],
	}));
	const [profile] = await profilesOf(bytes);
	assert.equal(foldedOf(profile), `_start;a::b;[app];[vdso];[${'n'.repeat(200)}] 7\n`);
});

test('samples without a stack are counted', async () => {
	const notices: string[] = [];
	const none = new Sample({ locationId: [], value: [1] });
	await profilesOf(
		typed([['samples', 'count']], () => ({ sample: [none, none, none] })),
		{ notices },
	);
	assert.deepEqual(notices, ['left out 3 samples without a stack']);
});

/** A field with a length. */
const field = (number: number, ...bytes: number[]): number[] => [
	(number << 3) | 2,
	bytes.length,
	...bytes,
];
const varint = (number: number, value: number): number[] => [number << 3, value];

test('numbers of a sample may be packed, or one field each', async () => {
	const bytes = [
		...field(1, ...varint(1, 1), ...varint(2, 2)),
		...field(2, ...varint(1, 2), ...varint(1, 1), ...varint(2, 9)),
		...[1, 2].flatMap((id) => field(4, ...varint(1, id), ...field(4, ...varint(1, id)))),
		...[1, 2].flatMap((id) => field(5, ...varint(1, id), ...varint(2, id + 2))),
		...['', 'samples', 'count', 'main', 'f'].flatMap((text) => field(6, ...Buffer.from(text))),
	];
	// The third string is the unit, the fourth and fifth are functions.
	const profiles = await profilesOf(Uint8Array.from(bytes));
	assert.deepEqual(profiles.map(foldedOf), ['main;f 9\n']);
	// Without a name and a unit of its type.
	const [unnamed] = await profilesOf(Uint8Array.from([0x0a, 0, ...bytes.slice(6)]));
	assert.deepEqual(unnamed?.origin, {});
});

test('any field of a profile may come first', () => {
	for (const number of [1, 2, 3, 4, 5, 6, 11, 13])
		assert.ok(isPprof(Buffer.from(field(number, 8, 1, 16, 2))), `${number}`);
	for (const number of [7, 8, 9, 10, 12, 13, 14, 15])
		assert.ok(isPprof(Buffer.from([...varint(number, 1), 0])), `${number}`);
	for (const number of [7, 12, 14, 16])
		assert.ok(!isPprof(Buffer.from(field(number, 8, 1, 16, 2))), `${number}`);
	for (const text of ['a;b 3\n', 'b c\t1\r\n']) assert.ok(!isPprof(Buffer.from(text)), text);
});

test('numbers of 4 and of 8 bytes are passed over, and what follows is read', () => {
	const bytes = [...[(1 << 3) | 1, 1, 2, 3, 4, 5, 6, 7, 8], ...[(2 << 3) | 5, 1, 2, 3, 4], 24, 5];
	const all = new Fields(Uint8Array.from(bytes));
	const seen: unknown[] = [];
	while (all.next()) seen.push([all.field, all.wireType, all.to - all.from]);
	assert.deepEqual(seen.slice(0, 2), [
		[1, 1, 8],
		[2, 5, 4],
	]);
	assert.deepEqual([all.field, all.value], [3, 5]);
	for (const end of [8, 12, 15])
		assert.throws(
			() => {
				const cut = new Fields(Uint8Array.from(bytes.slice(0, end)));
				while (cut.next());
			},
			{ name: 'TstraceError' },
			`${end}`,
		);
});
