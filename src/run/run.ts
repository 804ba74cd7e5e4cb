/** From parsed options to an exit status: what is started is ended, whatever happens between. */
import type { Findings } from '../aggregate/report.js';
import type { FilteredLayout } from '../bpf/filter.js';
import { closeAll, closedAfter } from '../loader/close-all.js';
import type { Tool } from '../tool.js';
import type { CommonSettings } from './common-options.js';
import { Command } from './held-command.js';
import { ClosedPipe } from './output.js';
import { Rounds } from './rounds.js';
import { Session } from './session.js';
import { Stop } from './stop.js';
import { type Way, wayInto } from './tracing.js';

interface RunOptions {
	readonly interval_s: number | undefined;
	readonly count: number | undefined;
	readonly common: CommonSettings;
	readonly command: readonly string[];
	/** tstrace's own arguments, with COMMAND's. */
	readonly args: readonly string[];
}

/**
 * Runs a tool to its end and returns the exit status: of a COMMAND that is run several times, the first that is not 0.
 * Throws UsageError and TstraceError.
 */
export async function run<L extends FilteredLayout, S, F extends Findings>(
	tool: Tool<L, S, F>,
	settings: S,
	options: RunOptions,
): Promise<number> {
	const way = wayInto(tool);
	const { repeated } = tool;
	const times = options.command.length > 0 ? (repeated?.times(settings) ?? 1) : 1;
	const rounds = new Rounds<F>(times, (all) => repeated?.joined(all) ?? (all.at(-1) as F));
	let status = 0;
	do {
		const ended = await runRound(tool, settings, options, { way, rounds });
		if (status === 0) status = ended.status;
		if (ended.pipeClosed) break;
	} while (!rounds.isOver);
	return status;
}

/** `pipeClosed`: nobody reads the result any more. */
async function runRound<L extends FilteredLayout, S, F extends Findings>(
	tool: Tool<L, S, F>,
	settings: S,
	options: RunOptions,
	{ way, rounds }: { way: Way<S, F>; rounds: Rounds<F> },
): Promise<{ readonly status: number; readonly pipeClosed: boolean }> {
	const stop = new Stop();
	let command: Command | undefined;
	let session: Session<L, S, F> | undefined;
	let pipeClosed = false;
	const closes = [() => session?.close(), () => command?.terminate(), () => stop.close()];
	try {
		if (options.command.length > 0) command = new Command(options.command);
		session = new Session(tool, settings, { ...options, command, rounds }, way);
		await session.trace(stop);
		session.close();
		// COMMAND may outlive the last interval: it goes on untraced. A signal is handed on to it.
		stop.onSignal((signal) => command?.handOn(signal));
		await command?.ended;
		stop.check();
	} catch (error) {
		if (!(error instanceof ClosedPipe)) throw closedAfter(error, closes);
		pipeClosed = true;
	}
	closeAll(closes);
	return { status: command?.status ?? 0, pipeClosed };
}
