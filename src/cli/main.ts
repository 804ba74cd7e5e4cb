/** The command line: commander, wired from what the tools declare. */

import { readFileSync, writeSync } from 'node:fs';
import { Argument, Command as Cli } from 'commander';
import type { AnyConverter } from '../converter.js';
import { UsageError } from '../errors.js';
import { converters } from '../generated/converters.js';
import { tools } from '../generated/tools.js';
import { offered, type RawValues, valuesOf } from '../options/typed-option.js';
import { containersThere } from '../proc/containers.js';
import { fileOptions, withContainers } from '../run/common-options.js';
import { keepIgnoring } from '../run/inherited.js';
import { ClosedPipe, Output, say } from '../run/output.js';
import { run } from '../run/run.js';
import { failRun } from '../run/stop.js';
import type { ToolDeclaration } from '../tool.js';
import { completionScript, SHELLS, type Shell } from './completion.js';
import { VALUES_COMMAND, wordsFor } from './completion-values.js';
import { convert } from './convert.js';
import type { OtherNames } from './did-you-mean.js';
import { doctor, doctorOptions } from './doctor.js';
import { DOCTOR, EXIT_USAGE, explain, explainFailure } from './explain.js';
import { type Action, addExamples, addTool, askedOf } from './tool-command.js';

const STDOUT = 1;

export { exitAtOnce } from '../loader/ffi.js';

/** Runs tstrace with the arguments after its own name; returns the exit status. */
export async function main(args: readonly string[]): Promise<number> {
	if (args[0] === VALUES_COMMAND) {
		for (const line of wordsFor(args[1] ?? '', args[2] ?? '')) print(`${line}\n`);
		return 0;
	}
	keepIgnoring();
	const onUncaught = (error: unknown) => {
		if (!failRun(error)) process.exit(explainFailure(error, args));
	};
	process.on('uncaughtException', onUncaught);
	const dashes = args.indexOf('--');
	// What is after -- is COMMAND for a tool, and a file for a converter.
	const own = dashes < 0 || isConverter(args[0]) ? args : args.slice(0, dashes);
	const words = dashes < 0 ? [] : args.slice(dashes + 1);
	let status = 0;
	if (args.length === 0) status = EXIT_USAGE;
	const examine = async (values: RawValues) => {
		status = await doctor(values);
	};
	const cli = await buildCli(own, examine, async (tool, interval_s, count, raw) => {
		if (dashes >= 0 && words.length === 0)
			throw new UsageError('add a COMMAND after --, or leave out --');
		status = await tool.use(async (each) => {
			const values = valuesOf(each.options(), raw);
			const list = each.list?.(values);
			if (list !== undefined) {
				await Output.stdout().write(list);
				return 0;
			}
			const chosen = withContainers(raw, containersThere);
			const asked = askedOf(each, { interval_s, count, raw: chosen, command: words });
			return run(each, asked.settings, { ...asked, command: words, args });
		});
	});
	try {
		if (own.length === 0) say(cli.helpInformation().trimEnd());
		else await cli.parseAsync([...own], { from: 'user' });
		return status;
	} catch (error) {
		// The reader of a list or a script has had enough of it.
		return error instanceof ClosedPipe ? status : explain(error, own, cli, otherNamesOf);
	} finally {
		process.off('uncaughtException', onUncaught);
	}
}

const isConverter = (name = ''): boolean => Object.hasOwn(converters, name);

/** All tools for help and completion; else only the one that was named, which starts sooner. */
async function buildCli(
	args: readonly string[],
	examine: (values: RawValues) => Promise<void>,
	action: Action,
): Promise<Cli> {
	const cli = new Cli('tstrace')
		.description('Shows where programs wait, where they run, and what takes memory.')
		.version(readVersion(), '-V, --version', 'print the version')
		.helpOption('-h, --help', 'print this help')
		.helpCommand('help [tool]', 'print the help of a tool')
		.usage(
			'TOOL [options] [interval [count] | duration] [-- COMMAND]\n' +
				'       numbers are seconds; or give a unit: 500ms, 2m. See TOOL --help',
		)
		.configureOutput({ writeErr: () => {}, writeOut: print, getOutHelpWidth: () => 80 })
		.configureHelp({ minWidthToWrap: 30 })
		// Ours are in did-you-mean.ts.
		.showSuggestionAfterError(false)
		.exitOverride();
	const isNamed = ([name]: [string, unknown]) => name === args[0];
	const named =
		args[0] === DOCTOR || [...Object.entries(tools), ...Object.entries(converters)].some(isNamed);
	const wanted = named ? isNamed : () => true;
	for (const [, load] of Object.entries(tools).filter(wanted)) {
		addTool(cli, await load(), action);
	}
	for (const [, load] of Object.entries(converters).filter(wanted)) {
		addConverter(cli, await load());
	}
	addDoctor(cli, examine);
	const shell = new Argument('<shell>', 'the shell that reads the script').choices(SHELLS);
	cli
		.command('completion')
		.summary('print a completion script for bash, zsh or fish')
		.description('Prints a completion script. For bash: source <(tstrace completion bash)')
		.addArgument(shell)
		.action(async (name: Shell) => {
			await Output.stdout().write(completionScript(name, cli.commands));
		});
	return cli;
}

function addDoctor(cli: Cli, action: (values: RawValues) => Promise<void>): void {
	const command = cli
		.command(DOCTOR)
		.summary('check what tracing needs, and which tools can run here')
		.description(
			'Checks what the tools need on this machine, and tries each tool on tstrace itself. For each ' +
				'missing piece it says what you lose and what to do. Exit status: 0 if every tool can run, else 1.',
		)
		.usage('[options]')
		.action(action);
	for (const option of offered(doctorOptions())) command.addOption(option);
	addExamples(command, [
		['tstrace doctor', 'can tools run here?'],
		['tstrace doctor -p 1234', 'also frame pointers, symbols, allocator of a process'],
	]);
}

function addConverter(cli: Cli, converter: AnyConverter): void {
	const command = cli
		.command(converter.name)
		.summary(converter.summary)
		.description(converter.description)
		.usage(converter.usage)
		.action(async () => {
			await convert(converter, command.args, command.opts());
		});
	for (const argument of converter.arguments()) command.addArgument(argument);
	for (const option of [...offered(converter.options()), ...offered(fileOptions())])
		command.addOption(option);
	addExamples(command, converter.examples);
}

/** Help and the version. If nobody reads it or it does not fit, it is dropped. */
function print(text: string): void {
	try {
		writeSync(STDOUT, text);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code !== 'EPIPE' && code !== 'ENOSPC') throw error;
	}
}

async function otherNamesOf(name = ''): Promise<OtherNames> {
	const load = Object.hasOwn(tools, name) ? tools[name as keyof typeof tools] : undefined;
	const tool: ToolDeclaration | undefined = await load?.();
	return tool?.otherNames ?? {};
}

function readVersion(): string {
	const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
	return (JSON.parse(manifest) as { version: string }).version;
}
