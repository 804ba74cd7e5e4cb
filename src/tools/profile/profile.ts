/** profile: what runs on the CPUs, by stack, sampled. */
import { InvalidArgumentError } from 'commander';
import type { StackFindings } from '../../aggregate/stack-rows.js';
import { entryFrames } from '../../aggregate/summary-frames.js';
import { StackSums } from '../../bpf/stacks/sums.js';
import { UsageError } from '../../errors.js';
import { profile as layout } from '../../generated/profile.js';
import { wholeNumber } from '../../options/parsers.js';
import { filtersOf } from '../../options/stack-filter.js';
import {
	groupingOption,
	stackOptions,
	stackSettings,
	stackView,
} from '../../options/stack-options.js';
import { flag, parsed } from '../../options/typed-option.js';
import { hasPmu } from '../../perf/events.js';
import { type EventType, eventOf } from '../../perf/names.js';
import { grouped } from '../../render/numbers.js';
import { type StackView, stackText } from '../../render/stack-text.js';
import { unwindTables } from '../../symbolize/walks/unwind-tables.js';
import { defineTool } from '../../tool.js';
import { KernelSamples, PlainSamples, type SamplingSettings } from './sampling.js';

type Layout = typeof layout;

/** Not 100, so as not to run in step with what happens 100 times a second. */
const DEFAULT_HZ = 99;
const MAX_HZ = 100_000;
const MAX_PERIOD = 1e12;

interface Settings extends SamplingSettings, StackView {
	readonly idle: boolean;
}

const options = () => ({
	frequency: parsed(
		'-F, --frequency <hz>',
		'samples per second on each CPU (default 99)',
		wholeNumber(MAX_HZ),
	),
	count: parsed(
		'-c, --count <n>',
		'take a sample every N events (clocks: every N ns) instead of -F',
		wholeNumber(MAX_PERIOD),
	).conflicts('frequency'),
	event: parsed(
		'-e, --event <event>',
		'the event to sample: cycles, cpu-clock, page-faults, …',
		parseEvent,
	),
	idle: flag('-I, --idle', 'also sample idle CPUs').conflicts(['pid', 'tid']),
	by: groupingOption(),
	...stackOptions(),
});

export const profile = defineTool<Layout, Settings, StackFindings, ReturnType<typeof options>>({
	name: 'profile',
	summary: 'where CPU time goes, by stack (sampled)',
	description:
		'Samples the stacks of running threads, 99 times a second on each CPU. Ordinary users see only ' +
		'their own processes.',
	examples: [
		['tstrace profile -p 1234 5', 'a process, for 5 seconds'],
		['tstrace profile -F 999 10 > out.folded', 'the whole machine, for a flame graph'],
		['tstrace profile -e page-faults -c 1 5', 'the stack of every page fault'],
		['tstrace profile --follow -- make', 'a command and its child processes'],
	],
	options,
	kind: 'stacks',
	stackTool: {
		use: 'to draw',
		title: 'CPU Flame Graph',
		palette: undefined,
		folded: { unit: 'samples', divisor: 1 },
	},
	layout,

	settings(values, { filter }) {
		const { event: chosen, count: period, frequency } = values;
		const pmu = chosen !== undefined || hasPmu();
		const settings: Settings = {
			...stackSettings(values),
			...stackView(values),
			event: chosen ?? eventOf(pmu ? 'cycles' : 'cpu-clock'),
			period,
			frequency_hz: period === undefined ? (frequency ?? DEFAULT_HZ) : undefined,
			idle: values.idle,
			notices: pmu ? [] : [NO_PMU],
		};
		if (settings.idle && filter.userThreads)
			throw new UsageError(
				'give either --idle or --user-threads: --idle shows the kernel threads of idle CPUs',
			);
		return settings;
	},

	subject({ event, frequency_hz, period }) {
		if (period === 1) return `every ${singleEvent(event.name)}`;
		const rate =
			period === undefined
				? `${frequency_hz} times a second`
				: `one sample every ${grouped(period)}`;
		return `${event.name}, ${rate}`;
	},

	filters: filtersOf,

	plan(object, settings, subjects, note) {
		new StackSums(object).configure(settings);
		object.setConstants({ include_idle: settings.idle });
		return {
			attach: [],
			load: ['profile_sample'],
			because: `samples at the event ${settings.event.name}`,
			tables: unwindTables(object, settings, subjects, note),
		};
	},

	reader: (object, settings, subjects, _note, tables) =>
		new KernelSamples(object, 'profile_sample', settings, subjects, tables),

	withoutBpf: {
		reader: (settings, subjects) => new PlainSamples(settings, subjects),
		because: 'tstrace reads perf events one by one',
		unseen: "the kernel's time for samples; to count both, run tstrace as root",
	},

	text: (settings) => ({
		none: 'no samples were taken',
		...stackText(settings, { verb: 'taken', telling: ({ frames }) => entryFrames(frames) }),
	}),
});

const NO_PMU =
	'tstrace can use no hardware counters on this machine; it sampled with cpu-clock, a timer, which ' +
	'does not see code that runs with interrupts off.';

/** "page fault" of "page-faults". */
function singleEvent(name: string): string {
	return name.replace(/(?<=ch|ss)es$|s$/, '').replaceAll('-', ' ');
}

function parseEvent(text: string): EventType {
	try {
		return eventOf(text);
	} catch (error) {
		throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
	}
}
