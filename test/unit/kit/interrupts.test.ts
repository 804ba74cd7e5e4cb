/** Where preempt_count is, by the types of invented kernels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preemptCountFromRq } from '../../../src/kit/interrupts.js';
import { Btf } from '../../../src/loader/btf.js';
import { BtfBuilder, DATASEC, INT, STRUCT, UNION, VAR } from '../loader/btf-builder.js';

type Variables = Readonly<Partial<Record<'runqueues' | '__preempt_count' | 'pcpu_hot', number>>>;

function kernel(variables: Variables, groups = true): Btf {
	const b = new BtfBuilder();
	const int = b.type('int', INT, 4, [32]);
	const field = (name: string, type: number, byte: number) => [
		name ? b.string(name) : 0,
		type,
		byte * 8,
	];
	// As it was: in a struct in a union.
	const fields = [...field('current_task', int, 0), ...field('preempt_count', int, 8)];
	const inner = b.type('', STRUCT, 12, fields, 2);
	const hot = b.type(
		'pcpu_hot',
		STRUCT,
		64,
		field('', b.type('', UNION, 64, field('', inner, 0), 1), 0),
		1,
	);
	b.type('sched_entity', STRUCT, 8, field(groups ? 'cfs_rq' : 'load', int, 0), 1);
	const entries = Object.entries(variables).flatMap(([name, at]) => [
		b.type(name, VAR, name === 'pcpu_hot' ? hot : int, [1]),
		at,
		4,
	]);
	b.type('.data..percpu', DATASEC, 0x30000, entries, entries.length / 3);
	return new Btf(b.build());
}

test('preempt_count is a variable of its own, or part of another', () => {
	assert.equal(
		preemptCountFromRq(kernel({ runqueues: 0x2000, __preempt_count: 0x30 })),
		0x30 - 0x2000,
	);
	assert.equal(preemptCountFromRq(kernel({ runqueues: 0x2000, pcpu_hot: 0x4000 })), 0x2008);
});

test('what BTF does not tell is not guessed', () => {
	assert.equal(preemptCountFromRq(kernel({ runqueues: 0x2000 })), undefined);
	assert.equal(preemptCountFromRq(kernel({ __preempt_count: 0x30 })), undefined);
	const both = { runqueues: 0x2000, __preempt_count: 0x30 };
	assert.equal(preemptCountFromRq(kernel(both, false)), undefined);
	assert.equal(preemptCountFromRq(new Btf(new BtfBuilder().build())), undefined);
});
