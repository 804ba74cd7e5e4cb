/** Lines of timehist, and of perf sched timehist, as values. */

export interface Line {
	readonly time_us: number;
	readonly cpu: number;
	readonly name: string;
	/** Undefined: not known. */
	readonly wait_ms: number | undefined;
	readonly delay_ms: number | undefined;
	readonly run_ms: number | undefined;
	readonly state: string;
	readonly rest: string;
}

const LINE =
	/^ *(\d+)\.(\d{6}) \[(\d{4})\] {2}(.*?\]) +([\d.]+|-) +([\d.]+|-) +([\d.]+|-) {2}(\w)(.*)$/;

/** The lines of switches; others are left out. */
export function linesOf(stdout: string): Line[] {
	const number = (text = '-') => (text === '-' ? undefined : Number(text));
	return stdout.split('\n').flatMap((text) => {
		const match = LINE.exec(text);
		if (!match) return [];
		const [, s, us, cpu, name = '', wait, delay, run, state = '', rest = ''] = match;
		return {
			time_us: Number(s) * 1e6 + Number(us),
			cpu: Number(cpu),
			name,
			wait_ms: number(wait),
			delay_ms: number(delay),
			run_ms: number(run),
			state,
			rest,
		};
	});
}
