/** What a CPU was executing when a thread was woken or moved: user space's side of scheduling/interrupts.h. */
import { readFileSync } from 'node:fs';
import type { Key } from '../../aggregate/row-key.js';
import { cpu_context_kind, interrupt as interrupts } from '../../generated/common.js';
import type { Btf } from '../../loader/btf.js';
import { kernelBtf, kernelHasTracepoint } from '../../loader/kernel.js';
import { printable, shortened } from '../../render/terminal.js';

/** By the tracepoint that each is attached to. */
const PROGRAMS = {
	softirq_raise: 'softirq_raise',
	softirq_entry: 'softirq_entry',
	softirq_exit: 'softirq_exit',
	irq_handler_entry: 'irq_entry',
	irq_handler_exit: 'irq_exit',
	hrtimer_expire_entry: 'hrtimer_entry',
	hrtimer_expire_exit: 'hrtimer_exit',
} as const;

type Program = (typeof PROGRAMS)[keyof typeof PROGRAMS];

interface InterruptsWay {
	readonly programs: readonly Program[];
	readonly preempt_count_from_rq: number;
	readonly in_hardirq: number;
	readonly because: string;
}

/** How interrupts are told from threads on the running kernel. */
export function chooseInterrupts(): InterruptsWay {
	const programs = Object.entries(PROGRAMS).flatMap(([tracepoint, program]) =>
		kernelHasTracepoint(tracepoint) ? [program] : [],
	);
	const distance = process.arch === 'x64' ? distanceHere() : 0;
	return {
		programs,
		preempt_count_from_rq: distance ?? 0,
		in_hardirq: hardirqBits(kernelBtf()),
		because: `knows interrupts by ${distance === undefined ? 'their tracepoints only' : 'preempt_count'}`,
	};
}

/** Bits of preempt_count in a hard interrupt, or in an NMI. */
export function hardirqBits(btf: Btf): number {
	// In 7.x they moved, for a count of who keeps interrupts off ("preempt: Introduce HARDIRQ_DISABLE_BITS").
	const moved = btf
		.section('.data..percpu')
		?.fields.some(({ name }) => name === 'local_interrupt_disable_state');
	return moved ? 0x1f000000 : 0x00ff0000;
}

/** Of the running kernel: kallsyms, of 10 MB, only where BTF has no variables (Debian's 5.10). */
function distanceHere(): number | undefined {
	const btf = kernelBtf();
	// Without it the run queue of a thread is not to be had.
	if (!btf.hasField('sched_entity', 'cfs_rq')) return undefined;
	return (
		preemptCountFromRq(btf) ?? preemptCountFromSymbols(readFileSync('/proc/kallsyms', 'latin1'))
	);
}

/** The same as preemptCountFromRq, by the variables' addresses, which CONFIG_KALLSYMS_ALL lists. */
export function preemptCountFromSymbols(kallsyms: string): number | undefined {
	const at = (name: string) => {
		const end = kallsyms.search(new RegExp(` \\w ${name}$`, 'm'));
		return end < 0 ? 0n : BigInt(`0x${kallsyms.slice(kallsyms.lastIndexOf('\n', end) + 1, end)}`);
	};
	const [rq, count] = [at('runqueues'), at('__preempt_count')];
	// All are 0 for a user who may not see addresses.
	return rq === 0n || count === 0n ? undefined : Number(count - rq);
}

/**
 * x86-64: how far behind a CPU's run queue its preempt_count is; undefined: BTF does not say. It is a
 * variable of its own but for 6.2 to 6.14, where it was part of another (64701838bf05, 46e8fff6d45f).
 */
export function preemptCountFromRq(btf: Btf): number | undefined {
	const variables = btf.section('.data..percpu')?.fields ?? [];
	const at = (name: string) => variables.find((field) => field.name === name)?.offset_bytes;
	const rq = at('runqueues');
	let count = at('__preempt_count');
	const hot = at('pcpu_hot');
	if (count === undefined && hot !== undefined) {
		const within = btf.fieldOffset('pcpu_hot', 'preempt_count');
		if (within !== undefined) count = hot + within;
	}
	return rq === undefined || count === undefined ? undefined : count - rq;
}

const {
	CONTEXT_SOFTIRQ: SOFTIRQ,
	CONTEXT_HARDIRQ: HARDIRQ,
	CONTEXT_SCHEDULER: SCHEDULER,
} = cpu_context_kind;

/** "thread", "softirq", "hardirq", …, by number. */
const KINDS = namesOf(cpu_context_kind, 'CONTEXT_');
/** What an interrupt serves: "timer", "network", … */
const INTERRUPTS = namesOf(interrupts, 'INTERRUPT_');

function namesOf(values: Readonly<Record<string, number>>, prefix: string): string[] {
	const names: string[] = [];
	for (const [name, value] of Object.entries(values))
		names[value] = name.slice(prefix.length).toLowerCase();
	return names;
}

const MAX_DEVICE_NAME = 48;

/** Names of devices' interrupts, each asked for once. */
export class InterruptNames {
	readonly #devices = new Map<number, string>();

	/** For text: "<softirq: network>", "<irq: virtio0-input.0>". */
	text(kind: number, interrupt: number, irq: number): string {
		const { INTERRUPT_OTHER: OTHER, INTERRUPT_DEVICE: DEVICE } = interrupts;
		if (kind === SCHEDULER) return '<scheduler>';
		const name = kind === SOFTIRQ ? 'softirq' : 'irq';
		if (interrupt === OTHER) return `<${name}>`;
		const serves = interrupt === DEVICE ? this.#device(irq) : INTERRUPTS[interrupt];
		return `<${name}: ${serves}>`;
	}

	/** For JSON: fields that begin with "waker_", with "mover_", or with nothing. */
	fields(prefix: 'waker_' | 'mover_' | '', kind: number, interrupt: number, irq: number): Key {
		const { INTERRUPT_OTHER: OTHER, INTERRUPT_DEVICE: DEVICE } = interrupts;
		return {
			[`${prefix}context`]: KINDS[kind] ?? '',
			...((kind === SOFTIRQ || kind === HARDIRQ) && interrupt !== OTHER
				? { [`${prefix}irq`]: INTERRUPTS[interrupt] ?? '' }
				: {}),
			...(interrupt === DEVICE
				? { [`${prefix}irq_number`]: irq, [`${prefix}device`]: this.#device(irq) }
				: {}),
		};
	}

	#device(irq: number): string {
		let name = this.#devices.get(irq);
		if (name === undefined) {
			name = shortened(printable(actions(irq) || `${irq}`), MAX_DEVICE_NAME);
			this.#devices.set(irq, name);
		}
		return name;
	}
}

/** What is called when it comes: "virtio0-input.0"; of several devices that share it, "a,b". */
function actions(irq: number): string {
	try {
		return readFileSync(`/sys/kernel/irq/${irq}/actions`, 'utf8').trim();
	} catch {
		// Its device is gone.
		return '';
	}
}
