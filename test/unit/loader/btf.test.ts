import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Btf } from '../../../src/loader/btf.js';
import { BtfError } from '../../../src/loader/btf-types.js';
import {
	ARRAY,
	BtfBuilder,
	DATASEC,
	ENUM,
	ENUM64,
	FLAG,
	FUNC_PROTO,
	INT,
	PTR,
	STRUCT,
	TRANSPARENT,
	TYPEDEF,
	UNION,
	VAR,
} from './btf-builder.js';

function example(): Uint8Array {
	const b = new BtfBuilder();
	const u32 = b.type('unsigned int', INT, 4, [32]);
	const alias = b.type('u32', TYPEDEF, u32);
	const pointer = b.type('', PTR, u32);
	const array = b.type('', ARRAY, 0, [alias, u32, 10]);
	const union = b.type('', UNION, 4, [b.string('inner'), u32, 0], 1);
	b.type(
		'task',
		STRUCT,
		64,
		[
			b.string('pid'),
			alias,
			0,
			b.string('parent'),
			pointer,
			64,
			b.string('ids'),
			array,
			128,
			0,
			union,
			448,
		],
		4,
	);
	b.type('loss', ENUM, 4, [b.string('LOSS_A'), 0, b.string('LOSS_B'), 7], 2);
	const variable = b.type('window', VAR, u32, [1]);
	b.type('.bss', DATASEC, 8, [variable, 4, 4], 1);
	return b.build();
}

test('structs, with the offsets and sizes of their fields', () => {
	assert.deepEqual(new Btf(example()).struct('task'), {
		name: 'task',
		size_bytes: 64,
		fields: [
			{ name: 'pid', offset_bytes: 0, size_bytes: 4 },
			{ name: 'parent', offset_bytes: 8, size_bytes: 8 },
			{ name: 'ids', offset_bytes: 16, size_bytes: 40 },
			{ name: 'inner', offset_bytes: 56, size_bytes: 4 },
		],
	});
});

test('fields, enums, sections', () => {
	const btf = new Btf(example());
	assert.equal(btf.hasField('task', 'pid'), true);
	assert.equal(btf.hasField('task', 'inner'), true, 'inside an unnamed union');
	assert.equal(btf.hasField('task', 'nice'), false);
	assert.equal(btf.hasField('nothing', 'pid'), false);
	assert.deepEqual(btf.enumValues('loss'), { LOSS_A: 0, LOSS_B: 7 });
	assert.equal(btf.section('.bss')?.size_bytes, 8);
	assert.deepEqual(btf.section('.bss')?.fields, [
		{ name: 'window', offset_bytes: 4, size_bytes: 4 },
	]);
});

test('a field is as large as its type, behind whatever qualifies that', () => {
	for (const [name, kind] of Object.entries(TRANSPARENT)) {
		const b = new BtfBuilder();
		// Of no size that is the number of a type as well.
		const wide = b.type('__int128', INT, 16, [128]);
		const qualified = b.type(name, kind, b.type('', TRANSPARENT.const, wide));
		b.type('task', STRUCT, 32, [b.string('mask'), qualified, 128], 1);
		assert.deepEqual(
			new Btf(b.build()).struct('task')?.fields,
			[{ name: 'mask', offset_bytes: 16, size_bytes: 16 }],
			name,
		);
	}
});

test('bit-fields, with the bytes they are in; members of unnamed parts, counted from the struct', () => {
	const b = new BtfBuilder();
	const u64 = b.type('unsigned long long', INT, 8, [64]);
	const bits = (width: number, at: number) => (width << 24) | at;
	const unnamed = b.type(
		'',
		STRUCT | FLAG,
		8,
		[b.string('one'), u64, bits(1, 0), b.string('two'), u64, bits(2, 9)],
		2,
	);
	b.type('attr', STRUCT, 16, [b.string('config'), u64, 0, 0, unnamed, 64], 2);
	assert.deepEqual(new Btf(b.build()).struct('attr')?.fields, [
		{ name: 'config', offset_bytes: 0, size_bytes: 8 },
		{ name: 'one', offset_bytes: 8, size_bytes: 8, bit: 0 },
		{ name: 'two', offset_bytes: 8, size_bytes: 8, bit: 9 },
	]);
});

