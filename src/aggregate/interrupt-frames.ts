/** The part of a kernel stack that is an interrupt's. Pure values: no I/O, no kernel. */
import type { Frame } from './stack.js';

/** Where a hard interrupt begins, on what it interrupts: x86-64 (with FRED, too) and arm64. */
const HARDIRQ_ENTRY =
	/^(asm_(common_interrupt|sysvec_\w+|fred_entrypoint_\w+)|el[01][ht]?(_64)?_(irq|fiq))$/;
/** Where a softirq is served: behind a hard interrupt, or as somebody lets it be. */
const SOFTIRQ_ENTRY = /^(handle_softirqs|__do_softirq)$/;

/**
 * From where the innermost interrupt begins, root first: what it interrupted is left out. All, where that is not to be
 * seen.
 */
export function interruptFrames(
	frames: readonly Frame[],
	context: 'hardirq' | 'softirq',
): readonly Frame[] {
	const entry = context === 'softirq' ? SOFTIRQ_ENTRY : HARDIRQ_ENTRY;
	return frames.slice(
		Math.max(
			0,
			frames.findLastIndex(({ name }) => entry.test(name)),
		),
	);
}
