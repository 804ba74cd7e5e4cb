/** trace: every system call, with its arguments and its result. */
import type { RowFindings } from '../../aggregate/report.js';
import { chooseCallHook, PERF_HOOK_NS } from '../../bpf/calls/call-hooks.js';
import { trace as layout } from '../../generated/trace.js';
import { requireRingBuffer } from '../../loader/realtime.js';
import { listCalls } from '../../options/call-words.js';
import { refuseKernelThreads } from '../../proc/kernel-threads.js';
import { unwindTables } from '../../symbolize/walks/unwind-tables.js';
import { defineTool, type Plan } from '../../tool.js';
import { CallStacks } from './call-stacks.js';
import { configure } from './configure.js';
import { type Settings, type TraceOptions, traceOptions, traceSettings } from './options.js';
import { PROGRAMS, PROGRAMS_WITH_STACKS, TraceReader } from './reader.js';
import { renderCallTotals } from './totals.js';

type Layout = typeof layout;

export const trace = defineTool<Layout, Settings, RowFindings, TraceOptions>({
	name: 'trace',
	summary: 'every system call: arguments, result, duration',
	description:
		'Prints a line for each system call, as strace does: its arguments, its result, how long it took. The ' +
		'process never stops for it.',
	examples: [
		['tstrace trace -- ls', 'all calls of a command'],
		['tstrace trace -p 1234 -y', 'of a process, with what descriptors are'],
		['tstrace trace -e openat -Z', 'which files are not found, by whom'],
		['tstrace trace -e execve', 'which programs are executed'],
		['tstrace trace --min-duration 10ms 5', 'only calls that take long'],
		[
			'tstrace trace -k -e openat -Z -p 1234',
			'where in its code it looks for files that are missing',
		],
		['tstrace trace -c -- make', 'only a table of calls, at the end'],
	],
	options: traceOptions,
	kind: 'events',
	layout,
	lacks: ['cpu', 'kernelThreads'],
	otherNames: {
		'-T': '--min-duration',
		'-P': '--path',
		'-x': '--unsuccessful',
		'--failed': '--unsuccessful',
	},

	settings: traceSettings,

	list: (values) => (values.list ? listCalls() : undefined),

	subject: ({ onlyFailed, onlySuccessful }) =>
		onlyFailed
			? 'failing system calls'
			: onlySuccessful
				? 'successful system calls'
				: 'system calls',

	plan(object, settings, subjects, note): Plan<Layout> {
		refuseKernelThreads(subjects.filter, 'it makes no system calls');
		requireRingBuffer('trace', 'syscount, or strace');
		configure(object, settings);
		const hook = chooseCallHook();
		const programs = (settings.stacks ? PROGRAMS_WITH_STACKS : PROGRAMS)[hook.name];
		return {
			attach: [
				...(hook.name === 'raw' ? programs : []),
				...(settings.ends ? (['trace_signal'] as const) : []),
			],
			load: [...(hook.name === 'perf' ? programs : []), 'trace_thread_ends', 'open_calls'],
			trap_ns: hook.name === 'perf' ? PERF_HOOK_NS : 0,
			tables: settings.stacks && unwindTables(object, settings.stacks, subjects, note),
			because: `records calls when they return, at ${hook.name} tracepoints: ${hook.because}`,
		};
	},

	reader: (object, settings, subjects, _note, tables) =>
		new TraceReader(
			object,
			settings,
			settings.stacks && new CallStacks(object, settings.stacks, subjects, tables),
			subjects.command,
		),

	text: () => ({ report: async (none: never) => none, totals: renderCallTotals }),
});
