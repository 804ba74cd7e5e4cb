/** profile: what runs on the CPUs, by stack, sampled. */
import { InvalidArgumentError, Option } from 'commander';
import { profile as layout } from '../generated/profile.js';
import { UsageError } from '../kit/errors.js';
import {
	groupingOption,
	type StackView,
	stackOptions,
	stackSettings,
	stackView,
	wholeNumberOption,
} from '../kit/options.js';
import { KernelSamples, PlainSamples, type SamplingSettings } from '../kit/sampling.js';
import { filtersOf } from '../kit/stack-filter.js';
import { shownStacks } from '../kit/stack-view.js';
import { StackTables } from '../kit/stacks.js';
import { SumTable } from '../kit/sums.js';
import { defineTool } from '../kit/tool.js';
import { kernelHasHelper } from '../loader/kernel.js';
import { type EventType, hasPmu, parseEvent } from '../perf/events.js';
import { grouped } from '../render/numbers.js';
import { STACK_TOOLS } from '../render/stack-tools.js';
import { renderStacks } from '../render/stacks.js';

type Layout = typeof layout;

/** Not 100, so as not to run in step with what happens 100 times a second. */
const DEFAULT_HZ = 99;
const MAX_HZ = 100_000;
const MAX_PERIOD = 1e12;

interface Settings extends SamplingSettings, StackView {
	readonly idle: boolean;
}

export const profile = defineTool<Layout, Settings>({
	name: 'profile',
	summary: 'what runs on the CPUs, by stack (sampled)',
	description:
		'Samples the stacks of what runs, 99 times a second on each CPU. Ordinary users see their own ' +
		'processes.',
	examples: [
		['tstrace profile -p 1234 5', 'a process, for 5 seconds'],
		['tstrace profile -F 999 10 > out.folded', 'the machine, for a flame graph'],
		['tstrace profile -e page-faults -c 1 5', 'where page faults happen, each one'],
		['tstrace profile --follow -- make', 'a command, and what it starts'],
	],
	options: () => [
		wholeNumberOption('-F, --frequency <hz>', 'samples a second on each CPU (default 99)', MAX_HZ),
		wholeNumberOption(
			'-c, --count <n>',
			'a sample each N events (ns for clocks), not so many a second',
			MAX_PERIOD,
		).conflicts('frequency'),
		new Option('-e, --event <event>', 'cycles, cpu-clock, page-faults, …').argParser(eventOf),
		new Option('-I, --idle', 'idle CPUs too').conflicts(['pid', 'tid']),
		groupingOption(),
		...stackOptions(),
	],
	kind: 'stacks',
	stackTool: STACK_TOOLS.profile,
	layout,

	settings(values) {
		const chosen = values.event as EventType | undefined;
		const pmu = chosen !== undefined || hasPmu();
		const settings: Settings = {
			...stackSettings(values),
			...stackView(values),
			event: chosen ?? parseEvent(pmu ? 'cycles' : 'cpu-clock'),
			period: values.count === undefined ? undefined : Number(values.count),
			frequency_hz: values.count === undefined ? Number(values.frequency ?? DEFAULT_HZ) : undefined,
			idle: values.idle === true,
			notices: pmu ? [] : [NO_PMU],
		};
		if (settings.idle && values.userThreads)
			throw new UsageError('--idle shows the idle tasks, which --user-threads leaves out');
		return settings;
	},

	subject({ event, frequency_hz, period }) {
		const rate =
			period === undefined ? `${frequency_hz} times a second` : `each ${grouped(period)}`;
		return `${event.name}, ${rate}`;
	},

	filters: filtersOf,

	plan(object, settings) {
		new StackTables(object).configure(settings);
		new SumTable(object).configure(settings);
		object.setConstants({ include_idle: settings.idle });
		return {
			attach: [],
			load: ['profile_sample'],
			because: `samples are taken by ${settings.event.name}`,
		};
	},

	reader: (object, settings, subjects) =>
		new KernelSamples(object, 'profile_sample', settings, subjects),

	withoutBpf: {
		/** 5.11; before it, a program at a perf event cannot tell who runs. */
		needed: () => !kernelHasHelper('get_current_task_btf'),
		reader: (settings, subjects, privileged) => new PlainSamples(settings, subjects, privileged),
	},

	text(settings) {
		return {
			none: 'nothing ran',
			report: async (findings, style) =>
				findings.kind === 'stacks'
					? renderStacks(findings, { ...settings, style, verb: 'taken' })
					: '',
			shown: (findings, json) => shownStacks(findings, settings, json),
			stacks: { ...settings, process: settings.by === 'process' },
		};
	},
});

const NO_PMU =
	'this machine has no hardware counters that can be used; sampled by cpu-clock, a timer, which ' +
	'does not see code that runs with interrupts off.';

function eventOf(text: string): EventType {
	try {
		return parseEvent(text);
	} catch (error) {
		throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
	}
}
