/** Records as lines, as trace prints them. */
import { callTables } from '../../../../src/abi/syscalls.js';
import { WallClock } from '../../../../src/bpf/wall-clock.js';
import { kernelBtf } from '../../../../src/loader/kernel.js';
import { LineBuffer } from '../../../../src/render/line-buffer.js';
import { KnownFiles } from '../../../../src/tools/trace/known-files.js';
import { TraceFormatter, type TraceView } from '../../../../src/tools/trace/lines.js';
import { CallPlanner } from '../../../../src/tools/trace/plans.js';
import { type Given, recordOf } from './records.js';

/** The number of a call here. */
export const callNumber = (name: string) =>
	Number(Object.entries(callTables()[0]).find(([, each]) => each === name)?.[0]);

export const planner = new CallPlanner(kernelBtf, { text: 32, files: false, nothing: false });
export const BOTH: TraceView = { lines: true, summary: true, totalsOrder: 'time' };

export function formatted(given: readonly Given[], files = new KnownFiles(), view = BOTH) {
	const formatter = new TraceFormatter(view, planner, files, undefined);
	formatter.prepare(new Uint32Array(0), new Uint32Array(0), 0, new WallClock());
	const lines = new LineBuffer(1 << 16);
	for (const each of given) {
		const { words, at } = recordOf(each);
		formatter.line(words, at, lines);
	}
	return { text: Buffer.from(lines.bytes()).toString('latin1'), formatter };
}

/** A line without its time. */
export const line = (given: Given, files?: KnownFiles) =>
	formatted([given], files)
		.text.replace(/^\d\d:\d\d:\d\d\.\d{6} /, '')
		.trimEnd();
/** Only the call with its result. */
export const call = (given: Given, files?: KnownFiles) =>
	line(given, files).replace(/^worker\[812\] /, '');

/** The same without how long it took. */
export const callLine = (given: Given) => call(given).replace(/ <[\d.]+>$/, '');
