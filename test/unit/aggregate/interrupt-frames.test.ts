/** Which part of a kernel stack is an interrupt's; the stacks are of Linux 6.18 and, for arm64, 6.1. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interruptFrames } from '../../../src/aggregate/interrupt-frames.js';
import type { Frame } from '../../../src/aggregate/stack.js';

const stack = (names: string): Frame[] =>
	names.split(' ').map((name) => ({ name, kind: 'kernel' }));
const IDLE = 'secondary_startup_64 cpu_startup_entry do_idle default_idle';
const SEND = 'entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_sendto';
const TIMER = 'asm_sysvec_apic_timer_interrupt hrtimer_interrupt hrtimer_wakeup try_to_wake_up';
const DISK = 'handle_softirqs blk_done_softirq try_to_wake_up';

for (const [what, context, frames, own] of [
	['a timer, on an idle CPU', 'hardirq', `${IDLE} ${TIMER}`, TIMER],
	['a timer, in a softirq', 'hardirq', `${IDLE} asm_common_interrupt ${DISK} ${TIMER}`, TIMER],
	['a disk, behind its interrupt', 'softirq', `${IDLE} asm_common_interrupt ${DISK}`, DISK],
	[
		'a disk, served by a sender',
		'softirq',
		`${SEND} __local_bh_enable_ip do_softirq ${DISK}`,
		DISK,
	],
	[
		'arm64',
		'hardirq',
		'kthread worker_thread el1h_64_irq gic_handle_irq',
		'el1h_64_irq gic_handle_irq',
	],
	['arm64, Linux 5.10', 'hardirq', 'kthread el1_irq gic_handle_irq', 'el1_irq gic_handle_irq'],
	[
		'with FRED',
		'hardirq',
		`${IDLE} asm_fred_entrypoint_kernel tick`,
		'asm_fred_entrypoint_kernel tick',
	],
	[
		'another timer in an interrupt of a disk',
		'hardirq',
		'asm_common_interrupt nvme_irq asm_sysvec_apic_timer_interrupt tick',
		'asm_sysvec_apic_timer_interrupt tick',
	],
	[
		'a softirq, Linux 6.6',
		'softirq',
		`${IDLE} __do_softirq net_rx_action`,
		'__do_softirq net_rx_action',
	],
	['arm64, a fast interrupt', 'hardirq', 'main el0t_64_fiq handle', 'el0t_64_fiq handle'],
	[
		'another interrupt of x86',
		'hardirq',
		'main asm_sysvec_call_function x',
		'asm_sysvec_call_function x',
	],
	['no entry is to be seen', 'softirq', 'kthread try_to_wake_up', 'kthread try_to_wake_up'],
] as const)
	test(`an interrupt's frames: ${what}`, () => {
		assert.deepEqual(interruptFrames(stack(frames), context), stack(own));
	});
