/** System calls as users name them: in options, and in the list of names. */
import { InvalidArgumentError } from 'commander';
import { CALL_SETS, type CallSet, callsOfSet } from '../abi/syscall-sets.js';
import { allCalls, callName } from '../abi/syscalls.js';
import { CALL_NUMBERS, indexesOf } from '../bpf/calls/calls.js';
import { didYouMean } from '../nearest.js';

/**
 * Indexes of the calls that a comma list names: names, numbers, and sets, also with strace's % before
 * them. `list`: the command that lists them. Throws InvalidArgumentError, which names the nearest valid word.
 */
export function callsParser(list: string) {
	return (text: string, before: readonly number[] = []): number[] => [
		...before,
		...text.split(',').flatMap((word) => indexesOfWord(word, list)),
	];
}

/** The same for one word of such a list. */
export function indexesOfWord(word: string, list: string): number[] {
	// What has no name is shown as "syscall_467".
	const number = word.replace(/^syscall_(?=\d+$)/, '');
	if (/^\d+$/.test(number) && Number(number) < CALL_NUMBERS) return [Number(number)];
	const set = word.replace(/^%/, '');
	if (isSet(set)) return callsOfSet(set).flatMap(indexesOf);
	const found = indexesOf(word);
	if (found.length > 0) return found;
	const words = [...new Set(allCalls().map(({ name }) => name)), ...Object.keys(CALL_SETS)];
	throw new InvalidArgumentError(
		`there is no system call or set "${word}"${didYouMean(set, words) || ';'} ` +
			`\`${list}\` lists them`,
	);
}

/** The name of one call. Throws InvalidArgumentError, which names the nearest valid one. */
export function callNameParser(list: string) {
	return (text: string): string => {
		if (indexesOf(text).length > 0) return text;
		const names = [...new Set(allCalls().map(({ name }) => name))];
		throw new InvalidArgumentError(
			`there is no system call "${text}"${didYouMean(text, names) || `; \`${list}\` lists them`}`,
		);
	};
}

function isSet(word: string): word is CallSet {
	return Object.hasOwn(CALL_SETS, word);
}

/** All calls and sets, as a text. */
export function listCalls(): string {
	const calls = allCalls().map((call) => `${String(call.nr).padStart(4)}  ${callName(call)}\n`);
	const sets = Object.keys(CALL_SETS).map(
		(set) => `${set}: ${callsOfSet(set as CallSet).join(' ')}\n`,
	);
	return `${calls.join('')}\nSets:\n${sets.join('')}`;
}
