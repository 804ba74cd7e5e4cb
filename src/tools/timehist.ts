/** timehist: every switch of the scheduler, one by one. */
import { timehist as layout } from '../generated/timehist.js';
import { EventText } from '../kit/events.js';
import { chooseOffcpu } from '../kit/offcpu.js';
import { TimehistText, timehistHeader } from '../kit/timehist.js';
import { defineTool, type Plan } from '../kit/tool.js';
import { LineBuffer } from '../render/line-buffer.js';

type Layout = typeof layout;
type Program = Layout['programs'][number];

const RING_MB = 16;

interface Settings {
	readonly ring_kb: number;
}

export const timehist = defineTool<Layout, Settings>({
	name: 'timehist',
	summary: 'every switch: wait, delay and run time, one by one',
	description:
		'Prints a line each time a thread leaves the CPU: how long it had been off the CPU before, how ' +
		'much of that it waited in a queue, and how long it ran. Without a duration it traces until Ctrl-C.',
	examples: [['tstrace timehist -p 1234 5', 'a process, for 5 seconds']],
	options: () => [],
	kind: 'events',
	layout,
	settings: () => ({ ring_kb: RING_MB * 1024 }),
	subject: () => 'context switches',

	plan(object, settings): Plan<Layout> {
		const way = chooseOffcpu();
		object.setConstants({
			threads_in_hash: way.threadsInHash,
			scheduler_books: way.schedulerBooks,
			switch_has_state: way.switchHasState,
		});
		object.map('events').setMaxEntries(settings.ring_kb * 1024);
		return {
			attach: [...(way.others as readonly Program[]), 'timehist_switch'],
			withoutMaps: [way.threadsInHash ? 'off_cpus' : 'off_cpus_by_pid'],
			because: way.because,
		};
	},

	reader: (object) =>
		new EventText(object.map('events'), new TimehistText(), new LineBuffer(1 << 20)),

	text: () => ({ header: timehistHeader(), report: async () => '' }),
});
