/** offcputime: where threads wait, and how long. */

import { Option } from 'commander';
import { parseStates, type StateMask } from '../../abi/states.js';
import { withoutIdle } from '../../aggregate/idle.js';
import type { Findings, Lost } from '../../aggregate/report.js';
import { type StackFindings, type StackRow, splitStacks } from '../../aggregate/stack-rows.js';
import { waitFrames } from '../../aggregate/summary-frames.js';
import type { Subjects } from '../../bpf/filter.js';
import { chooseOffcpu, type ResumedHook } from '../../bpf/offcpu.js';
import { depthOf, type StackSettings, type StackSnapshot, StackTables } from '../../bpf/stacks.js';
import { SumTable } from '../../bpf/sums.js';
import { UsageError } from '../../errors.js';
import { offcputime as layout } from '../../generated/offcputime.js';
import { readAddress } from '../../loader/address.js';
import { closeAll } from '../../loader/close-all.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';
import { UserStackWalker } from '../../loader/userstack.js';
import {
	groupingOption,
	type StackView,
	stackOptions,
	stackSettings,
	stackView,
	usecOption,
} from '../../options/parsers.js';
import { filtersOf } from '../../options/stack-filter.js';
import { shownStacks } from '../../options/stack-view.js';
import type { Reader } from '../../reader.js';
import { renderStacks } from '../../render/stacks.js';
import { humanTime } from '../../render/units.js';
import { type CountedStack, nameStacks } from '../../symbolize/naming.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import { defineTool, type Plan } from '../../tool.js';
import { doctor } from './doctor.js';

type Layout = typeof layout;

const DEFAULT_PERIOD_USEC = 1000;
const PARTS = ['blocked', 'run queue', 'preempted', 'throttled'];

interface Settings extends StackSettings, StackView {
	/** 0: every wait. */
	readonly period_usec: number;
	readonly min_usec: number;
	/** 0: no limit. */
	readonly max_usec: number;
	readonly states: StateMask;
	readonly split: boolean;
	readonly edges: boolean;
	readonly hideIdle: boolean;
}

/** Of bpf/offcputime.bpf.c. */
const RESUMED_PROGRAMS: Readonly<Record<ResumedHook, (typeof layout)['programs'][number]>> = {
	sched_exit_tp: 'offcputime_resumed',
	finish_task_switch: 'offcputime_finish',
	'finish_task_switch.isra.0': 'offcputime_finish_isra',
};

