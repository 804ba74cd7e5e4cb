/**
 * Completion scripts, written from what commander was told. tstrace runs at a Tab only where the values
 * are not known before: see completion-values.ts.
 */
import type { Command, Option } from 'commander';
import { hasValues, VALUES_COMMAND } from './completion-values.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A script that completes tools, their options and these options' values, files and COMMANDs. */
export function completionScript(shell: Shell, tools: readonly Command[]): string {
	return { bash, zsh, fish }[shell](tools);
}

const flagsOf = (option: Option): string[] =>
	[option.short, option.long].filter((flag) => flag !== undefined);
const takesValue = (option: Option): boolean => option.required || option.optional;
const takesPath = (option: Option): boolean => /<(file|path)>/.test(option.flags);
/** Its values are asked for at the Tab. */
const isAsked = ({ long = '' }: Option): boolean => hasValues(long ?? '');

/** Converters; tools take numbers and a COMMAND. */
const takesFiles = (tool: Command): boolean =>
	tool.registeredArguments.some((argument) => FILE_ARGUMENTS.includes(argument.name()));
const FILE_ARGUMENTS: readonly string[] = ['files', 'before', 'after'];

/** Inside single quotes, which bash, zsh and fish agree on. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function bash(tools: readonly Command[]): string {
	const values: string[] = [];
	for (const tool of tools) {
		for (const option of tool.options.filter(takesValue)) {
			const choices = quoted((option.argChoices ?? []).join(' '));
			const words = takesPath(option) ? '-f' : `-W ${choices}`;
			const reply = isAsked(option) ? `_tstrace_values ${option.long}` : `_tstrace_reply ${words}`;
			const patterns = flagsOf(option).map((flag) => `'${tool.name()} ${flag}'`);
			values.push(`\t${patterns.join(' | ')}) ${reply}; return ;;`);
		}
	}
	const options = tools.map((tool) => {
		const words = [...tool.options.flatMap(flagsOf), ...argumentChoices(tool)].join(' ');
		const reply = `_tstrace_reply -W ${quoted(words)}`;
		const files = `if [[ $cur == -* ]]; then ${reply}; else _tstrace_reply -f; fi`;
		return `\t${tool.name()}) ${takesFiles(tool) ? files : reply} ;;`;
	});
	return `# bash completion for tstrace: source <(tstrace completion bash)
_tstrace_reply() {
	COMPREPLY=()
	while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@" -- "$cur")
}
# Names of threads and the like are whatever strangers made them: they are quoted, and never expanded.
_tstrace_values() {
	local value about
	local -a shown=()
	COMPREPLY=()
	while IFS=$'\\t' read -r value about; do
		printf -v value %q "$value"
		value=\${value//\\\\,/,}
		COMPREPLY+=("$value")
		shown+=("$value\${about:+  ($about)}")
	done < <(command tstrace ${VALUES_COMMAND} "$1" "$cur" 2>/dev/null)
	compopt +o filenames 2>/dev/null
	((\${#COMPREPLY[@]} > 1)) || return
	if [[ $COMP_TYPE == 63 ]]; then
		# A list, of which nothing is put into the line.
		COMPREPLY=("\${shown[@]}")
	elif [[ \${COMPREPLY[0]} != "$cur"* ]]; then
		# Several of that name: the next Tab lists them.
		COMPREPLY=()
	fi
}
_tstrace() {
	local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} i word
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ \${COMP_WORDS[i]} == -- ]]; then
			if [[ $prev == -- ]]; then _tstrace_reply -c; else _tstrace_reply -f; fi
			return
		fi
	done
	if ((COMP_CWORD == 1)); then
		_tstrace_reply -W ${quoted(tools.map((tool) => tool.name()).join(' '))}
		return
	fi
	case "\${COMP_WORDS[1]} $prev" in
${values.join('\n')}
	esac
	case \${COMP_WORDS[1]} in
${options.join('\n')}
	esac
}
complete -o filenames -F _tstrace tstrace
# flamegraph is short for tstrace flamegraph.
_tstrace_flamegraph() {
	COMP_WORDS=(tstrace "\${COMP_WORDS[@]}")
	((COMP_CWORD++))
	_tstrace
}
complete -o filenames -F _tstrace_flamegraph flamegraph
`;
}

function zsh(tools: readonly Command[]): string {
	const escaped = (text: string) => text.replace(/[[\]:\\]/g, '\\$&');
	const specification = (option: Option): string => {
		const value = takesValue(option) ? zshValue(option) : '';
		const flags = flagsOf(option);
		return flags
			.map((flag) => quoted(`(${flags.join(' ')})${flag}[${escaped(option.description)}]${value}`))
			.join(' ');
	};
	const cases = tools.map((tool) => {
		const specifications = tool.options.map(specification);
		const choices = argumentChoices(tool);
		const words = choices.length > 0 ? `':shell:(${choices.join(' ')})'` : "'*::command:_normal'";
		const rest = takesFiles(tool) ? "'*:file:_files'" : words;
		return `\t${tool.name()}) _arguments ${[...specifications, rest].join(' \\\n\t\t')} ;;`;
	});
	const names = tools.map((tool) => quoted(`${tool.name()}:${escaped(tool.summary())}`));
	return `#compdef tstrace
# zsh completion for tstrace: source <(tstrace completion zsh)
_tstrace_values() {
	local line
	local -a values shown
	while IFS= read -r line; do
		values+=("\${line%%$'\\t'*}")
		shown+=("\${line/$'\\t'/  }")
	done < <(command tstrace ${VALUES_COMMAND} "$1" "\${(Q)PREFIX}" 2>/dev/null)
	# By its name a process is told from others only in a list.
	[[ \${values[1]} == "\${(Q)PREFIX}"* ]] || compstate[insert]=menu
	compadd -U -l -d shown -a values
}
_tstrace() {
	local -a tools=(${names.join(' ')})
	if ((CURRENT == 2)); then
		_describe tool tools
		return
	fi
	shift words
	((CURRENT--))
	case $words[1] in
${cases.join('\n')}
	esac
}
compdef _tstrace tstrace
# flamegraph is short for tstrace flamegraph.
_tstrace_flamegraph() {
	words=(tstrace $words)
	((CURRENT++))
	_tstrace
}
compdef _tstrace_flamegraph flamegraph
`;
}

function zshValue(option: Option): string {
	// With a space in front zsh calls it as it stands.
	if (isAsked(option)) return `:value: _tstrace_values ${option.long}`;
	if (takesPath(option)) return ':path:_files';
	return `:value:(${(option.argChoices ?? []).join(' ')})`;
}

function fish(tools: readonly Command[]): string {
	const lines = [
		'# fish completion for tstrace: tstrace completion fish | source',
		'function __tstrace_values',
		'\tset -l word (commandline -ct)',
		`\tcommand tstrace ${VALUES_COMMAND} $argv[1] "$word" 2>/dev/null`,
		'end',
	];
	for (const tool of tools) {
		const summary = quoted(tool.summary());
		lines.push(`complete -c tstrace -f -n __fish_use_subcommand -a ${tool.name()} -d ${summary}`);
		const seen = `complete -c tstrace -n '__fish_seen_subcommand_from ${tool.name()}'`;
		for (const option of tool.options) lines.push(`${seen} ${fishOption(option)}`);
		const choices = argumentChoices(tool);
		if (choices.length > 0) lines.push(`${seen} -f -a ${quoted(choices.join(' '))}`);
	}
	lines.push("complete -c flamegraph -w 'tstrace flamegraph'");
	return `${lines.join('\n')}\n`;
}

function fishOption(option: Option): string {
	const parts: string[] = [];
	if (option.short) parts.push(`-s ${option.short.slice(1)}`);
	if (option.long) parts.push(`-l ${option.long.slice(2)}`);
	if (takesValue(option)) parts.push(takesPath(option) && !isAsked(option) ? '-r -F' : '-x');
	if (takesValue(option) && isAsked(option)) parts.push(`-a '(__tstrace_values ${option.long})'`);
	else if (option.argChoices) parts.push(`-a ${quoted(option.argChoices.join(' '))}`);
	return `${parts.join(' ')} -d ${quoted(option.description)}`;
}

function argumentChoices(tool: Command): string[] {
	return tool.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
}
