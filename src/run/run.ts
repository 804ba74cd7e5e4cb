/** From parsed options to an exit status: what is started is ended, whatever happens between. */
import type { Findings } from '../aggregate/report.js';
import type { FilteredLayout } from '../bpf/filter.js';
import { closeAll, closedAfter } from '../loader/close-all.js';
import type { Tool } from '../tool.js';
import type { CommonSettings } from './common-options.js';
import { Command } from './held-command.js';
import { ClosedPipe } from './output.js';
import { Session } from './session.js';
import { Stop } from './stop.js';
import { wayInto } from './tracing.js';

interface RunOptions {
	readonly interval_s: number | undefined;
	readonly count: number | undefined;
	readonly common: CommonSettings;
	readonly command: readonly string[];
	/** tstrace's own arguments, with COMMAND's. */
	readonly args: readonly string[];
}

/** Runs a tool to its end and returns the exit status. Throws UsageError and TstraceError. */
export async function run<L extends FilteredLayout, S, F extends Findings>(
	tool: Tool<L, S, F>,
	settings: S,
	options: RunOptions,
): Promise<number> {
	const way = wayInto(tool);
	const stop = new Stop();
	let command: Command | undefined;
	let session: Session<L, S, F> | undefined;
	const closes = [() => session?.close(), () => command?.terminate(), () => stop.close()];
	try {
		if (options.command.length > 0) command = new Command(options.command);
		session = new Session(tool, settings, { ...options, command }, way);
		await session.trace(stop);
		session.close();
		// COMMAND may outlive the last interval: it goes on untraced. A signal is handed on to it.
		stop.onSignal((signal) => command?.handOn(signal));
		await command?.ended;
		stop.check();
	} catch (error) {
		if (!(error instanceof ClosedPipe)) throw closedAfter(error, closes);
	}
	closeAll(closes);
	return command?.status ?? 0;
}
