/** From what a machine reported to the table and docs/kernels.md: pure. */
import { FEATURES, type FeatureName, isDue, NEEDS, sinceOf } from './features.js';
import type { Facts, Hook, Line, TestResult } from './lines.js';
import { MACHINES, TOOLS, type ToolTests } from './matrix.js';

/** A tool on a kernel. */
interface Row {
	readonly tool: string;
	readonly passed: number;
	/** Of these, after they had failed once. */
	readonly again: number;
	/** Features that the kernel lacks, and how many tests were skipped for each. */
	readonly lacking: Readonly<Record<string, number>>;
	/** What is wrong; empty: it works. */
	readonly failures: readonly string[];
	/** How the tool works here. */
	readonly hook: string;
	/** Of the kernel's memory, for maps and programs. Undefined: nobody has looked. */
	readonly kernel_bytes?: number;
}

/** By each tool that has no other limit, on a machine with 64 CPUs, too. */
const MOST_KERNEL_MB = 64;

export interface MachineResult {
	readonly machine: string;
	readonly kernel: string;
	readonly arch: string;
	readonly seconds: number;
	/** Which tests ran: an Extent, and the names of tools. */
	readonly extent: string;
	readonly rows: readonly Row[];
	/** Of the machine as a whole. */
	readonly failures: readonly string[];
	/** Of tstrace, and the day; only in results that are kept. */
	readonly commit?: string;
	readonly date?: string;
}

export function failed({ rows, failures }: MachineResult): boolean {
	return failures.length > 0 || rows.some((row) => row.failures.length > 0);
}

/** `incomplete`: why the machine did not get to its end. */
export function resultOf(
	machine: string,
	lines: readonly Line[],
	run: { extent: string; seconds: number; incomplete: string | undefined },
): MachineResult {
	const facts = lines.find((line): line is Facts => line.type === 'facts');
	const hooks = lines.filter((line): line is Hook => line.type === 'hook');
	const tests = lines.filter((line): line is TestResult => line.type === 'test');
	const [, ...only] = run.extent.split(',');
	const wanted = TOOLS.filter(({ tool }) => only.length === 0 || only.includes(tool));
	return {
		machine,
		kernel: facts?.release ?? 'unknown',
		arch: facts?.arch ?? '',
		seconds: Math.round(run.seconds),
		extent: run.extent,
		rows: wanted.map((toolTests) =>
			rowOf(
				toolTests,
				hooks.find((hook) => hook.tool === toolTests.tool),
				tests.filter((test) => test.tool === toolTests.tool),
				facts,
			),
		),
		failures: [
			...(run.incomplete ? [run.incomplete] : []),
			...unexpected(facts),
			...lines.flatMap((line) => (line.type === 'warnings' ? line.lines : [])),
		],
	};
}

function rowOf(
	{ tool, needs, says = {} }: ToolTests,
	hook: Hook | undefined,
	told: readonly TestResult[],
	facts: Facts | undefined,
): Row {
	if (needs && facts?.features[needs] === false) return refusal(tool, needs, hook);
	const repeated = new Set(told.flatMap(({ name, again }) => (again ? name : [])));
	const tests = told.filter(({ name, again }) => again || !repeated.has(name));
	const again = tests.filter((test) => test.again && test.result === 'passed').length;
	const skipped = tests.filter(({ result }) => result === 'skipped');
	const passed = tests.filter(({ result }) => result === 'passed').length;
	const failures = [
		...(hook?.began ? [] : [`it did not start: ${hook?.stderr ?? 'no output'}`]),
		...tests.flatMap(({ name, result, why }) => (result === 'failed' ? `${name}: ${why}` : [])),
		...skipped.flatMap((test) => wrongSkip(test, facts)),
		...(hook?.began && facts ? wrongWay(says, hook, facts) : []),
		...(hook && hook.kernel_bytes > MOST_KERNEL_MB * 2 ** 20
			? [`it holds ${inMB(hook.kernel_bytes)} of the kernel's memory`]
			: []),
	];
	if (passed === 0 && failures.length === 0) failures.push('none of its tests ran');
	const lacking: Record<string, number> = {};
	for (const { why } of skipped) {
		const feature = why.slice(NEEDS.length);
		lacking[feature] = (lacking[feature] ?? 0) + 1;
	}
	const { because = '', kernel_bytes = 0 } = hook ?? {};
	return { tool, passed, again, lacking, failures, hook: because, kernel_bytes };
}

/** Of a tool that has to refuse to run on this kernel. */
function refusal(tool: string, needs: FeatureName, hook: Hook | undefined): Row {
	const refused = hook && !hook.began && /^tstrace .*; use /m.test(hook.stderr);
	const failures = refused ? [] : [`it does not refuse to run, without ${needs}`];
	return {
		tool,
		passed: 0,
		again: 0,
		lacking: {},
		failures,
		hook: `refuses to run without ${needs}`,
	};
}

/** What is wrong with a skip: its reason is no kernel feature, or the kernel has the feature. */
function wrongSkip({ name, why }: TestResult, facts: Facts | undefined): string[] {
	const feature = why.startsWith(NEEDS) ? why.slice(NEEDS.length) : '';
	if (!(feature in FEATURES))
		return [`${name}: skipped, but not because the kernel lacks a feature: ${why}`];
	if (facts?.features[feature] === false) return [];
	return [`${name}: skipped because it needs ${feature}, but this kernel has it`];
}

