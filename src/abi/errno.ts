/** Errors of system calls, by name and number. */
import { constants } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { didYouMean } from '../nearest.js';

/** include/linux/errno.h: what the kernel tells itself; a program never sees them. */
const KERNEL_ONLY = {
	ERESTARTSYS: 512,
	ERESTARTNOINTR: 513,
	ERESTARTNOHAND: 514,
	ENOIOCTLCMD: 515,
	ERESTART_RESTARTBLOCK: 516,
	EPROBE_DEFER: 517,
	EOPENSTALE: 518,
	ENOPARAM: 519,
	ENOTSUPP: 524,
	EIOCBQUEUED: 529,
} as const;

/** The kernel's own name, where node has another one in front: include/uapi/asm-generic/errno.h. */
const KERNEL_NAMES = [[constants.errno.EOPNOTSUPP, 'EOPNOTSUPP']] as const;

/** MAX_ERRNO of include/linux/err.h. */
const MAX_ERRNO = 4095;

const NUMBERS: Readonly<Record<string, number>> = { ...constants.errno, ...KERNEL_ONLY };
/** Of two names for a number the first: EAGAIN, not EWOULDBLOCK. */
const NAMES = new Map<number, string>([
	...Object.entries(NUMBERS)
		.reverse()
		.map(([name, number]) => [number, name] as const),
	...KERNEL_NAMES,
]);

export const ERRNO_NAMES: readonly string[] = Object.keys(NUMBERS);

/** "ENOENT", "errno_190". */
export function errnoName(errno: number): string {
	return NAMES.get(errno) ?? `errno_${errno}`;
}

/** A name or a number. Throws InvalidArgumentError, which names the nearest valid one. */
export function parseErrno(text: string): number {
	if (/^\d+$/.test(text)) {
		const number = Number(text);
		if (number >= 1 && number <= MAX_ERRNO) return number;
		throw new InvalidArgumentError(
			`give a number from 1 to ${MAX_ERRNO}, or a name such as ENOENT`,
		);
	}
	const name = text.toUpperCase();
	const number = Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined;
	if (number !== undefined) return number;
	throw new InvalidArgumentError(
		`there is no error "${text}"${didYouMean(text, ERRNO_NAMES) || '; give a number, or a name such as ENOENT'}`,
	);
}
