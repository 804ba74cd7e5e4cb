/** Names of signals, and of sets of them. */

const SIGNALS = (
	'0 HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP ' +
	'TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'
).split(' ');

/** "SIGKILL", "SIGRT_3". */
export function signalName(signal: number): string {
	if (signal >= 32 && signal <= 64) return `SIGRT_${signal - 32}`;
	const name = SIGNALS[signal];
	return name === undefined || signal === 0 ? `${signal}` : `SIG${name}`;
}

/** "[INT CHLD]", as strace has it; a set with most signals is written as what is not in it. */
export function signalSetText(low: number, high: number): string {
	const names = (want: 0 | 1) => {
		const found: string[] = [];
		for (let signal = 1; signal <= 64; signal++) {
			const word = signal <= 32 ? low : high;
			if (((word >>> ((signal - 1) & 31)) & 1) === want)
				found.push(signalName(signal).replace(/^SIG/, ''));
		}
		return found;
	};
	const inside = names(1);
	return inside.length > 32 ? `~[${names(0).join(' ')}]` : `[${inside.join(' ')}]`;
}
