/** syscount: which system calls are made, how often they fail, how long they take. */
import { parseErrno } from '../../abi/errno.js';
import type { Lost, TableFindings } from '../../aggregate/report.js';
import { chooseCallHook, PERF_HOOK_NS, PerfCallHooks } from '../../bpf/calls/call-hooks.js';
import { callConstants, indexesOf } from '../../bpf/calls/calls.js';
import { setRoomInHalves } from '../../bpf/window.js';
import { UsageError } from '../../errors.js';
import { syscount as layout } from '../../generated/syscount.js';
import { possibleCpus } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import { callNameParser, callsParser, listCalls } from '../../options/call-words.js';
import { maxBucketsOption, topOption, wholeNumber } from '../../options/parsers.js';
import { flag, parsed } from '../../options/typed-option.js';
import { refuseKernelThreads } from '../../proc/kernel-threads.js';
import type { Reader } from '../../reader.js';
import { MICROSECONDS, MILLISECONDS } from '../../render/units.js';
import { defineTool, type Plan } from '../../tool.js';
import { Calls, type CallsSettings, usedSlots } from './calls.js';
import { doctor } from './doctor.js';
import { renderFailures } from './failed-table.js';
import { type FailedCallRow, FailedCalls } from './failures.js';
import { type CallRow, callRows } from './rows.js';
import { renderCalls } from './table.js';
import { traitConstants } from './traits.js';

type Layout = typeof layout;

interface Settings extends CallsSettings {
	readonly onlyFailed: boolean;
	/** What calls were about that failed. */
	readonly paths: boolean;
	readonly maxPaths: number;
	/** 0: all. */
	readonly errno: number;
	/** Indexes into the programs' tables; undefined: all calls. */
	readonly calls: readonly number[] | undefined;
	/** The call to show a histogram of. */
	readonly hist: string | undefined;
	readonly milliseconds: boolean;
	readonly top: number;
	readonly maxBuckets: number;
}

/** Calls by what they are; or with --paths those that failed, by what they were about. */
type SyscountFindings =
	| (TableFindings<CallRow> & { readonly of: 'calls' })
	| (TableFindings<FailedCallRow> & { readonly of: 'failures' });

/** The room that failures.h has for failed calls by what they were about, unless it is given. */
const MAX_PATHS = 8192;
/** For strange numbers, where nothing else goes to the table of groups. */
const FEW_BUCKETS = 1024;

const PROGRAMS = {
	raw: { enter: 'syscount_enter', exit: 'syscount_exit' },
	perf: { enter: 'syscount_enter_perf', exit: 'syscount_exit_perf' },
} as const;
const OPEN_CALLS = ['open_calls'] as const;
/** What the programs for perf are attached to, of raw_syscalls. */
const PERF_EVENTS = [
	['syscount_enter_perf', 'sys_enter'],
	['syscount_exit_perf', 'sys_exit'],
] as const;

/** What is not by path. */
const NOT_WITH_PATHS = ['pids', 'latency', 'hist', 'errors', 'bytes'];

/** Lists the names of calls. */
const LIST = 'tstrace syscount -l';

const options = () => ({
	pids: flag('-P, --pids', 'a row for each process, not for each call').conflicts([
		'errors',
		'hist',
	]),
	latency: flag('--latency', 'show how long calls take: total, mean, p50, p99, max'),
	hist: parsed(
		'--hist <name>',
		'show times as --latency does, and a histogram of this call',
		callNameParser(LIST),
	),
	bytes: flag('--bytes', 'show how many bytes calls read and write').conflicts([
		'latency',
		'hist',
		'failed',
		'errno',
		'errors',
	]),
	failed: flag('-x, --failed', 'only calls that fail'),
	paths: flag('--paths', 'show for which path or descriptor calls failed, by process').conflicts(
		NOT_WITH_PATHS,
	),
	errno: parsed('--errno <errno>', 'only calls that fail with this error', parseErrno),
	errors: flag('--errors', 'count failed calls by call and error').conflicts('latency'),
	syscall: parsed(
		'--syscall <list>',
		'only these calls: names, numbers, file, network, process, memory, ipc, desc',
		callsParser(LIST),
	),
	top: topOption(20, 'rows with the most calls or time'),
	milliseconds: flag(
		'-m, --milliseconds',
		'with --latency: show all times in milliseconds',
	).conflicts('paths'),
	maxBuckets: maxBucketsOption(),
	maxPaths: parsed(
		'--max-paths <n>',
		`with --paths: room for N rows in the kernel, 600 B each (default: ${MAX_PATHS})`,
		wholeNumber(1 << 20),
	).conflicts(NOT_WITH_PATHS),
	list: flag('-l, --list', 'list the names of calls and sets'),
});