export const offcputime = defineTool<Layout, Settings>({
	name: 'offcputime',
	summary: 'where threads wait, and how long (off-CPU time by stack)',
	description:
		'Shows the stacks where threads were off the CPU, and for how long: blocked, on a run queue, ' +
		'preempted, or throttled (the CPU quota was used up).',
	examples: [
		['tstrace offcputime -p 1234 5', 'a process, for 5 seconds'],
		['tstrace offcputime -p 1234 5 > out.folded', 'folded stacks for a flame graph'],
		['tstrace offcputime --state D 10', 'uninterruptible sleep: disks'],
		['tstrace offcputime --hide-idle 10', 'the machine, without idle threads'],
		['tstrace offcputime --split -p 1234 5', 'each kind of wait separately'],
		['tstrace offcputime --follow -- make', 'a command and its child processes'],
	],
	options: () => [
		usecOption(
			'--period <usec>',
			'of waits shorter than USEC microseconds, record only some, and estimate the rest',
		)
			.default(DEFAULT_PERIOD_USEC)
			.conflicts('exact'),
		new Option('--exact', 'record every wait; costs more if threads wait often'),
		usecOption('--min <usec>', 'only waits of USEC microseconds (or 5ms, 2s) or more'),
		usecOption('--max <usec>', 'only waits of USEC microseconds (or 5ms, 2s) or less'),
		new Option(
			'--state <states>',
			'only waits in these states: letters as in ps, such as SD, or a mask',
		).argParser(parseStates),
		new Option(
			'--split',
			'show blocked, run queue, preempted and throttled time as separate stacks',
		),
		new Option(
			'--no-edges',
			'leave out waits that began before tracing, or that end after tracing',
		),
		new Option('--hide-idle', 'leave out threads that seem to have no work (a guess)'),
		groupingOption(),
		...stackOptions(),
	],
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
		const settings: Settings = {
			...stackSettings(values),
			...stackView(values),
			period_usec: values.exact ? 0 : Number(values.period),
			min_usec: Number(values.min ?? 0),
			max_usec: Number(values.max ?? 0),
			states: (values.state as StateMask | undefined) ?? { mask: 0, letters: false },
			split: values.split === true,
			edges: values.edges !== false,
			hideIdle: values.hideIdle === true,
		};
		if (settings.hideIdle && !settings.edges)
			throw new UsageError(
				'give either --hide-idle or --no-edges: --hide-idle needs the waits that --no-edges ignores',
			);
		if (settings.max_usec > 0 && settings.min_usec > settings.max_usec)
			throw new UsageError(`--min ${settings.min_usec} is more than --max ${settings.max_usec}`);
		if (settings.period_usec > MAX_PERIOD_USEC)
			throw new UsageError('--period can be at most one second: 1000000, or 1s');
		return settings;
	},

	subject({ period_usec }) {
		return period_usec === 0
			? 'off-CPU time (every wait)'
			: `off-CPU time (waits below ${period_usec} us are sampled)`;
	},

	filters: (settings) => ({
		...filtersOf(settings),
		...(settings.hideIdle ? { hide_idle: true } : {}),
	}),

	plan(object, settings): Plan<Layout> {
		const way = chooseOffcpu();
		new StackTables(object).configure(kernelSettings(settings));
		new SumTable(object).configure(settings);
		object.setConstants({
			shortest_ns: settings.min_usec * 1000,
			longest_ns: settings.max_usec * 1000,
			state_mask: settings.states.mask,
			state_exclusive: settings.states.letters,
			threads_in_hash: way.threadsInHash,
			has_sched_info: way.hasSchedInfo,
			switch_has_state: way.switchHasState,
			walk_at_switch: way.resumed === undefined,
		});
		return {
			attach: [
				...(way.resumed ? [RESUMED_PROGRAMS[way.resumed]] : []),
				...way.others,
				'offcputime_switch',
			],
			runOnce: settings.edges ? ['seed_waiting'] : [],
			load: settings.edges ? ['end_waiting'] : [],
			withoutMaps: [way.threadsInHash ? 'off_cpus' : 'off_cpus_by_pid'],
			because: way.because,
		};
	},

	reader: (object, settings, subjects) => new Waits(object, settings, subjects),

	text(settings) {
		return {
			none: 'no waits were seen',
			shown(findings, json) {
				const stacks = settings.split && !json ? splitStacks(findings) : findings.stacks;
				return shownStacks({ ...findings, stacks }, settings, json);
			},
			report: async (findings, style) =>
				findings.kind === 'stacks'
					? renderStacks(findings, {
							...settings,
							style,
							verb: 'waited',
							telling: ({ frames }) => waitFrames(frames),
						})
					: '',
			stacks: { ...settings, process: settings.by === 'process' },
		};
	},
});

const MAX_PERIOD_USEC = 1_000_000;
const SLOW_DOWN_FACTOR = 4;

/** Only a single thread can be called idle. */
function kernelSettings(settings: Settings): StackSettings {
	return { ...settings, byThread: settings.byThread || settings.hideIdle };
}

class Waits implements Reader {
	readonly #object: BpfObject<Layout>;
	readonly #settings: Settings;
	readonly #tables: StackTables;
	readonly #sums: SumTable;
	readonly #processes: ProcessWatch;
	#stillWaiting: DataView = new DataView(new ArrayBuffer(0));
	/** When the threads were known that waited already. */
	#begun_ns = 0;
	#ended_ns = 0;
	/** Threads, by number, that were blocked in one wait all the time. */
	readonly #stayed = new Set<number>();
	#period_ns: number;

