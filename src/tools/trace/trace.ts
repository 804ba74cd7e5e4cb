/** trace: every system call, with its arguments and its result. */
import { callConstants } from '../../abi/syscalls.js';
import type { RowFindings } from '../../aggregate/report.js';
import { chooseCallHook, PERF_HOOK_NS, PerfCallHooks } from '../../bpf/call-hooks.js';
import { EventBatches } from '../../bpf/events.js';
import { trace as layout } from '../../generated/trace.js';
import { kernelBtf } from '../../loader/kernel.js';
import { u32Key } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import { callsParser } from '../../options/call-words.js';
import { wholeNumber } from '../../options/parsers.js';
import { parsed, parsedOr } from '../../options/typed-option.js';
import { refuseKernelThreads } from '../../symbolize/kernel-threads.js';
import { defineTool, type Plan } from '../../tool.js';
import { callAt } from '../../abi/syscalls.js';
import { TraceFormatter, type TraceView } from './lines.js';
import { CallPlanner, encodePlan, namedIndexes } from './plans.js';

type Layout = typeof layout;

interface Settings extends TraceView {
	readonly calls: readonly number[] | undefined;
	readonly text_bytes: number;
	readonly ring_bytes: number;
	planner?: CallPlanner;
}

const PROGRAMS = {
	raw: ['trace_enter', 'trace_exit'],
	perf: ['trace_enter_perf', 'trace_exit_perf'],
} as const;
const PERF_EVENTS = [
	['trace_exit_perf', 'sys_exit'],
	['trace_enter_perf', 'sys_enter'],
] as const;
const LIST = 'tstrace trace -l';

const options = () => ({
	calls: parsed('-e, --calls <list>', 'only these calls', callsParser(LIST)),
	stringLength: parsedOr('-s, --string-length <n>', 'show at most N bytes of strings', wholeNumber(1024), 32),
});

export const trace = defineTool<Layout, Settings, RowFindings, ReturnType<typeof options>>({
	name: 'trace',
	summary: 'every system call: arguments, result, duration',
	description: 'Prints a line for each system call, as strace does, and never stops the process.',
	examples: [],
	options,
	kind: 'events',
	layout,

	settings: (values) => ({
		lines: true,
		calls: values.calls,
		text_bytes: values.stringLength,
		ring_bytes: 32 << 20,
	}),

	subject: () => 'system calls',

	plan(object, settings, { filter }): Plan<Layout> {
		refuseKernelThreads(filter, 'it makes no system calls');
		callConstants(object, settings.calls);
		settings.planner = new CallPlanner(kernelBtf(), { text: settings.text_bytes });
		object.map('records').setMaxEntries(settings.ring_bytes);
		const hook = chooseCallHook();
		const programs = PROGRAMS[hook.name];
		return {
			attach: hook.name === 'raw' ? programs : [],
			load: hook.name === 'perf' ? programs : [],
			trap_ns: hook.name === 'perf' ? PERF_HOOK_NS : 0,
			because: `records calls when they return, at ${hook.name} tracepoints: ${hook.because}`,
		};
	},

	reader: (object, settings) => new TraceReader(object, settings),

	text: () => ({ report: async (none: never) => none }),
});

class TraceReader extends EventBatches {
	readonly #object: BpfObject<Layout>;
	readonly #hooks = new PerfCallHooks();

	constructor(object: BpfObject<Layout>, settings: Settings) {
		const planner = settings.planner as CallPlanner;
		for (const index of settings.calls ?? namedIndexes())
			object.map('call_plans').update(u32Key(index), encodePlan(planner.plan(callAt(index))));
		super(object.map('records'), new TraceFormatter(settings, planner));
		this.#object = object;
	}

	begin(): void {
		this.#hooks.attach(this.#object, PERF_EVENTS);
	}

	override close(): void {
		this.#hooks.close();
		super.close();
	}
}
