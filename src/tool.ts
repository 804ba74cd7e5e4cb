/** What a tool is. Everything a tool does not declare here is the same for all: src/run does it, and src/cli before it. */
import type { PageReport } from './aggregate/page-report.js';
import type { Circumstances, EventRow, Findings, RowFindings } from './aggregate/report.js';
import type { Key } from './aggregate/row-key.js';
import type { StackTool } from './aggregate/stack-tool.js';
import type { Filter, FilteredLayout, Subjects } from './bpf/filter.js';
import type { ToolDoctor } from './doctor/of-tools.js';
import type { ObjectLayout } from './loader/layout.js';
import type { BpfObject } from './loader/object.js';
import type { Options, ValuesOf } from './options/typed-option.js';
import type { Note, Reader } from './reader.js';
import type { Style } from './render/terminal.js';
import type { UnwindTables } from './symbolize/walks/unwind-tables.js';

/** Which parts of the BPF object a run needs. */
export interface Plan<L extends ObjectLayout> {
	/** Programs to load and attach. */
	readonly attach: ReadonlyArray<L['programs'][number]>;
	/** Programs to load, which the reader attaches, or runs. */
	readonly load?: ReadonlyArray<L['programs'][number]>;
	/** What the kernel takes to come to one of `load`, each time, beside the program's own time. */
	readonly trap_ns?: number;
	/** Iterator programs to load, and to run once as soon as everything is attached. */
	readonly runOnce?: ReadonlyArray<L['programs'][number]>;
	/** Maps not to create, because nothing uses them or the kernel does not know their type. */
	readonly withoutMaps?: ReadonlyArray<keyof L['maps'] & string>;
	/** For -v: which way of several was chosen, and why. */
	readonly because: string;
	/** What the reader gets as `tables`: they are read while the kernel checks the programs. */
	readonly tables?: UnwindTables | undefined;
}

interface StackExport {
	readonly delimited: boolean;
	/** Whether folded stacks mark what kind frames are of. */
	readonly annotated: boolean;
	/** Whether the root says the process's number, too. */
	readonly process: boolean;
}

/** Shows findings as text: those of the tool's own reader. */
export interface TextView<F extends Findings> {
	/** Above streamed rows, once. */
	readonly header?: string;
	row?(row: EventRow): string;
	/** Below streamed rows: RowFindings.totals. */
	totals?(totals: readonly Key[], style: Style): string;
	/** All but single events, which `row` is for. */
	report(findings: Exclude<F, RowFindings>, style: Style): Promise<string>;
	/** Findings as they are shown, where that is not as they were found; `json`: for programs, which add up. */
	shown?(findings: F, json: boolean): F;
	/** How stacks leave other than as text, for tools that find them. */
	readonly stacks?: StackExport;
	/** What a page of stacks says before it shows them. */
	page?(findings: F): PageReport;
	/** What to say where nothing was found: "nothing waited". */
	readonly none?: string;
}

/**
 * 'latency' and 'table': `[interval [count]]`, a result for each interval. 'stacks': `[duration]`, one result
 * at its end. 'events': `[duration]`, rows as they come. What they write where nobody says it:
 * options/choose-format.ts, unnamedFormat.
 */
export type ToolKind = 'latency' | 'stacks' | 'table' | 'events';

/** How a tool reads without BPF programs: what the kernel counts or records for anybody. */
export interface WithoutBpf<Settings, F extends Findings> {
	/** Throws TstraceError. */
	reader(settings: Settings, subjects: Subjects, note: Note): Reader<F>;
	/** How it reads, for -v: "tstrace reads perf events one by one". */
	readonly because: string;
	/** What the cost leaves out, as nothing measures it: "the kernel's time for samples". */
	readonly unseen: string;
}

/** What of the common options a tool may look at, for its own to agree with. */
export interface CommonChoices {
	readonly filter: Filter;
	/** Undefined: nobody named one. */
	readonly format: string | undefined;
	readonly output: string | undefined;
	readonly hdr: string | undefined;
	readonly timestamps: boolean;
	/** Options of text, as far as they were given: "top". */
	readonly ofText: readonly string[];
	/** There is to be a result for each interval. */
	readonly intervals: boolean;
	readonly hasCommand: boolean;
}

/** The common options that choose threads, by name, which a tool may have to refuse. */
type FilterOption = 'comm' | 'cpu' | 'userThreads' | 'kernelThreads';

/** What a tool says of itself on the command line, whatever it finds and how. */
export interface ToolDeclaration {
	readonly name: string;
	/** One line for `tstrace --help`, without a full stop. */
	readonly summary: string;
	/** The first paragraph of `tstrace NAME --help`. */
	readonly description: string;
	readonly examples: ReadonlyArray<readonly [command: string, effect: string]>;
	/** Fresh ones at each call: commander keeps state in them. */
	readonly options: () => Options;
	readonly kind: ToolKind;
	/** Of 'stacks': it takes `[interval [count]]`, and text and JSON have a result for each. */
	readonly repeats?: boolean;
	/** Of 'stacks': how long it traces where nobody says it, and there is no COMMAND; undefined: until Ctrl-C. */
	readonly duration_s?: number;
	/** Of 'stacks': what its result is for, and how it is drawn. */
	readonly stackTool?: StackTool;
	/** Options of tools like it (bcc's, perf's) that have another name here, with that name. */
	readonly otherNames?: Readonly<Record<string, string>>;
	/** Filters that it cannot apply, by their options' names: help leaves them out, `settings` refuses them. */
	readonly lacks?: readonly FilterOption[];
	/** What `lines` is for, for the usage: "--slower USEC 5: …". */
	readonly linesHelp?: string;
	readonly doctor?: ToolDoctor;
}

