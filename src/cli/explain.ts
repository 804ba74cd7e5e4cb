/** Errors in words: one line that says what, why and what to do; and the exit status of each. */
import { type Command as Cli, CommanderError } from 'commander';
import { TstraceError, UsageError } from '../errors.js';
import { converters } from '../generated/converters.js';
import { tools } from '../generated/tools.js';
import { takeMessages } from '../loader/libbpf-messages.js';
import { printable } from '../render/terminal.js';
import { say } from '../run/output.js';
import { type OtherNames, suggestion } from './did-you-mean.js';

export const EXIT_USAGE = 2;
export const EXIT_FAILED = 1;
/** The command that checks the machine; no tool, but called like one. */
export const DOCTOR = 'doctor';

/** One line that says what, why and what to do; with -v the cause as well. */
export async function explain(
	error: unknown,
	args: readonly string[],
	cli: Cli,
	otherNamesOf: (name?: string) => Promise<OtherNames>,
): Promise<number> {
	if (error instanceof CommanderError) {
		const tool = toolIn(args);
		if (error.exitCode === 0) return 0; // --help and --version end this way
		const what = error.code === 'commander.help' ? 'there is no such tool' : oneLine(error.message);
		const command = cli.commands.find((each) => each.name() === args[0]);
		const meant = suggestion(error, cli, command, await otherNamesOf(args[0]));
		const see = meant.endsWith('?') ? ' See' : '; see';
		say(printable(`tstrace${tool}: ${what}${meant}${see} tstrace${tool} --help`));
		return EXIT_USAGE;
	}
	return explainFailure(error, args);
}

/** The name of the tool, with a blank before it; empty if none was called. */
function toolIn([name]: readonly string[]): string {
	const known = { ...tools, ...converters, [DOCTOR]: true };
	return name !== undefined && Object.hasOwn(known, name) ? ` ${name}` : '';
}

/** Says what went wrong, other than wrong words on the command line; returns the exit status. */
export function explainFailure(error: unknown, args: readonly string[]): number {
	const tool = toolIn(args);
	if (error instanceof UsageError) {
		say(printable(`tstrace${tool}: ${error.message}`));
		return EXIT_USAGE;
	}
	const message = error instanceof Error ? error.message : String(error);
	// Names of files in it may have line ends.
	say(`tstrace${tool}: ${printable(message)}`);
	if (isVerbose(args)) sayCause(error);
	return EXIT_FAILED;
}

/** What is after -- are files, or words of COMMAND. */
function isVerbose(args: readonly string[]): boolean {
	const dashes = args.indexOf('--');
	const own = dashes < 0 ? args : args.slice(0, dashes);
	return own.includes('-v') || own.includes('--verbose');
}

/** What lies behind an error: the verifier's log, errno, where in the code. */
function sayCause(error: unknown): void {
	const detail = error instanceof TstraceError ? error.detail : takeMessages();
	if (detail) say(printableLines(detail.trimEnd()));
	if (error instanceof Error && error.stack) say(printableLines(error.stack));
}

function printableLines(text: string): string {
	return text.split('\n').map(printable).join('\n');
}

/** commander's message, which is two sentences or lines, in our form. */
function oneLine(message: string): string {
	return message
		.replace(/^error: /, '')
		.replace(/^command-argument value '(.*)' is invalid for argument '(.*?)'\. /s, "$2 '$1': ")
		.replace(/^option '(.*?)' argument '(.*)' is invalid\. /s, "$1 '$2': ")
		.replace(/\s*\n\s*/g, ' ')
		.replace(/\.$/, '');
}