test('enums of any width: large values, and below 0', () => {
	const b = new BtfBuilder();
	b.type('ioctl', ENUM, 4, [b.string('ID'), 0x8008_2407], 1);
	b.type('signed', ENUM | FLAG, 4, [b.string('LESS'), -1, b.string('MORE'), 1], 2);
	const low = 2 ** 32 - 128;
	b.type('context', ENUM64, 8, [b.string('KERNEL'), low, -1, b.string('WIDE'), 1, 2], 2);
	const btf = new Btf(b.build());
	assert.deepEqual(btf.enumValues('ioctl'), { ID: 0x8008_2407 });
	assert.deepEqual(btf.enumValues('signed'), { LESS: -1, MORE: 1 });
	assert.deepEqual(btf.enumValues('context'), { KERNEL: -128, WIDE: 2 ** 33 + 1 });
});

test('a type is told from others of its name by its kind', () => {
	const b = new BtfBuilder();
	const int = b.type('int', INT, 4, [32]);
	const prototype = b.type('', FUNC_PROTO, 0, [0, int, 0, int, 0, int], 3);
	b.type('thing', TYPEDEF, b.type('', PTR, prototype));
	b.type('thing', STRUCT, 8, [b.string('thing'), int, 32], 1);
	b.type('pointer', TYPEDEF, b.type('', PTR, int));
	assert.equal(prototype, 2);
	b.type('no_pointer', TYPEDEF, b.type('short', INT, prototype, [16]));
	const btf = new Btf(b.build());
	assert.equal(btf.parameterCount('thing'), 3);
	assert.deepEqual(btf.struct('thing')?.fields, [
		{ name: 'thing', offset_bytes: 4, size_bytes: 4 },
	]);
	assert.equal(btf.fieldOffset('thing', 'thing'), 4);
	assert.equal(btf.fieldType('thing', 'thing'), 'int');
	assert.equal(btf.enumValues('thing'), undefined);
	assert.deepEqual([btf.hasTypedef('thing'), btf.hasTypedef('int')], [true, false]);
	// Of no pointer: what stands in the place of the type that it would point to is a size.
	assert.equal(btf.parameterCount('no_pointer'), undefined);
	assert.deepEqual(
		[btf.parameterCount('pointer'), btf.parameterCount('none')],
		[undefined, undefined],
	);
});

/** Reads all there is; malformed input may end in a BtfError and nothing else. */
function readAll(raw: Uint8Array): void {
	try {
		const btf = new Btf(raw);
		btf.struct('task');
		btf.hasField('task', 'inner');
		btf.enumValues('loss');
		btf.section('.bss');
	} catch (error) {
		if (!(error instanceof BtfError)) throw error;
	}
}

test('cut short anywhere: an error, or a right answer', () => {
	const raw = example();
	for (let length = 0; length < raw.length; length++) readAll(raw.slice(0, length));
});

test('any bytes changed: an error or an answer, never a crash or a hang', () => {
	const raw = example();
	const change = fc.tuple(fc.nat({ max: raw.length - 1 }), fc.integer({ min: 0, max: 255 }));
	fc.assert(
		fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
			const changed = Uint8Array.from(raw);
			for (const [at, byte] of changes) changed[at] = byte;
			readAll(changed);
		}),
		{ numRuns: 3000 },
	);
	fc.assert(fc.property(fc.uint8Array({ maxLength: 500 }), readAll));
});

test('a type that is its own part ends in an error', () => {
	const b = new BtfBuilder();
	b.type('loop', TYPEDEF, 1);
	b.type('task', STRUCT, 4, [b.string('pid'), 1, 0], 1);
	assert.throws(() => new Btf(b.build()).struct('task'), BtfError);
	const c = new BtfBuilder();
	c.type('task', STRUCT, 4, [0, 1, 0], 1);
	assert.equal(new Btf(c.build()).hasField('task', 'pid'), false);
});
