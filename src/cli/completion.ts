/** Completion scripts, written from what commander was told: no tstrace runs at a Tab. */
import type { Command, Option } from 'commander';

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
			const patterns = flagsOf(option).map((flag) => `'${tool.name()} ${flag}'`);
			values.push(`\t${patterns.join(' | ')}) _tstrace_reply ${words}; return ;;`);
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
		const value = !takesValue(option)
			? ''
			: takesPath(option)
				? ':path:_files'
				: `:value:(${(option.argChoices ?? []).join(' ')})`;
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

function fish(tools: readonly Command[]): string {
	const lines = ['# fish completion for tstrace: tstrace completion fish | source'];
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
	if (takesValue(option)) parts.push(takesPath(option) ? '-r -F' : '-x');
	if (option.argChoices) parts.push(`-a ${quoted(option.argChoices.join(' '))}`);
	return `${parts.join(' ')} -d ${quoted(option.description)}`;
}

function argumentChoices(tool: Command): string[] {
	return tool.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
}
