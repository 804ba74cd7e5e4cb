/** Answers of windows made by hand, for the tests of what is said of them; names are whatever a test wants. */
import { bucketOf } from '../../../../src/aggregate/buckets.js';
import { Histogram } from '../../../../src/aggregate/histogram.js';
import type { PageReport } from '../../../../src/aggregate/page-report.js';
import type { Frame } from '../../../../src/aggregate/stack.js';
import type { StackRow, Waker } from '../../../../src/aggregate/stack-rows.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import { answerOf } from '../../../../src/tools/why/answer.js';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { pageReport } from '../../../../src/tools/why/page.js';
import { type Parts, partsOf } from '../../../../src/tools/why/parts.js';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import { LongestWaits, worstWaits } from '../../../../src/tools/why/worst.js';
import { ALONE } from './support.js';

const MS = 1e6;
export const WINDOW = { begin_ns: 5000 * MS, end_ns: 7000 * MS };

/** Root first; "_[k]" at the end makes it the kernel's. */
const framesOf = (names: readonly string[]): Frame[] =>
	names.map((name) => ({
		name: name.replace(/_\[k\]$/, ''),
		kind: name.endsWith('_[k]') ? 'kernel' : 'user',
	}));

export function durationsOf(...lengths_ns: readonly number[]): Histogram {
	const histogram = new Histogram();
	for (const length_ns of lengths_ns) {
		histogram.addBucket(bucketOf(length_ns), 1);
		histogram.addTotals({ sum_ns: length_ns, min_ns: length_ns, max_ns: length_ns });
	}
	return histogram;
}

interface Names {
	readonly comm?: string;
	readonly waker?: string;
	readonly path?: string;
	readonly function?: string;
}

/**
 * Two seconds of a process: its first thread waits for connections; its second one runs for 950 ms, waits for the
 * disk for 400, 200 and 100 ms, until another process has flushed it, sleeps for 300 ms, and has no CPU for 50 ms.
 */
export function evidence(names: Names = {}): Evidence {
	const { comm = 'server', waker = 'flusher', path = '/srv/journal' } = names;
	const key = { pid: 11, tid: 12, comm };
	const row = (frames: readonly string[], lengths_ms: readonly number[]): StackRow => {
		const value = lengths_ms.reduce((sum, length) => sum + length * MS, 0);
		return {
			...{ key, frames: framesOf(frames), parts: [value], value },
			...{ count: lengths_ms.length, variance: 0 },
		};
	};
	const by: Waker = {
		key: { context: 'thread', pid: 31, tid: 33, comm: waker },
		frames: framesOf(['main', 'flush', 'io_schedule_[k]']),
		did: 'ran',
	};
	const commit = row(
		[
			'main',
			names.function ?? 'commit',
			'do_syscall_64_[k]',
			'__x64_sys_fsync_[k]',
			'io_schedule_[k]',
		],
		[400, 200, 100],
	);
	const file: WaitObject = { type: 'file', path };
	const objects = [{ object: file, value: commit.value, count: 3, variance: 0 }];
	const sleep = row(['main', 'back_off', 'hrtimer_nanosleep_[k]', 'do_nanosleep_[k]'], [300]);
	const ran = { ...row(['main', 'parse'], []), count: 50, value: 50 };
	const thread = { pid: 11, comm, life_ns: 2000 * MS };
	return {
		isThere: () => true,
		lockHolders: new Map(),
		machine: ALONE,
		target: '-p 11',
		window_ns: 2000 * MS,
		threads: [
			{ ...thread, tid: 11, run_ns: 0 },
			{ ...thread, tid: 12, run_ns: 950 * MS },
		],
		blocked: [
			{
				row: { ...commit, objects, waker: by, sources: [0] },
				durations: [durationsOf(400 * MS, 200 * MS, 100 * MS)],
				open: false,
			},
			{ row: { ...sleep, sources: [1] }, durations: [durationsOf(300 * MS)], open: false },
			{
				// Nobody ever wants anything of the first thread.
				row: {
					...row(['main', 'accept', 'inet_csk_accept_[k]', 'schedule_timeout_[k]'], [2000]),
					key: { ...key, tid: 11 },
					sources: [2],
				},
				durations: [durationsOf(2000 * MS)],
				open: true,
			},
		],
		forCpu: [
			{
				...{ pid: 11, tid: 12, comm, kind: 'run queue', value_ns: 50 * MS, count: 2, variance: 0 },
				durations: durationsOf(30 * MS, 20 * MS),
			},
		],
		samples: [ran],
	};
}

/** What was seen of `evidence`: its first stack is number 7, the second 8, the kernel calls its thread 912. */
export function seenOf() {
	const longest = new LongestWaits();
	const span = (begin_ms: number, length_ms: number) => ({
		begin_ns: WINDOW.begin_ns + begin_ms * MS,
		end_ns: WINDOW.begin_ns + (begin_ms + length_ms) * MS,
	});
	longest.blocked(7, span(100, 200));
	longest.blocked(7, span(-50, 400));
	longest.blocked(7, span(600, 100));
	longest.blocked(8, span(800, 300));
	longest.forCpu(912, 'run queue', span(1200, 30));
	longest.forCpu(912, 'run queue', span(1300, 20));
	return {
		longest,
		numbers: [7, 8],
		objects: [],
		threads: [{ kernelPid: 912, pid: 11, tid: 12 }],
		window: WINDOW,
	};
}

export function reportOf(
	given: Evidence,
	{ top = 3, seen = seenOf() }: { top?: number; seen?: Parameters<typeof worstWaits>[1] } = {},
): PageReport {
	const parts: Parts = partsOf(given);
	const answer = answerOf(given, parts);
	const worst = worstWaits(parts.parts, seen);
	return pageReport(answer, { verdict: verdictOf(answer), worst, top });
}

/** No thread was there. */
export const NOBODY: Evidence = {
	...{ isThere: () => true, lockHolders: new Map(), target: '-p 11', window_ns: 2000 * MS },
	...{ machine: ALONE, threads: [], blocked: [], forCpu: [], samples: [] },
};
