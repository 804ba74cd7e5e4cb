/** Where preempt_count is, by the types of invented kernels; and what interrupts are called. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	chooseInterrupts,
	hardirqBits,
	InterruptNames,
	preemptCountFromRq,
	preemptCountFromSymbols,
} from '../../../../src/bpf/scheduling/interrupts.js';
import { cpu_context_kind, interrupt } from '../../../../src/generated/common.js';
import { Btf } from '../../../../src/loader/btf.js';
import { BtfBuilder, DATASEC, INT, STRUCT, UNION, VAR } from '../../loader/btf-builder.js';

const NAMES = [
	'runqueues',
	'__preempt_count',
	'pcpu_hot',
	'local_interrupt_disable_state',
] as const;
type Variables = Readonly<Partial<Record<(typeof NAMES)[number], number>>>;

function kernel(variables: Variables): Btf {
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

test('on this machine, which way is said as it is', () => {
	const { preempt_count_from_rq, because } = chooseInterrupts();
	const isKnown = process.arch !== 'x64' || preempt_count_from_rq !== 0;
	const way = isKnown ? 'preempt_count' : 'their tracepoints only';
	assert.equal(because, `knows interrupts by ${way}`);
});

test('by their addresses, where kallsyms shows them', () => {
	const shown = '0000000000000000 A fixed\n000000000001a000 A __preempt_count\n';
	const both = `${shown}0000000000029000 d runqueues_x\n0000000000028000 A runqueues\n`;
	assert.equal(preemptCountFromSymbols(both), 0x1a000 - 0x28000);
	const upper = 'ffffffff82a00000 D __preempt_count\nffffffff82a00100 D runqueues\n';
	assert.equal(preemptCountFromSymbols(upper), -0x100);
	assert.equal(preemptCountFromSymbols(shown), undefined);
	assert.equal(preemptCountFromSymbols(both.replaceAll(/[1-9a]/g, '0')), undefined);
	assert.equal(preemptCountFromSymbols(''), undefined);
});

test('what BTF does not tell is not guessed', () => {
	assert.equal(preemptCountFromRq(kernel({ runqueues: 0x2000 })), undefined);
	assert.equal(preemptCountFromRq(kernel({ __preempt_count: 0x30 })), undefined);
	assert.equal(preemptCountFromRq(new Btf(new BtfBuilder().build())), undefined);
});

test('bits of interrupts lie behind those of who keeps them off, where these are', () => {
	assert.equal(hardirqBits(kernel({ runqueues: 0x2000 })), 0x00ff0000);
	assert.equal(hardirqBits(kernel({ local_interrupt_disable_state: 0x40 })), 0x1f000000);
	assert.equal(hardirqBits(new Btf(new BtfBuilder().build())), 0x00ff0000);
});

const { CONTEXT_SOFTIRQ: SOFTIRQ, CONTEXT_HARDIRQ: HARDIRQ } = cpu_context_kind;
const { INTERRUPT_OTHER: OTHER, INTERRUPT_NETWORK: NETWORK, INTERRUPT_DEVICE: DEVICE } = interrupt;
/** No machine has so many. */
const NO_IRQ = 987_654;

test('rows say what an interrupt serves only where that is known', () => {
	const names = new InterruptNames();
	assert.deepEqual(names.fields('waker_', SOFTIRQ, NETWORK, 0), {
		waker_context: 'softirq',
		waker_irq: 'network',
	});
	assert.deepEqual(names.fields('mover_', SOFTIRQ, OTHER, 0), { mover_context: 'softirq' });
	assert.deepEqual(names.fields('', HARDIRQ, OTHER, 0), { context: 'hardirq' });
	const scheduler = names.fields('mover_', cpu_context_kind.CONTEXT_SCHEDULER, OTHER, 0);
	assert.deepEqual(scheduler, { mover_context: 'scheduler' });
	// Its device is gone: there is a number, but no name.
	assert.deepEqual(names.fields('waker_', HARDIRQ, DEVICE, NO_IRQ), {
		waker_context: 'hardirq',
		waker_irq: 'device',
		waker_irq_number: NO_IRQ,
		waker_device: `${NO_IRQ}`,
	});
});

test('in text, too', () => {
	const names = new InterruptNames();
	assert.equal(names.text(SOFTIRQ, NETWORK, 0), '<softirq: network>');
	assert.equal(names.text(SOFTIRQ, OTHER, 0), '<softirq>');
	assert.equal(names.text(HARDIRQ, OTHER, 0), '<irq>');
	assert.equal(names.text(HARDIRQ, DEVICE, NO_IRQ), `<irq: ${NO_IRQ}>`);
	assert.equal(names.text(cpu_context_kind.CONTEXT_SCHEDULER, OTHER, 0), '<scheduler>');
});
