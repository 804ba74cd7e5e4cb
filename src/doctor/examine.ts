/** All checks, in the order in which they are shown. */
import { TstraceError } from '../loader/errors.js';
import { libbpf } from '../loader/ffi.js';
import { captureMessages } from '../loader/messages.js';
import { attempt, type Check, type ToolCheck } from './check.js';
import { kernel } from './kernel.js';
import { caller, kernelSymbols, library } from './libraries.js';
import { perfEvents } from './perf.js';
import { privileges, surroundings } from './privileges.js';
import type { ProcessExamination } from './process.js';

export function examineMachine(): Check[] {
	keepMessages();
	return [
		caller(),
		attempt('libbpf', library),
		...kernel(),
		...privileges(),
		...perfEvents(),
		attempt('kernel symbols', kernelSymbols),
		...surroundings(),
	];
}

/** What libbpf says of what we try is not for the terminal. */
function keepMessages(): void {
	try {
		libbpf();
		captureMessages(false);
	} catch (error) {
		if (!(error instanceof TstraceError)) throw error;
	}
}

/** What tools can do, as far as these processes are concerned. */
export function forProcesses(
	tools: readonly ToolCheck[],
	processes: readonly ProcessExamination[],
): ToolCheck[] {
	const gone = processes.find((process) => process.gone !== undefined)?.gone;
	const noHeap = processes.find((process) => process.noHeap !== undefined)?.noHeap;
	return tools.map((tool) => {
		const why = gone ?? (tool.name === 'memleak' ? noHeap : undefined);
		return tool.runs && why !== undefined ? { name: tool.name, runs: false, why } : tool;
	});
}
