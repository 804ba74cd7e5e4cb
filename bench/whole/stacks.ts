/** Stacks as tools print them, and one criterion for all: do they reach their thread's first function? */

/** What one tool counted for one user stack; `frames`: names, the outermost first. */
export interface PrintedStack {
	readonly tid: number;
	readonly frames: readonly string[];
	readonly value: number;
	/** Why it is cut, where the tool says so. */
	readonly cut?: string;
}

/**
 * Functions that begin a program, a thread or one of Go's stacks. Those of the C library that call main,
 * or what a thread was made for, count as such: a walk by frame pointers ends there.
 */
const FIRST =
	/^(_start|_dl_start(_user)?|__libc_start_\w+|start_thread|(__)?clone3?|_rt0_\w+|runtime\.(goexit|mcall|mstart|rt0_go|systemstack|morestack|clone)(\.\w+)?)$/;

/** `_start` calls it, and often has no name. */
const CALLS_MAIN = /^__libc_start_main/;

/** What begins threads is not exported: so libbpf-tools call it, by the exported name before it. */
const EXPORTED_BEFORE: Readonly<Record<string, string>> = {
	__libc_init_first: '__libc_start_call_main',
	pthread_condattr_setpshared: 'start_thread',
	__xmknodat: '__clone3',
};

/** Without the offset and the version of a symbol. */
const nameOf = (frame = '') => frame.replace(/\+(0x)?[\da-f]+$/, '').replace(/@.*$/, '');

export function isWhole(frames: readonly string[]): boolean {
	return FIRST.test(nameOf(frames[0])) || CALLS_MAIN.test(nameOf(frames[1]));
}

const libbpfFrame = (frame: string) => EXPORTED_BEFORE[nameOf(frame)] ?? frame;

/** The share, from 0 to 1, of what was counted that is in stacks which are not whole. */
export function cutShare(stacks: readonly PrintedStack[]): number {
	const sum = (some: readonly PrintedStack[]) => some.reduce((all, { value }) => all + value, 0);
	return sum(stacks.filter(({ frames }) => !isWhole(frames))) / sum(stacks);
}

interface TstraceRow {
	readonly frames: readonly string[];
	readonly kinds: string;
	readonly value: number;
	readonly key: { readonly tid: number };
	readonly cut?: string;
}

/** tstrace's JSON, with a row for each thread; `cut_share` is what tstrace says itself. */
export function ofTstrace(text: string): { stacks: PrintedStack[]; cut_share: number } {
	const { stacks, cut_share } = JSON.parse(text);
	const ofRow = ({ frames, kinds, key, ...row }: TstraceRow) => ({
		...{ tid: key.tid, value: row.value, cut: row.cut },
		frames: frames.filter((_, i) => kinds[i] !== 'k'),
	});
	return { stacks: stacks.map(ofRow), cut_share };
}

/** libbpf-tools' offcputime: frames of the kernel, then the user's, leaf first; then thread and time. */
export function ofOffcputime(text: string): PrintedStack[] {
	const entry = /((?:^ {4}(?!- ).*\n)*)^ {4}- .*\((\d+)\)\n\s+(\d+)$/gm;
	return [...text.matchAll(entry)].map(([, frames = '', tid, value]) => ({
		tid: Number(tid),
		frames: linesOf(frames).map(libbpfFrame).reverse(),
		value: Number(value),
	}));
}

/** As libbpf-tools' memleak shows start_thread, whose name is not exported; it gets the benefit of the doubt. */
const NAMELESS_ROOT = /^\[.*\/libc\.so\.6\]$/;

/** libbpf-tools' memleak: bytes, then frames with a number each, leaf first. */
export function ofMemleak(text: string): PrintedStack[] {
	const last = text.slice(text.lastIndexOf('Top '));
	const entry = /^\s*(\d+) bytes in \d+ allocations from stack\n((?:\s+\d+ \[<.*\n)*)/gm;
	return [...last.matchAll(entry)].map(([, value, frames = '']) => ({
		tid: 0,
		frames: linesOf(frames.replace(/^\s*\d+ \[<[\da-f]+>\] /gm, ''))
			.map((frame) =>
				libbpfFrame(frame.replace(NAMELESS_ROOT, 'start_thread').replace(/ \[.*$/, '')),
			)
			.reverse(),
		value: Number(value),
	}));
}

/** `bpftrace -f json` of a map by [ustack, tid]. */
export function ofBpftrace(text: string): PrintedStack[] {
	const line = text.split('\n').find((each) => each.startsWith('{"type": "map"'));
	const map: Record<string, number> = line ? (JSON.parse(line).data['@'] ?? {}) : {};
	return Object.entries(map).map(([key, value]) => {
		const comma = key.lastIndexOf(',');
		return {
			tid: Number(key.slice(comma + 1)),
			frames: linesOf(key.slice(0, comma)).reverse(),
			value,
		};
	});
}

/** `perf script -F tid,ip,sym`: for each sample a line with its thread, then frames, leaf first. */
export function ofPerf(text: string): PrintedStack[] {
	return text.split('\n\n').flatMap((sample) => {
		const [thread = '', ...frames] = linesOf(sample);
		if (thread === '') return [];
		const names = frames.map((frame) => frame.replace(/^[\da-f]+ /, '')).reverse();
		return [{ tid: Number(thread), frames: names, value: 1 }];
	});
}

function linesOf(text: string): string[] {
	return text
		.split('\n')
		.map((line) => line.trim())
		.filter((line) => line !== '');
}
