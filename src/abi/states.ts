/** States of threads, as letters (ps, /proc/PID/stat) or as the scheduler's own mask. */
import { InvalidArgumentError } from 'commander';

/** include/linux/sched.h, TASK_*; R has no bit there: bpf/lib/scheduling/off_cpu.h, OFFCPU_RUNNABLE. */
const BITS: Readonly<Record<string, number>> = {
	R: 0x8000_0000,
	S: 0x1,
	/** With TASK_RTLOCK_WAIT and TASK_FROZEN, which ps shows as D. */
	D: 0x9002,
	T: 0x4,
	t: 0x8,
	P: 0x40,
	I: 0x400,
};
const LETTERS = Object.keys(BITS).join('');
/** What they mean; for completion. */
export const STATE_LETTERS: Readonly<Record<string, string>> = {
	R: 'runnable',
	S: 'asleep',
	D: 'uninterruptible: disks',
	T: 'stopped',
	t: 'stopped by a debugger',
	P: 'parked',
	I: 'an idle kernel thread',
};
/** EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
const DEAD = 0xb0;
const HIGHEST_MASK = 0xffff;

export interface StateMask {
	/** 0: all states. */
	readonly mask: number;
	/** Letters exclude each other; bits do not: an idle kernel thread is I, but 0x402. */
	readonly letters: boolean;
}

/** "D", "SD", "2", "0x402"; 0 is running, which here is: could go on, but had no CPU. */
export function parseStates(text: string): StateMask {
	if (/^(0x[0-9a-f]+|\d+)$/i.test(text)) {
		const mask = Number(text);
		if (mask > HIGHEST_MASK) {
			throw new InvalidArgumentError(`give a mask of 0 to 0x${HIGHEST_MASK.toString(16)}`);
		}
		return { mask: mask === 0 ? (BITS.R as number) : mask, letters: false };
	}
	let mask = 0;
	for (const letter of text.replaceAll(',', '')) {
		const bit = BITS[letter];
		if (bit === undefined) throw new InvalidArgumentError(explainState(letter));
		mask = (mask | bit) >>> 0;
	}
	if (mask === 0) throw new InvalidArgumentError(explainState(''));
	return { mask, letters: true };
}

/** The letter of a mask that a thread stopped in; X: it has ended. */
export function stateLetter(mask: number): string {
	if (mask & DEAD) return 'X';
	if (mask & (BITS.I as number)) return 'I';
	return [...LETTERS].find((letter) => mask & (BITS[letter] as number)) ?? '?';
}

function explainState(letter: string): string {
	const other = [letter.toUpperCase(), letter.toLowerCase()].find((each) => BITS[each]);
	const nearest = other && other !== letter ? `${letter} is no state: ${other}? ` : '';
	return `${nearest}give letters of ${LETTERS}, such as D, or a mask, such as 0x2`;
}
