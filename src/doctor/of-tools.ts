/** What tools say for themselves to `tstrace doctor`. */
import type { Check } from './check.js';
import type { ExaminedProcess, ProcessExamination } from './process.js';

/** What `tstrace doctor` says of a tool, beside whether it starts. */
export interface ToolDoctor {
	/** What this machine has of what only this tool needs. */
	machine?(): Check[];
	/** The same of a process; `cannot`: why the tool cannot trace it. */
	process?(examined: ExaminedProcess): { readonly checks: Check[]; readonly cannot?: string };
}

/** What a tool says of processes; `cannot`: why it cannot trace one of them. */
export function askOf(
	doctor: ToolDoctor | undefined,
	processes: readonly ProcessExamination[],
): { checks: Check[]; cannot: string | undefined } {
	let checks: Check[] = [];
	let cannot = processes.find(({ gone }) => gone !== undefined)?.gone;
	for (const { process: examined, unreadable } of doctor?.process ? processes : []) {
		const found = examined && doctor?.process?.(examined);
		checks = checks.concat(found?.checks ?? []);
		cannot ??= found ? found.cannot : unreadable;
	}
	return { checks, cannot };
}