	constructor(object: BpfObject<Layout>, settings: Settings, subjects: Subjects) {
		this.#object = object;
		this.#settings = settings;
		this.#period_ns = settings.period_usec * 1000;
		object.setVariable('period_ns', this.#period_ns);
		this.#processes = new ProcessWatch(subjects);
		this.#tables = new StackTables(object);
		this.#tables.open();
		this.#sums = new SumTable(object);
		this.#sums.open();
	}

	begin(): void {
		this.#processes.begin();
	}

	begun(): void {
		this.#begun_ns = Number(process.hrtime.bigint());
	}

	drain(): void {
		this.#processes.drain();
	}

	/** What was kept with a shorter period stays as it is: each wait counts by its own chance. */
	slowDown(): string | undefined {
		const period_ns = this.#period_ns * SLOW_DOWN_FACTOR;
		if (this.#settings.period_usec === 0 || period_ns > MAX_PERIOD_USEC * 1000) return undefined;
		this.#period_ns = period_ns;
		this.#object.setVariable('period_ns', period_ns);
		return `tstrace now samples waits shorter than ${humanTime(period_ns)}`;
	}

	end(): void {
		const now_ns = process.hrtime.bigint();
		this.#object.setVariable('ended_ns', Number(now_ns));
		this.#ended_ns = Number(now_ns);
		if (this.#settings.edges) this.#stillWaiting = this.#object.runIterator('end_waiting');
	}

	async read(): Promise<Findings> {
		const snapshot = this.#tables.read();
		const stacks = [...this.#ended(snapshot), ...this.#open(snapshot)];
		this.#processes.end(new Set(stacks.map(({ pid }) => pid)));
		const { history } = this.#processes;
		const { rows, notices } = await nameStacks(stacks, history, {
			maxDepth: depthOf(this.#settings),
		});
		return {
			kind: 'stacks',
			unit: 'ns',
			noun: 'wait',
			about: { period_ns: this.#period_ns },
			parts: PARTS,
			...this.#shown(rows),
			notices: [...this.#processes.notices(), ...notices],
		};
	}

	/** Without threads that had nothing to do, if that is asked for. */
	#shown(rows: readonly StackRow[]): Pick<StackFindings, 'stacks' | 'leftOut'> {
		if (!this.#settings.hideIdle) return { stacks: rows };
		const duration_ns = this.#ended_ns - this.#begun_ns;
		return withoutIdle(rows, { duration_ns, stayed: this.#stayed });
	}

	lost(): Lost {
		return this.#processes.lost();
	}

	close(): void {
		closeAll([() => this.#processes.close(), () => this.#tables.close()]);
	}

	/** Waits that ended while tracing. */
	#ended(snapshot: StackSnapshot): CountedStack[] {
		// If it was raised meanwhile, errors are overstated.
		const period_ns = this.#period_ns;
		return this.#sums.take(snapshot).map((sum) => ({
			...sum,
			at_ns: sum.first_ns,
			variance: sum.doubt * period_ns * period_ns,
		}));
	}

	/** Waits that were open as tracing ended: what bpf/offcputime.bpf.c, end_waiting wrote. */
	#open(snapshot: StackSnapshot): CountedStack[] {
		const { still_waiting } = layout.structs;
		const { key, parts, registers } = still_waiting.fields;
		const view = this.#stillWaiting;
		const walker = new UserStackWalker();
		const stacks: CountedStack[] = [];
		for (let at = 0; at + still_waiting.size <= view.byteLength; at += still_waiting.size) {
			const owned = snapshot.owned(view, at + key.offset);
			const registersAt = at + registers.offset;
			const user =
				owned.user.length > 0
					? owned.user
					: walker.walk(
							owned.pid,
							{
								ip: readAddress(view, registersAt),
								sp: readAddress(view, registersAt + 8),
								fp: readAddress(view, registersAt + 16),
							},
							this.#settings.maxDepth,
						);
			const wait = PARTS.map((_, part) => readU64(view, at + parts.offset + part * 8));
			const duration_ns = wait.reduce((sum, part) => sum + part, 0);
			if (wait[0] === duration_ns && this.#ended_ns - duration_ns <= this.#begun_ns)
				this.#stayed.add(owned.tid);
			stacks.push({
				...owned,
				user,
				at_ns: this.#ended_ns,
				parts: wait,
				count: 1,
				variance: 0,
			});
		}
		walker.close();
		return stacks;
	}
}
