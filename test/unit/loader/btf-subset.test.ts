import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Btf } from '../../../src/loader/btf.js';
import { BtfTypes } from '../../../src/loader/btf-types.js';
import {
	ARRAY,
	BtfBuilder,
	ENUM,
	ENUM64,
	FLAG,
	FWD,
	INT,
	PTR,
	STRUCT,
	TRANSPARENT,
	TYPEDEF,
	UNION,
	VAR,
} from './btf-builder.js';

/** A struct `task`, what it contains, and what it does not. */
function example(): Uint8Array {
	const b = new BtfBuilder();
	const other = b.type('other', STRUCT, 4096, []);
	const u32 = b.type('unsigned int', INT, 4, [32]);
	const alias = b.type('u32', TYPEDEF, b.type('', TRANSPARENT.volatile, u32));
	const far = b.type('far', STRUCT, 8, [b.string('far_field'), u32, 32], 1);
	const pointer = b.type('', PTR, far);
	const inner = b.type('inner', STRUCT, 12, [b.string('x'), u32, 32, b.string('y'), alias, 64], 2);
	const array = b.type('', ARRAY, 0, [inner, u32, 3]);
	const union = b.type('', UNION, 4, [b.string('flags'), u32, 0], 1);
	// At the end comes a bit-field of 3 bits.
	const members = [
		...[b.string('next'), pointer, 0, b.string('ids'), array, 64, 0, union, 352],
		...[b.string('bits'), u32, (3 << 24) | 389],
	];
	b.type('task', STRUCT | FLAG, 64, members, 4);
	b.type('state', ENUM, 4, [b.string('RUNS'), 1, b.string('SLEEPS'), 7], 2);
	b.type('task', VAR, other, [1]);
	b.type('never', STRUCT, 8, [b.string('never_field'), u32, 0], 1);
	return b.build();
}

function subset(names: readonly string[]): Uint8Array | undefined {
	const parts = new Btf(example()).subset(names);
	return parts && Buffer.concat(parts);
}

test('types that are asked for are as they were, with all that they contain', () => {
	const all = new Btf(example());
	const few = subset(['enum state', 'struct task']);
	assert.ok(few);
	const found = new Btf(few);
	const task = found.struct('task');
	assert.deepEqual(task, all.struct('task'));
	assert.deepEqual(
		task?.fields.map(({ name, size_bytes }) => [name, size_bytes]),
		[
			['next', 8],
			['ids', 36],
			['flags', 4],
			['bits', 4],
		],
	);
	assert.deepEqual(found.struct('inner'), all.struct('inner'));
	assert.deepEqual(found.enumValues('state'), { RUNS: 1, SLEEPS: 7 });
	assert.equal(found.hasTypedef('u32'), true);
});

test('what nothing contains is not there: to where pointers point, other types, variables', () => {
	const found = new BtfTypes(subset(['struct task']) as Uint8Array);
	const ids = found.named(['other', 'far', 'task', 'never', 'state']);
	assert.deepEqual(
		ids.map(({ length }) => length),
		[0, 0, 1, 0, 0],
	);
	// Besides void: task, the pointer, the array, inner, the union, unsigned int, u32, volatile.
	assert.equal(found.count, 1 + 8);
});

test('a pointer to a type that is there points to it', () => {
	const types = new BtfTypes(subset(['struct far', 'struct task']) as Uint8Array);
	const [[far = 0] = [], [task = 0] = []] = types.named(['far', 'task']);
	const next = types.u32(types.at(task) + 12 + 4);
	assert.equal(types.u32(types.at(next) + 8), far);
});

test('names end behind the last one that is needed', () => {
	const [, strings] = new Btf(example()).subset(['enum state']) ?? [];
	const text = Buffer.from(strings ?? []).toString();
	assert.ok(text.endsWith('\0SLEEPS\0state\0'), text);
});

test('a name that no type has, or only one of another kind: there is no subset', () => {
	assert.equal(subset(['struct task', 'struct nothing']), undefined);
	assert.equal(subset(['union task']), undefined);
	const declared = new BtfBuilder();
	declared.type('unix_sock', FWD, 0);
	assert.equal(new Btf(declared.build()).subset(['struct unix_sock']), undefined);
	const b = new BtfBuilder();
	b.type('thing', VAR, b.type('int', INT, 4, [32]), [1]);
	assert.equal(new Btf(b.build()).subset(['struct thing']), undefined);
});

test('an enum of 64 bits is what a program means by an enum of that name', () => {
	const b = new BtfBuilder();
	b.type('state', ENUM64, 8, [b.string('RUNS'), 1, 0], 1);
	assert.notEqual(new Btf(b.build()).subset(['enum state']), undefined);
});
