/** why: where the wall-clock time of threads went, and why, in a sentence. */

import { MAX_DEPTH } from '../../bpf/stacks/stacks.js';
import { UsageError } from '../../errors.js';
import { off_cpu as layout } from '../../generated/off_cpu.js';
import { requireRingBuffer } from '../../loader/realtime.js';
import { wholeNumber } from '../../options/parsers.js';
import { linesOption } from '../../options/stack-options.js';
import { flag, parsedOr, type ValuesOf } from '../../options/typed-option.js';
import { type CommonChoices, defineTool } from '../../tool.js';
import { planWaits, type WaitChoice } from '../../waits/plan.js';
import type { WaitSettings } from '../../waits/waits.js';
import { answerJson } from './json.js';
import { pageReport } from './page.js';
import { type WhyFindings, WindowReader } from './reader.js';
import { answerText } from './text.js';
import { configureAccounts } from './thread-accounts.js';
import { verdictOf } from './verdict.js';

type Layout = typeof layout;

interface Settings extends WaitSettings, WaitChoice {
	readonly reasons: number;
}

/** Waits of this length or longer are all recorded. */
const PERIOD_USEC = 1000;
/** Wakers behind each other of which is told what they did. */
const FOLLOWED = 7;

const options = () => ({
	reasons: parsedOr('--reasons <n>', 'show at most N reasons', wholeNumber(100), 3),
	maxStacks: parsedOr(
		'--max-stacks <n>',
		'room for N different stacks',
		wholeNumber(1 << 22),
		32_768,
	),
	lines: linesOption(),
	debuginfod: flag(
		'--no-debuginfod',
		'do not fetch symbols from the servers in DEBUGINFOD_URLS, or use their cache',
	),
});

export const why = defineTool<Layout, Settings, WhyFindings, ReturnType<typeof options>>({
	name: 'why',
	summary: 'where the time went, and why: the answer in a sentence',
	description:
		'Puts every moment of every thread in one place (running, runnable, waiting for what, idle), and says ' +
		'in a sentence what most of the time with work to do was lost to, and who was behind that.',
	examples: [
		['tstrace why -p 1234', 'a process, for 10 seconds'],
		['tstrace why --comm postgres 5', 'all threads of a name, for 5 seconds'],
		[
			'tstrace why -p 1234 -o why.html',
			'a report to keep: verdict, account, worst waits, flame graph',
		],
		['tstrace why -p 1234 -o why.svg', 'all of its time as a flame graph'],
		['tstrace why --follow -- make', 'a command and its child processes'],
	],
	options,
	kind: 'stacks',
	duration_s: 10,
	lacks: ['cpu'],
	stackTool: {
		use: 'report',
		title: 'Wall-Clock Flame Graph',
		palette: undefined,
		folded: { unit: 'us', divisor: 1000 },
	},
	layout,

	settings(values: ValuesOf<ReturnType<typeof options>>, { filter }: CommonChoices): Settings {
		// A thread's time is all of it, wherever it runs.
		if (filter.cpus.length > 0)
			throw new UsageError(
				'leave out -C: why needs all of the time of a thread, which waits on no CPU, and runs on any',
			);
		return {
			reasons: values.reasons,
			maxStacks: values.maxStacks,
			maxDepth: MAX_DEPTH,
			kernel: true,
			user: true,
			byThread: true,
			unwind: 'tables',
			executingLines: values.lines,
			debuginfod: values.debuginfod,
			period_usec: PERIOD_USEC,
			...{ min_usec: 0, max_usec: 0, states: { mask: 0, letters: false } },
			edges: true,
			hideIdle: false,
			wakers: 'stacks',
			followed: FOLLOWED,
		};
	},

	subject: () => 'where the time goes',

	plan(object, settings, subjects, note) {
		requireRingBuffer('why', 'offcputime');
		const plan = planWaits(object, settings, subjects, note, { withSamples: true });
		configureAccounts(object);
		// It is busiest as the window begins and ends: where CPUs are short, the answer would be about tstrace.
		object.setConstants({ filter_but_tgid: process.pid });
		return {
			...plan,
			load: [...(plan.load ?? []), 'account_ended', 'read_accounts', 'sample_running'],
		};
	},

	reader: (object, settings, subjects, _note, tables) =>
		new WindowReader(object, settings, subjects, tables),

	text: (settings) => ({
		none: 'no thread was there',
		report: async ({ found }, style) =>
			answerText(found, verdictOf(found), { style, top: settings.reasons }),
		shown: (findings, json) =>
			json
				? {
						...findings,
						answer: answerJson(findings.found, verdictOf(findings.found), findings.worst),
					}
				: findings,
		page: ({ found, worst }) =>
			pageReport(found, { verdict: verdictOf(found), worst, top: settings.reasons }),
		stacks: { delimited: false, annotated: false, process: false },
	}),
});
