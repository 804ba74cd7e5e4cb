/** Completion scripts for commands that are known: bash completes by them, zsh and fish are told the same. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Argument, Command, Option } from 'commander';
import { completionScript } from '../../../src/cli/completion.js';

const HARD = "it's [a]: b\\c";

function commands(): Command[] {
	const tool = new Command('x')
		.summary('tool: x')
		.argument('[duration]')
		.addOption(new Option('-d, --dir <path>', 'a folder'))
		.addOption(new Option('-o, --out <file>', 'a file'))
		.addOption(new Option('-c, --color [when]', HARD).choices(['always', 'auto']))
		.addOption(new Option('--plain', 'no value'));
	const diff = new Command('diff')
		.argument('<before>')
		.argument('<after>')
		.addOption(new Option('--only <what>', 'kinds').choices(['all', 'any']));
	const flamegraph = new Command('flamegraph')
		.argument('[files...]')
		.addOption(new Option('--width <px>', 'width'));
	const shells = new Argument('<shell>', 'which').choices(['one', 'other']);
	return [tool, diff, flamegraph, new Command('completion').addArgument(shells)];
}

/** What bash completes for the last of each of these lines' words. */
function completed(...lines: readonly string[][]): string[][] {
	const script = [
		completionScript('bash', commands()),
		...lines.map((words) => {
			const quoted = words.map((word) => `'${word}'`).join(' ');
			const complete = words[0] === 'flamegraph' ? '_tstrace_flamegraph' : '_tstrace';
			return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; ${complete}; echo "\${COMPREPLY[*]}"`;
		}),
	].join('\n');
	const text = execFileSync('bash', ['-c', script], { encoding: 'utf8' });
	return text
		.split('\n')
		.slice(0, lines.length)
		.map((line) => line.split(' ').filter((word) => word !== ''));
}

test('bash: files where files are read, options behind a dash, values of what takes one', () => {
	const lines: ReadonlyArray<readonly [words: string[], expected: string[]]> = [
		[['tstrace', 'diff', '/proc/self/limit'], ['/proc/self/limits']],
		[['tstrace', 'diff', 'a', '/proc/self/limit'], ['/proc/self/limits']],
		[['tstrace', 'diff', '--on'], ['--only']],
		[['tstrace', 'diff', '--only', 'an'], ['any']],
		[['tstrace', 'flamegraph', '/proc/self/limit'], ['/proc/self/limits']],
		[['flamegraph', '/proc/self/limit'], ['/proc/self/limits']],
		[['flamegraph', '--wi'], ['--width']],
		[['tstrace', 'x', '--dir', '/proc/self/limit'], ['/proc/self/limits']],
		[['tstrace', 'x', '-o', '/proc/self/limit'], ['/proc/self/limits']],
		[['tstrace', 'x', '--color', 'al'], ['always']],
		[['tstrace', 'x', '-c', 'al'], ['always']],
		[['tstrace', 'x', '--plain', '--d'], ['--dir']],
		[['tstrace', 'x', '/proc/self/limit'], []],
		[['tstrace', 'x', '--', 'ls', '/proc/self/limit'], ['/proc/self/limits']],
		[['tstrace', 'x', '--', 'ls', '--d'], []],
		[['tstrace', 'completion', 'ot'], ['other']],
		[['tstrace', 'comp'], ['completion']],
	];
	const found = completed(...lines.map(([words]) => words));
	for (const [i, [words, expected]] of lines.entries())
		assert.deepEqual(found[i], expected, words.join(' '));
});

test('zsh: what its own syntax has is escaped in texts; an option is not offered again by its other name', () => {
	const script = completionScript('zsh', commands());
	const text = `it'\\''s \\[a\\]\\: b\\\\c`;
	assert.ok(script.includes(`'(-c --color)-c[${text}]:value:(always auto)'`), script);
	assert.ok(script.includes(`'(-c --color)--color[${text}]:value:(always auto)'`), script);
	assert.ok(script.includes("'(-d --dir)--dir[a folder]:path:_files'"), script);
	assert.ok(script.includes("'(--plain)--plain[no value]'"), script);
	assert.ok(script.includes("'x:tool\\: x'"), script);
	assert.match(script, /\tdiff\) _arguments .*(\n\t\t.*)*'\*:file:_files' ;;/);
	assert.match(script, /\tx\) _arguments .*(\n\t\t.*)*'\*::command:_normal' ;;/);
	assert.match(script, /\tcompletion\) _arguments ':shell:\(one other\)' ;;/);
});

test('fish: letters and names of options, files only where they are values, and choices', () => {
	const lines = completionScript('fish', commands()).split('\n');
	const option = (name: string) => lines.find((line) => line.includes(` -l ${name} `)) ?? '';
	assert.match(option('dir'), /from x' -s d -l dir -r -F -d 'a folder'$/);
	assert.match(option('color'), / -s c -l color -x -a 'always auto' -d 'it'\\''s /);
	assert.match(option('plain'), /from x' -l plain -d 'no value'$/);
	assert.match(option('width'), / -l width -x -d 'width'$/);
	assert.ok(lines.some((line) => /from completion' -f -a 'one other'$/.test(line)));
});
