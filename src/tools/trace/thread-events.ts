/** What happens to threads between calls: they end, they get signals. As strace writes it. */
import { humanTime } from '../../render/units.js';
import { type CallRecord, LAST_THREAD } from './record.js';
import { signalName } from './signals.js';

const SIGCHLD = 17;
/** include/uapi/asm-generic/siginfo.h: why a signal was sent; of SIGCHLD what became of the child. */
const CODES: Readonly<Record<number, string>> = {
	0: 'SI_USER',
	128: 'SI_KERNEL',
	[-1]: 'SI_QUEUE',
	[-2]: 'SI_TIMER',
	[-3]: 'SI_MESGQ',
	[-4]: 'SI_ASYNCIO',
	[-6]: 'SI_TKILL',
};
const CHILD_CODES = [
	'',
	'CLD_EXITED',
	'CLD_KILLED',
	'CLD_DUMPED',
	'CLD_TRAPPED',
	'CLD_STOPPED',
	'CLD_CONTINUED',
];

/** How a thread ended, by the code that the kernel keeps: "exited with 3", "killed by SIGKILL". */
export function endText(code: number): string {
	const signal = code & 0x7f;
	if (signal === 0) return `exited with ${(code >>> 8) & 0xff}`;
	return `killed by ${signalName(signal)}${code & 0x80 ? ' (core dumped)' : ''}`;
}

/** "+++ exited with 0 after 1.2 s +++". Of a thread that others outlive, too. */
export function endLine(call: CallRecord, lifetime_ns: number): string {
	const whole = call.flags & LAST_THREAD ? '' : 'thread ';
	return `+++ ${whole}${endText(call.resultLow)} after ${humanTime(lifetime_ns)} +++`;
}

/** COMMAND was created long before it was let go: to hold it until tracing had begun. */
export class Lifetimes {
	#command: number | undefined;
	#released_ns = 0;

	/** `pid`: of COMMAND; when it was let go: CLOCK_MONOTONIC. */
	released(pid: number, at_ns: number): void {
		this.#command = pid;
		this.#released_ns = at_ns;
	}

	/** How long a thread has lived that ends; the last one of a process: how long the process has. */
	of_ns(call: CallRecord): number {
		const isProcess = call.tid === call.tgid || (call.flags & LAST_THREAD) !== 0;
		return isProcess && call.tgid === this.#command
			? Math.max(0, call.end_ns - this.#released_ns)
			: call.duration_ns;
	}
}

/** What a signal's record says; why and by whom is not always known. */
export function signalFields(call: CallRecord): { signal: string; code: string; sender: number } {
	const code = call.low(0) | 0;
	const isChild = call.resultLow === SIGCHLD && code > 0;
	const name = isChild ? CHILD_CODES[code] : CODES[code];
	// Others have something else in its place: an address, a timer.
	const sender = isChild || code === 0 || code === -6 || code === -1 ? call.low(1) : 0;
	// The kernel forgets who sent the signal by which it ends a process.
	const isForgotten = code === 0 && sender === 0;
	return { signal: signalName(call.resultLow), code: isForgotten ? '' : name || `${code}`, sender };
}

/** "--- SIGCHLD {si_code=CLD_EXITED, si_pid=812} ---", "--- SIGKILL ---". */
export function signalLine(call: CallRecord): string {
	const { signal, code, sender } = signalFields(call);
	if (code === '') return `--- ${signal} ---`;
	return `--- ${signal} {si_code=${code}${sender ? `, si_pid=${sender}` : ''}} ---`;
}
