/** Stacks as tools print them, and one criterion for all: do they reach their thread's first function? */

/** What one tool counted for one user stack; `frames`: names, the outermost first. */
export interface PrintedStack {
	readonly tid: number;
	readonly frames: readonly string[];
	readonly value: number;
}

/** First functions of threads: of programs, glibc's loader, glibc's threads, and Go's stacks. */
const FIRST =
	/^(_start|_dl_start(_user)?|__?clone3?|clone3?|_rt0_\w+|runtime\.(goexit|mcall|mstart|rt0_go)(\.\w+)?)$/;

/** `_start`, which calls it, often has no name, and some tools leave it out. */
const CALLS_MAIN = /^__libc_start_main/;

/** Without the offset and the version of a symbol. */
const nameOf = (frame = '') => frame.replace(/\+(0x)?[\da-f]+$/, '').replace(/@.*$/, '');

export function isWhole(frames: readonly string[]): boolean {
	const [root, next] = [nameOf(frames[0]), nameOf(frames[1])];
	return FIRST.test(root) || CALLS_MAIN.test(root) || CALLS_MAIN.test(next);
}

/** The share, from 0 to 1, of what was counted that is in stacks which are not whole. */
export function cutShare(stacks: readonly PrintedStack[]): number {
	const sum = (some: readonly PrintedStack[]) => some.reduce((all, { value }) => all + value, 0);
	return sum(stacks.filter(({ frames }) => !isWhole(frames))) / sum(stacks);
}

/** tstrace's JSON, with a row for each thread; `cut_share` is what tstrace says itself. */
export function ofTstrace(text: string): { stacks: PrintedStack[]; cut_share: number } {
	const { stacks, cut_share } = JSON.parse(text);
	const ofRow = (row: { frames: string[]; kinds: string; value: number; key: { tid: number } }) => ({
		tid: row.key.tid,
		frames: row.frames.filter((_, i) => row.kinds[i] !== 'k'),
		value: row.value,
	});
	return { stacks: stacks.map(ofRow), cut_share };
}

/** libbpf-tools' offcputime: frames of the kernel, then the user's, leaf first; then thread and time. */
export function ofOffcputime(text: string): PrintedStack[] {
	const entry = /((?:^ {4}(?!- ).*\n)*)^ {4}- .*\((\d+)\)\n\s+(\d+)$/gm;
	return [...text.matchAll(entry)].map(([, frames = '', tid, value]) => ({
		tid: Number(tid),
		frames: linesOf(frames).reverse(),
		value: Number(value),
	}));
}

/** libbpf-tools' memleak: bytes, then frames with a number each, leaf first. */
export function ofMemleak(text: string): PrintedStack[] {
	const last = text.slice(text.lastIndexOf('Top '));
	const entry = /^\s*(\d+) bytes in \d+ allocations from stack\n((?:\s+\d+ \[<.*\n)*)/gm;
	return [...last.matchAll(entry)].map(([, value, frames = '']) => ({
		tid: 0,
		frames: linesOf(frames.replace(/^\s*\d+ \[<[\da-f]+>\] /gm, ''))
			.map((frame) => frame.replace(/ \[.*$/, ''))
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