export const syscount = defineTool<Layout, Settings, SyscountFindings, ReturnType<typeof options>>({
	name: 'syscount',
	summary: 'system calls: how many, which fail, which are slow',
	description: 'Counts system calls when they return, and shows those that are still in progress.',
	examples: [
		['tstrace syscount 1', 'all calls, every second'],
		['tstrace syscount --latency -p 1234 5', 'how long calls of a process take'],
		['tstrace syscount -P --errno ENOENT 5', 'which processes find a file missing'],
		['tstrace syscount --errors -- make', 'which calls fail, and why'],
		['tstrace syscount --hist read 5', 'times, and a histogram of read'],
		['tstrace syscount --paths --errno ENOENT 5', 'which files are missing'],
		['tstrace syscount -P --bytes 5', 'how much processes read and write'],
	],
	options,
	kind: 'table',
	layout,
	doctor,

	settings(values) {
		const { hist, syscall: calls, paths } = values;
		const timed = values.latency || hist !== undefined;
		const failed = paths || values.failed || values.errno !== undefined;
		const settings: Settings = {
			timed,
			byProcess: values.pids,
			byErrno: values.errors,
			bytes: values.bytes,
			onlyFailed: failed,
			paths,
			maxPaths: values.maxPaths ?? MAX_PATHS,
			// What has not returned has not failed.
			open: !failed && !values.errors,
			errno: values.errno ?? 0,
			calls,
			hist,
			milliseconds: values.milliseconds,
			top: values.top,
			maxBuckets: values.maxBuckets,
		};
		if (settings.milliseconds && !timed)
			throw new UsageError('-m sets the unit of times: add --latency, or leave out -m');
		if (values.maxPaths !== undefined && !paths)
			throw new UsageError(
				'--max-paths is the room for the rows of --paths: add --paths, or leave out --max-paths',
			);
		if (hist !== undefined && settings.byErrno)
			throw new UsageError('--errors shows no times; leave out --hist');
		if (hist !== undefined && calls && !indexesOf(hist).some((index) => calls.includes(index)))
			throw new UsageError(
				`--hist ${hist} needs this call, and --syscall leaves it out: add ${hist} to --syscall`,
			);
		return settings;
	},

	otherNames: { '-L': '--latency', '-e': '--errno' },

	list: (values) => (values.list ? listCalls() : undefined),

	subject({ timed, onlyFailed, byErrno, bytes }) {
		const what = onlyFailed || byErrno ? 'failing system calls' : 'system calls';
		if (bytes) return 'system calls and what they read and write';
		return timed ? `${what} and their times` : what;
	},

	plan(object, settings, { filter }): Plan<Layout> {
		refuseKernelThreads(filter, 'it makes no system calls');
		callConstants(object, settings.calls);
		if (settings.bytes || settings.paths) traitConstants(object);
		object.setConstants({
			timed: settings.timed,
			by_errno: settings.byErrno || settings.paths,
			only_failed: settings.onlyFailed || settings.byErrno,
			only_errno: settings.errno,
			with_bytes: settings.bytes,
			with_paths: settings.paths,
			group_by: layout.enums.group_by[settings.byProcess ? 'GROUP_BY_PROCESS' : 'GROUP_BY_NOTHING'],
		});
		const { timed } = settings;
		const hook = chooseCallHook();
		const { enter, exit } = PROGRAMS[hook.name];
		const programs = timed ? [enter, exit] : [exit];
		makeRoom(object, settings);
		return {
			attach: hook.name === 'raw' ? programs : [],
			load: [...(hook.name === 'perf' ? programs : []), ...(settings.open ? OPEN_CALLS : [])],
			trap_ns: hook.name === 'perf' ? PERF_HOOK_NS : 0,
			because:
				`${timed ? 'times calls from sys_enter to sys_exit' : 'counts calls when they return'}, ` +
				`at ${hook.name} tracepoints: ${hook.because}`,
		};
	},

	reader: (object, settings) => new CallReader(object, settings),

	text(settings) {
		const failing = settings.onlyFailed || settings.byErrno;
		return {
			none: failing ? 'no call failed' : 'no calls were seen',
			report: async (findings, style) => {
				if (findings.of === 'failures')
					return renderFailures(findings.rows, { ...settings, style });
				return renderCalls(findings.rows, {
					...settings,
					unit: settings.milliseconds ? MILLISECONDS : MICROSECONDS,
					style,
				});
			},
		};
	},
});

/** Before loading: maps as large as they are used. */
function makeRoom(object: BpfObject<Layout>, settings: Settings): void {
	const { timed, byProcess, byErrno, bytes } = settings;
	const buckets = timed || byProcess || byErrno || bytes ? settings.maxBuckets : FEW_BUCKETS;
	FailedCalls.setRoom(object, settings.paths ? settings.maxPaths : 1);
	setRoomInHalves(object, 'groups', buckets);
	const slots = usedSlots(object.layout.structs.hist.size, possibleCpus());
	object.setConstants({ used_slots: slots });
	object.map('hists').setMaxEntries(timed && !byProcess ? 2 * slots : 1);
	if (!timed) {
		object.map('call_places').setMaxEntries(1);
		object.map('calls_displaced').setMaxEntries(1);
	}
}

class CallReader implements Reader<SyscountFindings> {
	readonly #calls: Calls;
	readonly #failed: FailedCalls;
	readonly #settings: Settings;
	readonly #object: BpfObject<Layout>;
	readonly #hooks = new PerfCallHooks();
	#ended = false;

	constructor(object: BpfObject<Layout>, settings: Settings) {
		this.#calls = new Calls(object, settings);
		this.#failed = new FailedCalls(object);
		this.#settings = settings;
		this.#object = object;
	}

	begin(): void {
		this.#calls.begin();
		this.#hooks.attach(this.#object, PERF_EVENTS);
	}

	drain(): void {
		const { timed, byProcess, byErrno, bytes } = this.#settings;
		if (timed || byProcess || byErrno || bytes) this.#calls.collect();
	}

	end(): void {
		this.#calls.findOpen();
		this.#ended = true;
		this.close();
	}

	async read(): Promise<SyscountFindings> {
		if (this.#settings.paths)
			return { kind: 'table', of: 'failures', about: {}, rows: this.#failed.take() };
		if (!this.#ended) this.#calls.findOpen();
		this.#calls.collect();
		const rows = await callRows(this.#calls.take(), this.#settings);
		const { timed } = this.#settings;
		return { kind: 'table', of: 'calls', about: timed ? { unit: 'ns' } : {}, rows };
	}

	lost(): Lost {
		return this.#calls.lost();
	}

	/** Attaches perf's programs no more; twice is once. */
	close(): void {
		this.#hooks.close();
	}
}
