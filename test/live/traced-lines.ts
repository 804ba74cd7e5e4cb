/** Lines of trace, and of strace, as values. */

export interface TracedLine {
	readonly time: string;
	readonly comm: string;
	readonly tid: number;
	readonly pid: number;
	/** Behind the thread. */
	readonly text: string;
	/** Of calls only; so are all that follow. */
	readonly call?: string;
	readonly args?: string;
	/** "3", "-1 ENOENT", "?"; undefined: it has not returned. */
	readonly result?: string;
	/** What the result is, with -y. */
	readonly file?: string;
	readonly duration_s?: number;
	readonly rest?: string;
}

const LINE = /^(\d\d:\d\d:\d\d\.\d{6}) (.{0,15}?)\[(\d+)(?:\/(\d+))?\] (.*)$/;
const CALL =
	/^(\w+(?: \([\w-]+\))?)\((.*)\)(?: = (-1 \w+|-?\d+|0x[0-9a-f]+|\?)(?:<((?:[^>]|->)*)>)?)?(?: <(\d+\.\d{9})>)?((?: <[a-z ]+(?:\.\.\.)?>)?(?: parent .*)?)$/;

/** Lines of trace; those about what is missing are left out. */
export function tracedLines(text: string): TracedLine[] {
	return text
		.split('\n')
		.filter((line) => line !== '' && !line.startsWith('--- '))
		.map((line) => {
			const [, time = '', comm = '', tid = '', pid = tid, rest] = LINE.exec(line) ?? [];
			if (rest === undefined) throw new Error(`no line of trace: ${line}`);
			const found = { time, comm, tid: Number(tid), pid: Number(pid), text: rest };
			if (/^(\+\+\+|---) /.test(rest)) return found;
			const parts = CALL.exec(rest);
			if (!parts) throw new Error(`no call: ${rest}`);
			const [, call, args, result, file, duration, more] = parts;
			return {
				...found,
				call: call as string,
				args: args as string,
				...(result === undefined ? {} : { result }),
				...(file === undefined ? {} : { file }),
				...(duration === undefined ? {} : { duration_s: Number(duration) }),
				...(more ? { rest: more.trim() } : {}),
			};
		});
}

/** Lines of trace -k, each with the frames below it, the leaf first. */
export function tracedStacks(text: string): Array<TracedLine & { readonly stack: string[] }> {
	const found: Array<TracedLine & { readonly stack: string[] }> = [];
	for (const line of text.split('\n')) {
		const [, frame] = /^ > (.+)$/.exec(line) ?? [];
		if (frame !== undefined) found.at(-1)?.stack.push(frame);
		else for (const each of tracedLines(line)) found.push({ ...each, stack: [] });
	}
	return found;
}

/** How many calls trace says are missing, all in all. */
export function missingCalls(text: string): number {
	const found = text.matchAll(/^--- (\d+) calls? (?:is|are) missing here/gm);
	return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Calls of one thread in the order of strace's lines: name and result. */
export function stracedCalls(text: string, tid: number): Array<readonly [string, string]> {
	const calls: Array<readonly [string, string]> = [];
	for (const line of text.split('\n')) {
		const [, who, rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
		if (Number(who) !== tid) continue;
		const resumed = /^<\.\.\. (\w+) resumed>.* = (\S+)(?: (E[A-Z0-9]+))?/.exec(rest);
		const whole = /^(\w+)\(.*\) += (\S+)(?: (E[A-Z0-9]+))?/.exec(rest);
		const found = resumed ?? whole;
		if (!found) continue;
		const [, name = '', result = '', error] = found;
		calls.push([named(name), error === undefined ? number(result) : `-1 ${error}`]);
	}
	return calls;
}

/** strace writes numbers of calls that it does not know in base 16. */
const named = (name: string) =>
	name.replace(/^syscall_(0x[0-9a-f]+)$/, (_, hex) => `syscall_${Number(hex)}`);

const number = (result: string) =>
	/^0x/.test(result) ? `${BigInt.asIntN(64, BigInt(result))}` : result;

/** The same of lines of trace. */
export function tracedCalls(
	lines: readonly TracedLine[],
	tid: number,
): Array<readonly [string, string]> {
	return lines.flatMap((line) =>
		line.tid === tid && line.call !== undefined && line.result !== undefined
			? [[line.call, number(line.result)] as const]
			: [],
	);
}
