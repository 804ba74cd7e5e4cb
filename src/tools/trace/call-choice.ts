/** Which calls are wanted: -e, in strace's words. */
import { InvalidArgumentError } from 'commander';
import { indexesOfWord } from '../../options/call-words.js';
import { namedIndexes } from './plans.js';

const LIST = 'tstrace trace -l';

/** Among the calls: how processes end, and their signals, whatever the calls. */
export const ENDS = -1;

/** What the words so far come to; undefined: none was given, which is all calls. */
type CallChoice = readonly number[] | undefined;

/**
 * Adds what one -e says: "openat,close", "%file", "!futex,%memory", "trace=…", "all", "none". "!" in front leaves out
 * the calls of that list; alone, of all calls. Throws InvalidArgumentError, which names the nearest valid word.
 */
export function parseChoice(text: string, before?: CallChoice): number[] {
	const list = text.replace(/^(trace|t)=/, '');
	const isWithout = list.startsWith('!');
	const words = list.slice(isWithout ? 1 : 0).split(',');
	const indexes = new Set(words.flatMap(indexesOfChoice));
	if (!isWithout) return [...new Set([...(before ?? []), ...indexes])];
	return (before ?? namedIndexes()).filter((index) => !indexes.has(index));
}

function indexesOfChoice(word: string): number[] {
	if (word === 'all') return namedIndexes();
	if (word === 'none') return [ENDS];
	if (word.startsWith('!'))
		throw new InvalidArgumentError(
			`"!" leaves out all that follows: give "${word}" an -e of its own`,
		);
	return indexesOfWord(word, LIST);
}
