/** Words that tstrace does not know: what may have been meant. */
import type { Command as Cli, CommanderError } from 'commander';
import { didYouMean, nearest } from '../nearest.js';

/** Options of other tools that have another name here: Tool.otherNames. */
export type OtherNames = Readonly<Record<string, string>>;

/**
 * What to add to commander's error about a command or an option that there is not: ": did you mean
 * --json?". Empty where nothing is close. `command` is the one that was named, if there is one.
 */
export function suggestion(
	error: CommanderError,
	cli: Cli,
	command: Cli | undefined,
	otherNames: OtherNames = {},
): string {
	const word = /'(.*)'/s.exec(error.message)?.[1] ?? '';
	if (error.code === 'commander.unknownCommand') {
		const commands = cli.createHelp().visibleCommands(cli);
		return didYouMean(
			word,
			commands.map((each) => each.name()),
		);
	}
	if (error.code !== 'commander.unknownOption') return '';
	const option = word.replace(/=.*$/s, '');
	// "-eENOENT" is -e and its value.
	const other = option.startsWith('--') ? option : option.slice(0, 2);
	if (Object.hasOwn(otherNames, other)) return `; its name here is ${otherNames[other]}`;
	if (!option.startsWith('--')) return '';
	const options = (command ?? cli).createHelp().visibleOptions(command ?? cli);
	const names = options.flatMap(({ long }) => (long ? [long.slice(2)] : []));
	const meant = nearest(option.slice(2), names);
	return meant ? `: did you mean --${meant}?` : '';
}
