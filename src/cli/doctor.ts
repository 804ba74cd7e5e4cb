/** `tstrace doctor`: tries every tool for a moment, on ourselves, and shows what it found. */
import type { Findings } from '../aggregate/report.js';
import type { FilteredLayout } from '../bpf/filter.js';
import type { ToolCheck } from '../doctor/check.js';
import { examineMachine } from '../doctor/examine.js';
import { askOf } from '../doctor/of-tools.js';
import { examineProcess } from '../doctor/process.js';
import { renderJson, renderText } from '../doctor/render.js';
import { tools } from '../generated/tools.js';
import { takeMessages } from '../loader/libbpf-messages.js';
import { parsePids } from '../options/parsers.js';
import { flag, listed, type Options, type RawValues, valuesOf } from '../options/typed-option.js';
import { styleFor } from '../render/terminal.js';
import { commonSettings } from '../run/common-options.js';
import { ClosedPipe, Output } from '../run/output.js';
import { wayInto } from '../run/tracing.js';
import type { AnyTool, ToolWithOptions } from '../tool.js';
import { EXIT_FAILED } from './explain.js';

export function doctorOptions() {
	return {
		pid: listed('-p, --pid <pids>', 'check these processes too', parsePids),
		json: flag('--json', 'print JSON on one line'),
	};
}

/** Returns the exit status: 0 if every tool can run. */
export async function doctor(raw: RawValues): Promise<number> {
	const { pid: pids, json } = valuesOf(doctorOptions(), raw);
	let checks = examineMachine();
	const processes = pids.map(examineProcess);
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
	const text = json ? renderJson(examination) : renderText(examination, styleFor(process.stdout));
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
function tryTool<L extends FilteredLayout, S, F extends Findings, O extends Options>(
	tool: ToolWithOptions<L, S, F, O>,
	pids: readonly number[],
): ToolCheck {
	const { name } = tool;
	let way: string | undefined;
	const note = (text: string) => {
		way ??= text;
	};
	try {
		const into = wayInto(tool);
		const pid = !into.withBpf && pids.length > 0 ? pids : [process.pid];
		const common = commonSettings({ pid }, [], tool.kind);
		const settings = tool.settings(valuesOf(tool.options(), {}), common);
		const { filter } = common;
		const subjects = { filter, command: undefined, words: [] };
		into.begin(settings, subjects, { verbose: false, isTrial: true, note }).close();
		return { name, runs: true, ...(way === undefined ? {} : { way }) };
	} catch (error) {
		takeMessages();
		return { name, runs: false, why: error instanceof Error ? error.message : String(error) };
	}
}
