/** `tstrace doctor`: tries every tool for a moment, on ourselves, and shows what it found. */
import { Command as Cli, Option } from 'commander';
import type { Findings } from '../aggregate/report.js';
import type { FilteredLayout } from '../bpf/filter.js';
import type { ToolCheck } from '../doctor/check.js';
import { examineMachine } from '../doctor/examine.js';
import { askOf } from '../doctor/of-tools.js';
import { examineProcess } from '../doctor/process.js';
import { renderJson, renderText } from '../doctor/render.js';
import { tools } from '../generated/tools.js';
import { takeMessages } from '../loader/libbpf-messages.js';
import type { OptionValues } from '../options/option-values.js';
import { parsePids } from '../options/parsers.js';
import { styleFor } from '../render/terminal.js';
import { commonOptions, commonSettings } from '../run/common-options.js';
import { ClosedPipe, Output } from '../run/output.js';
import { wayInto } from '../run/run.js';
import { BpfTracing, PlainTracing } from '../run/tracing.js';
import type { AnyTool, Tool, ToolDeclaration } from '../tool.js';

const EXIT_FAILED = 1;

export function doctorOptions(): Option[] {
	return [
		new Option('-p, --pid <pids>', 'check these processes too').argParser(parsePids),
		new Option('--json', 'print JSON on one line'),
	];
}

/** Returns the exit status: 0 if every tool can run. */
export async function doctor(values: OptionValues): Promise<number> {
	let checks = examineMachine();
	const processes = ((values.pid as number[] | undefined) ?? []).map(examineProcess);
	let ofProcesses = processes.flatMap((each) => each.checks);
	const tried: ToolCheck[] = [];
	for (const load of Object.values(tools)) {
		const tool: AnyTool = await load();
		checks = checks.concat(tool.doctor?.machine?.() ?? []);
		const asked = askOf(tool.doctor, processes);
		ofProcesses = ofProcesses.concat(asked.checks);
		const there = processes.flatMap(({ pid, gone }) => (gone === undefined ? [pid] : []));
		const found = tool.use((each) => tryTool(each, there));
		const { cannot } = asked;
		tried.push(found.runs && cannot ? { name: tool.name, runs: false, why: cannot } : found);
	}
	const examination = { checks: [...checks, ...ofProcesses], tools: tried };
	const text = values.json
		? renderJson(examination)
		: renderText(examination, styleFor(process.stdout));
	const output = Output.stdout();
	try {
		await output.write(text);
	} catch (error) {
		if (!(error instanceof ClosedPipe)) throw error;
	} finally {
		output.close();
	}
	return examination.tools.every(({ runs }) => runs) ? 0 : EXIT_FAILED;
}

/**
 * Begins to trace this process and ends that at once: all the kernel could refuse has then been asked for,
 * and nobody else is touched. Without BPF it depends on whose process it is: `pids` are tried.
 */
function tryTool<L extends FilteredLayout, S, F extends Findings>(
	tool: Tool<L, S, F>,
	pids: readonly number[],
): ToolCheck {
	const { name } = tool;
	let way: string | undefined;
	const note = (text: string) => {
		way ??= text;
	};
	try {
		const settings = tool.settings(defaultsOf(tool));
		const { privileged, withoutBpf } = wayInto(tool);
		const pid = withoutBpf && pids.length > 0 ? pids : [process.pid];
		const { filter } = commonSettings({ pid }, [], tool.kind);
		const subjects = { filter, command: undefined, words: [] };
		if (withoutBpf) {
			way = 'without BPF: tstrace reads perf events one by one';
			new PlainTracing(withoutBpf.reader(settings, subjects, privileged), subjects).close();
		} else {
			new BpfTracing(tool, settings, subjects, { verbose: false, note }).close();
		}
		return { name, runs: true, ...(way === undefined ? {} : { way }) };
	} catch (error) {
		takeMessages();
		return { name, runs: false, why: error instanceof Error ? error.message : String(error) };
	}
}

/** What its options say where none is given. */
function defaultsOf(tool: ToolDeclaration): OptionValues {
	const cli = new Cli().exitOverride();
	for (const option of [...tool.options(), ...commonOptions(tool.kind, tool.stackTool?.use)])
		cli.addOption(option);
	return cli.parse([], { from: 'user' }).opts();
}