/** What a tool says that does not fit the kernel: that it fell back, say, where it had no need to. */
function wrongWay(says: NonNullable<ToolTests['says']>, { because }: Hook, facts: Facts): string[] {
	return (Object.keys(says) as FeatureName[]).flatMap((feature) => {
		const words = says[feature] ?? '';
		const due = isDue(feature, facts);
		if (because.includes(words) === due) return [];
		return `${facts.release} ${due ? 'has' : 'lacks'} ${feature}, and it ${due ? 'does not say' : 'says'} "${words}"`;
	});
}

/** Features that a kernel of this version should have and does not, or the other way round. */
function unexpected(facts: Facts | undefined): string[] {
	if (!facts) return ['the machine did not report its kernel'];
	return (Object.keys(FEATURES) as FeatureName[]).flatMap((name) => {
		const due = isDue(name, facts);
		if (facts.features[name] === due) return [];
		return `${name} came with ${sinceOf(name, facts)}, but ${facts.release} ${due ? 'does not have it' : 'has it'}`;
	});
}

const inMB = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

/** "12 passed; 3 need task storage" */
function inWords({ passed, again, lacking, failures }: Row): string {
	if (passed === 0 && failures.length === 0 && Object.keys(lacking).length === 0) return 'none';
	const parts = [`${passed} passed${again > 0 ? `, ${again} of them at the second try` : ''}`];
	if (failures.length > 0) parts.unshift(`${failures.length} FAILED`);
	for (const [feature, count] of Object.entries(lacking))
		parts.push(`${count} ${count === 1 ? 'needs' : 'need'} ${feature}`);
	return parts.join('; ');
}

/** Rows in columns as wide as their widest cell. */
function columns(rows: readonly (readonly string[])[]): string {
	const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
	return rows
		.map((row) =>
			row
				.map((cell, i) => cell.padEnd(widths[i] ?? 0))
				.join('  ')
				.trimEnd(),
		)
		.join('\n');
}

/** For the terminal: kernel, tool, result, way; then what is wrong. */
export function table(results: readonly MachineResult[]): string {
	const rows = results.flatMap((result) =>
		result.rows.map((row) => [`${result.kernel} ${result.arch}`, row.tool, inWords(row), row.hook]),
	);
	const wrong = results.flatMap((result) => [
		...result.failures.map((failure) => `${result.machine}: ${failure}`),
		...result.rows.flatMap((row) =>
			row.failures.map((failure) => `${result.machine}: ${row.tool}: ${failure}`),
		),
	]);
	const all = columns([['KERNEL', 'TOOL', 'RESULT', 'HOOK'], ...rows]);
	return `${[all, ...wrong].join('\n\n')}\n`;
}

const schedExt = ({ machine }: MachineResult) =>
	MACHINES.some(({ name, schedExt }) => name === machine && schedExt);

/** docs/kernels.md */
export function page(results: readonly MachineResult[]): string {
	const sections = results.map((result) => {
		const rows = result.rows.map(
			(row) =>
				`| \`${row.tool}\` | ${inWords(row)} | ${row.kernel_bytes ? inMB(row.kernel_bytes) : ''} | ${row.hook.replaceAll('|', '\\|')} |`,
		);
		return [
			`## ${result.kernel}, ${result.arch}${schedExt(result) ? ', sched_ext' : ''}`,
			'',
			`Tests: ${result.extent}; ${result.date ?? 'day unknown'}, commit ${result.commit ?? 'unknown'}, ${Math.ceil(result.seconds / 60)} minutes.`,
			...(result.failures.length > 0 ? ['', ...result.failures] : []),
			'',
			"| tool | live tests | the kernel's memory | how the tool works here |",
			'| --- | --- | --- | --- |',
			...rows,
		].join('\n');
	});
	const others = MACHINES.filter(({ name }) => !results.some(({ machine }) => machine === name));
	const not = others.map(({ name }) => `Not run since results are kept: ${name}.`);
	return `${[HEAD, ...sections, ...not].join('\n\n')}\n`;
}

const HEAD = `# What works on which kernel

\`make test-kernels\` starts Debian's kernels in QEMU, which emulates the CPU in software, and runs
the live tests there with the BPF objects that \`make\` built: the cloud kernels, the real-time
kernels (-rt), one whose threads a BPF program schedules (sched_ext), and one with 64 CPUs.
\`make kernels-doc\` writes this page from the results in
test/vm/results.json. A warning in the kernel's log fails the run. If a kernel lacks a feature, the
tests that need it cannot run, and the table names the feature. If such a test is skipped although
the kernel has the feature, the run fails. It also fails if a tool that follows threads off the CPU
does not keep them in task storage on Linux 6.4 and newer. A test that fails runs once more,
because an emulated machine is slow; the table says when the second try passed. "The kernel's
memory" is what the kernel says that the tool's maps and programs take (/proc/PID/fdinfo), at most
while it ran; more than 64 MB fails the run. Kernels before 6.4
do not say that. After "Tests:", "one" means one test of each tool, in which the right result is
known; "quick" means a few such tests, and "all" means all live tests of the tool.

## Real-time kernels

On a real-time kernel (PREEMPT_RT) before Linux 6.12, except 6.6 from 6.6.83 and Debian's 6.1 from
6.1.192 on, a thread can sleep on the lock of a ring buffer, and that could freeze the machine. tstrace
looks for this in the kernel's BTF. There \`timehist\`, \`trace\`, \`why\`, \`offwaketime --hops\` and
\`runqlat --slower\` refuse to run, and all else walks user stacks by frame pointers.`;
