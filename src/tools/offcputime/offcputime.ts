/** offcputime: where threads wait, and how long. */

import { parseStates } from '../../abi/states.js';
import { shownStacks } from '../../aggregate/keep-stacks.js';
import {
	type Grouping,
	type StackFindings,
	type StackRow,
	splitStacks,
} from '../../aggregate/stack-rows.js';
import { waitFrames } from '../../aggregate/summary-frames.js';
import { splitByKind } from '../../aggregate/wait-kinds.js';
import { WAIT_PARTS } from '../../aggregate/wait-parts.js';
import { UsageError } from '../../errors.js';
import { off_cpu as layout } from '../../generated/off_cpu.js';
import { filtersOf } from '../../options/stack-filter.js';
import { GROUPINGS, stackOptions, stackSettings, stackView } from '../../options/stack-options.js';
import { flag, oneOf, parsed } from '../../options/typed-option.js';
import { type StackView, stackText } from '../../render/stack-text.js';
import { defineTool } from '../../tool.js';
import { kindAndObject } from '../../waits/label.js';
import { withKinds } from '../../waits/objects/objects.js';
import { sampledText, waitOptions, waitSettings } from '../../waits/options.js';
import { planWaits, type WaitChoice } from '../../waits/plan.js';
import { type WaitSettings, Waits } from '../../waits/waits.js';
import { APART, type Apart, renderApart } from './apart-table.js';
import { splitByObject, withoutKinds } from './by-object.js';
import { splitByWaker, withWakers } from './by-waker.js';
import { doctor } from './doctor.js';

type Layout = typeof layout;

const isApart = (by: string | undefined): by is Apart => APART.some((each) => each === by);

interface Settings extends WaitSettings, WaitChoice, StackView {
	readonly split: boolean;
	/** What --by separates waits by, beyond threads. */
	readonly apart: Apart | undefined;
}

const options = () => ({
	...waitOptions(),
	state: parsed(
		'--state <states>',
		'only waits in these states: letters as in ps, such as SD, or a mask',
		parseStates,
	),
	split: flag(
		'--split',
		'show blocked, run queue, preempted and throttled time as separate stacks',
	),
	hideIdle: flag('--hide-idle', 'leave out threads that seem to have no work (a guess)'),
	by: oneOf(
		'--by <what>',
		'one entry for each thread name (comm), process, thread, kind of wait, object waited for, waker',
		[...GROUPINGS, ...APART] as const,
	).conflicts('tids'),
	...stackOptions(),
});

export const offcputime = defineTool<Layout, Settings, StackFindings, ReturnType<typeof options>>({
	name: 'offcputime',
	summary: 'where threads wait, and how long (off-CPU time by stack)',
	description:
		'Shows the stacks where threads were off the CPU, and for how long: blocked, on a run queue, ' +
		'preempted, or throttled (the CPU quota was used up).',
	examples: [
		['tstrace offcputime -p 1234 5', 'a process, for 5 seconds'],
		['tstrace offcputime -p 1234 5 > out.folded', 'folded stacks for a flame graph'],
		['tstrace offcputime --by kind 10', 'the machine: disks, locks, sockets, …'],
		['tstrace offcputime --by object 10', 'the machine: which files, sockets, locks, …'],
		['tstrace offcputime -p 1234 --by kind,waker 5', 'who ends which waits of a process'],
		['tstrace offcputime --state D 10', 'uninterruptible sleep: disks'],
		['tstrace offcputime --hide-idle 10', 'the machine, without idle threads'],
		['tstrace offcputime --split -p 1234 5', 'each kind of wait separately'],
		['tstrace offcputime --follow -- make', 'a command and its child processes'],
	],
	options,
	kind: 'stacks',
	stackTool: {
		use: 'to draw',
		title: 'Off-CPU Time Flame Graph',
		palette: 'io',
		pprofType: 'off-CPU',
		// As bcc's offcputime has it.
		folded: { unit: 'us', divisor: 1000 },
	},
	layout,
	doctor,
	otherNames: { '-m': '--min', '-M': '--max' },

	settings(values) {
		const apart = isApart(values.by) ? values.by : undefined;
		const grouped = { ...values, by: apart ? undefined : (values.by as Grouping | undefined) };
		const settings: Settings = {
			...stackSettings(grouped),
			...stackView(grouped),
			apart,
			...waitSettings(values),
			states: values.state ?? { mask: 0, letters: false },
			split: values.split,
			hideIdle: values.hideIdle,
			wakers: apart?.split(',').includes('waker') ? 'who' : undefined,
			followed: 0,
		};
		if (apart && settings.split)
			throw new UsageError(
				`give either --split or --by ${apart}: parts of waits are separate entries there anyway`,
			);
		if (apart && apart !== 'waker' && !settings.kernel)
			throw new UsageError(
				`give either --by ${apart} or --user-stacks: kernel frames say what a thread waited for`,
			);
		if (settings.hideIdle && !settings.edges)
			throw new UsageError(
				'give either --hide-idle or --no-edges: --hide-idle needs the waits that --no-edges ignores',
			);
		return settings;
	},

	subject: (settings) => `off-CPU time (${sampledText(settings)})`,

	filters: (settings) => ({
		...filtersOf(settings),
		...(settings.hideIdle ? { hide_idle: true } : {}),
	}),

	plan: planWaits,

	reader: (object, settings, subjects, _note, tables) =>
		new Waits(object, settings, subjects, tables),

	text(settings) {
		const text = stackText(settings, {
			verb: 'waited',
			label: (row, room) => (settings.kernel ? kindAndObject(row, WAIT_PARTS, room) : { text: '' }),
			telling: ({ frames }) => waitFrames(frames),
		});
		return {
			none: 'no waits were seen',
			...text,
			report: (findings, style) =>
				settings.apart
					? Promise.resolve(renderApart(findings, { ...settings, style, apart: settings.apart }))
					: text.report(findings, style),
			shown(findings, json) {
				if (settings.apart) {
					const stacks = splitBy(settings.apart, findings, json);
					const shown = shownStacks({ ...findings, stacks }, settings, json);
					return json ? withKinds(shown) : shown;
				}
				const stacks = settings.split && !json ? splitStacks(findings) : findings.stacks;
				const shown = shownStacks({ ...findings, stacks }, settings, json);
				return json && settings.kernel ? withKinds(shown) : shown;
			},
		};
	},
});

/** The same rows, apart by those of `kind`, `object` and `waker` that were asked for, as their keys have them. */
function splitBy(apart: Apart, findings: StackFindings, json: boolean): StackRow[] {
	if (apart === 'waker') return splitByWaker(findings, json);
	const by = apart.split(',');
	const rows = by.includes('object') ? splitByObject(findings) : splitByKind(findings);
	const named = by.includes('waker') ? withWakers(rows, json) : rows;
	return by.includes('kind') ? named : withoutKinds(named);
}
