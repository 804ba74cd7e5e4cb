/** What options can be given, for completion: `tstrace __values --pid 12` prints a value a line. */
import { join } from 'node:path';
import { ERRNO_NAMES } from '../abi/errno.js';
import { STATE_LETTERS } from '../abi/states.js';
import { CALL_SETS } from '../abi/syscall-sets.js';
import { allCalls } from '../abi/syscalls.js';
import { EVENT_NAMES } from '../perf/names.js';
import { cgroupMount, subgroups } from '../proc/cgroup.js';
import { containersThere } from '../proc/containers.js';
import { commsOf, processesThere, type There, threadsThere } from '../proc/threads.js';
import { printable } from '../render/terminal.js';

/** The command that prints them; no help shows it. */
export const VALUES_COMMAND = '__values';

interface Value {
	readonly value: string;
	/** What it is, where that is more than its name. */
	readonly about?: string;
}

/** More than that nobody reads; and a machine may have a million threads. */
const MAX_VALUES = 10_000;

const named = (values: Iterable<string>): Value[] => [...values].map((value) => ({ value }));
const callNames = () => named(new Set(allCalls().map(({ name }) => name)));

const callsAndSets = () => [
	...Object.keys(CALL_SETS).map((value) => ({ value, about: 'a set of calls' })),
	...callNames(),
];

const LISTS: Readonly<Record<string, () => Iterable<Value>>> = {
	'--pid': () => numbered(processesThere()),
	'--tid': () => numbered(threadsThere()),
	'--comm': threadNames,
	'--cgroup': cgroups,
	'--container': containers,
	'--syscall': callsAndSets,
	'--calls': callsAndSets,
	'--hist': callNames,
	'--event': () => named(EVENT_NAMES),
	'--errno': () => named(ERRNO_NAMES),
	'--state': () => Object.entries(STATE_LETTERS).map(([value, about]) => ({ value, about })),
};
/** Where several can be given, with commas between. */
const COMMA_LISTS = ['--pid', '--tid', '--comm', '--container', '--syscall', '--calls'];

/** Whether `wordsFor` knows what an option can be given; by its long name. */
export const hasValues = (option: string): boolean => Object.hasOwn(LISTS, option);

/**
 * What `word` may become as the value of an option: "value" or "value TAB what it is", for lines. A number's
 * word may also be the beginning of the thread's name. Values that are not plain text are left out.
 */
export function wordsFor(option: string, word: string): string[] {
	if (!hasValues(option)) return [];
	const begin = COMMA_LISTS.includes(option) ? word.lastIndexOf(',') + 1 : 0;
	const [before, typed] = [word.slice(0, begin), word.slice(begin)];
	const lines: string[] = [];
	for (const { value, about = '' } of LISTS[option]?.() ?? []) {
		if (lines.length === MAX_VALUES) break;
		const byName = /^\d+$/.test(value) && typed !== '' && about.startsWith(typed);
		if (!value.startsWith(typed) && !byName) continue;
		// What the shell's line is no place for: a stranger may have chosen it.
		if (printable(value) !== value || (begin > 0 && value.includes(','))) continue;
		lines.push(`${before}${value}${about && `\t${printable(about)}`}`);
	}
	return lines;
}

const numbered = function* (all: Iterable<There>): Generator<Value> {
	for (const { id, comm } of all) yield { value: `${id}`, about: comm };
};

/** In /proc a backslash may stand for a line's end. */
function threadNames(): Value[] {
	return named([...commsOf(threadsThere())].filter((name) => !name.includes('\\')));
}

/** By their path from the mount on, and with it. */
function* cgroups(): Generator<Value> {
	const mount = cgroupMount();
	if (mount === undefined) return;
	for (const path of subgroups(mount)) {
		yield { value: path };
		yield { value: join(mount, path) };
	}
}

/** By ID or name; about: which container runtime has it. */
function* containers(): Generator<Value> {
	for (const { id, kind } of containersThere()) yield { value: id, about: kind };
}
