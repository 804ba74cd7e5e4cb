/** stat: counts what the kernel and the processor count anyway, as perf stat does. */
import { flag, listed } from '../../options/typed-option.js';
import { type CountedEvent, parseEventList } from '../../perf/event-list.js';
import { definePlainTool } from '../../tool.js';
import { defaultEvents } from './events.js';
import type { StatFindings } from './findings.js';
import { CountReader } from './reader.js';
import { renderCounts } from './table.js';
import { isOfCpus, openTarget, refuseFilters } from './target.js';

interface Settings {
	/** Undefined: the usual ones, by what is counted. */
	readonly events: readonly CountedEvent[] | undefined;
	readonly detailed: boolean;
	readonly inherit: boolean;
}

const options = () => ({
	event: listed(
		'-e, --event <list>',
		'count these events: cycles,page-faults:u,sched:sched_switch,{a,b}',
		(text: string, before: readonly string[] = []) => [...before, text],
	),
	detailed: flag('-d, --detailed', 'also count caches and TLBs').conflicts('event'),
	noInherit: flag('-i, --no-inherit', 'not what threads create after counting has begun'),
	allCpus: flag('-a, --all-cpus', 'all CPUs, whoever runs (the default without -p, -t, COMMAND)'),
});

export const stat = definePlainTool<Settings, StatFindings, ReturnType<typeof options>>({
	name: 'stat',
	summary: 'counts events: CPU time, switches, faults, cycles, cache misses',
	description:
		'Counts events of a process, a command, a cgroup or the whole machine, and says what the counts mean. ' +
		'Without BPF: ordinary users can count their own processes. Child processes are counted, too.',
	examples: [
		['tstrace stat -- make', 'a command and its child processes'],
		['tstrace stat -p 1234 5 1', 'a process, for 5 seconds'],
	],
	options,
	kind: 'table',
	lacks: ['comm', 'userThreads', 'kernelThreads'],

	settings({ event, detailed, noInherit }, { filter }) {
		refuseFilters(filter);
		return {
			events: event.length === 0 ? undefined : parseEventList(event.join(',')),
			detailed,
			inherit: !noInherit,
		};
	},

	subject: () => 'events',

	withoutBpf: {
		reader({ events, detailed, inherit }, subjects) {
			const ofCpus = isOfCpus(subjects.filter, subjects.words);
			const counted = events ?? defaultEvents({ ofCpus, detailed });
			return new CountReader(counted, openTarget(subjects, inherit));
		},
		because: 'the kernel counts events in any case',
		unseen: "the kernel's time for counting",
	},

	text: () => ({
		report: async (findings, style) => renderCounts(findings, style),
	}),
});