/** What every tool does with its settings, however it comes to its findings (`F`). */
interface ToolActions<Settings, F extends Findings> extends ToolDeclaration {
	/**
	 * Of 'latency': the option by which these settings print lines as they come. As for 'events' the number
	 * is the duration then.
	 */
	lines?(settings: Settings): string | undefined;
	/** What is being traced, for the line that says tracing has begun: "run queue latency". */
	subject(settings: Settings, subjects: Subjects): string;
	/** What of the settings leaves something out, as `Circumstances.filters` has it. */
	filters?(settings: Settings): Circumstances['filters'];
	/** The time between results, where an option of its own has it, as tools like it do. */
	interval?(settings: Settings): OwnInterval | undefined;
	/** Whether COMMAND is run several times. */
	readonly repeated?: Repeated<Settings, F>;
	text(settings: Settings): TextView<F>;
}

/** `option`: "--interval". */
interface OwnInterval {
	readonly option: string;
	readonly s: number;
}

interface Repeated<Settings, F extends Findings> {
	times(settings: Settings): number;
	/** One result of those of all runs, of which there are two at the least. */
	joined(all: readonly F[]): F;
}

/**
 * A tool whose BPF programs count in the kernel, in the order of the data's way: options, programs, reading,
 * text. What its reader finds (`F`) is what its text shows.
 */
export interface BpfTool<L extends FilteredLayout, Settings, F extends Findings>
	extends ToolActions<Settings, F> {
	readonly layout: L;
	/** Chooses programs, sets constants, says what is read meanwhile; the object is open and not yet loaded. */
	plan(object: BpfObject<L>, settings: Settings, subjects: Subjects, note: Note): Plan<L>;
	/** The object is loaded, and not yet attached; `tables` are the plan's. */
	reader(
		object: BpfObject<L>,
		settings: Settings,
		subjects: Subjects,
		note: Note,
		tables: UnwindTables | undefined,
	): Reader<F>;
	/** For users who may not load programs. */
	readonly withoutBpf?: WithoutBpf<Settings, F>;
}

/** A tool that has no BPF object, and needs none: the kernel counts what it shows in any case. */
interface PlainTool<Settings, F extends Findings> extends ToolActions<Settings, F> {
	readonly layout?: undefined;
	readonly withoutBpf: WithoutBpf<Settings, F>;
}

export type Tool<L extends FilteredLayout, Settings, F extends Findings> =
	| BpfTool<L, Settings, F>
	| PlainTool<Settings, F>;

/** A tool's own options, and what they mean. */
interface WithOptions<Settings, O extends Options> {
	readonly options: () => O;
	/** Checks what the options mean together. Throws UsageError. */
	settings(values: ValuesOf<O>, common: CommonChoices): Settings;
	/** What to print instead of tracing, if that is what the options ask for: lists of names. */
	list?(values: ValuesOf<O>): string | undefined;
}

interface BpfToolWithOptions<
	L extends FilteredLayout,
	Settings,
	F extends Findings,
	O extends Options,
> extends BpfTool<L, Settings, F>,
		WithOptions<Settings, O> {
	readonly options: () => O;
}

interface PlainToolWithOptions<Settings, F extends Findings, O extends Options>
	extends PlainTool<Settings, F>,
		WithOptions<Settings, O> {
	readonly options: () => O;
}

/** One tool with its options. */
export type ToolWithOptions<
	L extends FilteredLayout,
	Settings,
	F extends Findings,
	O extends Options,
> = BpfToolWithOptions<L, Settings, F, O> | PlainToolWithOptions<Settings, F, O>;

/** Whether it has no BPF object. */
export function isPlain<L extends FilteredLayout, Settings, F extends Findings>(
	tool: Tool<L, Settings, F>,
): tool is PlainTool<Settings, F> {
	return tool.layout === undefined;
}

/** Some tool, whose layout, settings and findings are its own affair: what uses it is for all tools. */
export interface AnyTool extends ToolDeclaration {
	/** Calls `action` with the tool. */
	use<R>(
		action: <L extends FilteredLayout, S, F extends Findings, O extends Options>(
			tool: ToolWithOptions<L, S, F, O>,
		) => R,
	): R;
}

/** Declares a tool that has BPF programs. */
export function defineTool<
	L extends FilteredLayout,
	Settings,
	F extends Findings,
	O extends Options,
>(tool: BpfToolWithOptions<L, Settings, F, O>): BpfToolWithOptions<L, Settings, F, O> & AnyTool {
	return { ...tool, use: (action) => action(tool) };
}

/** Declares a tool that has no BPF object. */
export function definePlainTool<Settings, F extends Findings, O extends Options>(
	tool: PlainToolWithOptions<Settings, F, O>,
): PlainToolWithOptions<Settings, F, O> & AnyTool {
	return { ...tool, use: (action) => action<FilteredLayout, Settings, F, O>(tool) };
}
