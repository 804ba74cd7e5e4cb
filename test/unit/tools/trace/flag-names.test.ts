/** Names of bits and values, beside the kernel's headers on this machine. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { runInThisContext } from 'node:vm';
import { argumentOf } from '../../../../src/tools/trace/argument-kinds.js';
import { flagsOf, valuesOf } from '../../../../src/tools/trace/flag-names.js';
import { SIGNATURES, SIGNATURES_OF_32_BIT } from '../../../../src/tools/trace/signatures.js';

const HEADERS = (
	'asm/fcntl asm/ioctls asm/mman asm/poll asm/prctl asm/signal asm/socket linux/bpf linux/close_range linux/eventfd ' +
	'linux/eventpoll linux/falloc linux/fcntl linux/fs linux/futex linux/in linux/inotify linux/ipc linux/keyctl ' +
	'linux/membarrier linux/memfd linux/mman linux/mount linux/net linux/netlink linux/pidfd linux/prctl linux/ptrace ' +
	'linux/random linux/resource linux/sched linux/seccomp linux/shm linux/signalfd linux/stat linux/time ' +
	'linux/timerfd linux/wait linux/xattr'
).split(' ');

/** All names that arguments of calls have, and what they stand for. */
function named(): Map<string, number> {
	const words = [...SIGNATURES, ...SIGNATURES_OF_32_BIT].flatMap(([, each]) => each);
	const pairs = words.flatMap((word) => {
		const { kind, detail } = argumentOf(word);
		const { bits = [], values = [] } = (kind === 'flags' && flagsOf(detail)) || {};
		return [...bits, ...values, ...((kind === 'enum' && valuesOf(detail)) || [])];
	});
	return new Map(pairs.map(([value, name]) => [name, value]));
}

/** What the names stand for in the headers, as far as they are defined there. */
function inHeaders(names: readonly string[]): Map<string, number> {
	const includes = HEADERS.map(
		(name) => `#if __has_include(<${name}.h>)\n#include <${name}.h>\n#endif\n`,
	);
	const questions = names.map((name) => `"ask" "${name}" ${name}\n`);
	const input = `${includes.join('')}${questions.join('')}`;
	const text = execFileSync('cc', ['-E', '-P', '-'], {
		input,
		encoding: 'utf8',
		maxBuffer: 2 ** 26,
	});
	const found = new Map<string, number>();
	for (const [, name = '', said = ''] of text.matchAll(/^"ask" "(\w+)" (.*)$/gm)) {
		const expression = said.replace(/\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b/g, '$1');
		const octal = expression.replace(/\b0(\d+)\b/g, '0o$1');
		if (/^[\s\dxoa-fA-F()|<~+-]+$/.test(octal))
			found.set(name, Number(runInThisContext(octal)) >>> 0);
	}
	// What is no macro is one of these, some of which have a second name.
	const commands = /enum bpf_cmd \{([^}]*)\}/.exec(text)?.[1]?.split(',') ?? [];
	const first = commands.filter((command) => !command.includes('='));
	for (const [number, command] of first.entries()) found.set(command.trim(), number);
	return found;
}

test('each name stands for what it stands for in the headers', () => {
	const ours = named();
	const theirs = inHeaders([...ours.keys()]);
	const known = [...ours].filter(([name]) => theirs.has(name));
	assert.ok(known.length > 250, `${known.length} of ${ours.size}`);
	for (const [name, value] of known) assert.equal(value, theirs.get(name), name);
});
