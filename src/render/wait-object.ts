/** What a thread waited for, in a few words. */
import type { Holder, LockOwner, WaitObject } from '../aggregate/wait-object.js';
import { named, printable, shortened } from './terminal.js';

/** Less of a path says nothing. */
const LEAST_PATH = 12;

/** What is no name: see src/symbolize/symbols/memory-names.ts. */
const MEMORY = /^(heap|stack|anonymous memory|\[anon.*)$/;

/**
 * "pipe write → gzip (10492)"; in brackets why it is not known. In as many characters as there is room for, if
 * possible; of a path the end is left, which tells most.
 */
export function objectText(object: WaitObject, room = Number.POSITIVE_INFINITY): string {
	switch (object.type) {
		case 'file':
		case 'device': {
			const deleted = object.deleted ? ' (deleted)' : '';
			return pathText(object.path, room - deleted.length) + deleted;
		}
		case 'pipe': {
			const arrow = object.end === 'write' ? ' → ' : ' ← ';
			return between(`pipe ${object.end}`, object.path, arrow, object.other_end, room);
		}
		case 'unix socket':
			return between('unix socket', object.path, ' ↔ ', object.other_end, room);
		case 'socket': {
			const at = object.remote || `at ${object.local}`;
			return between(object.protocol, at, ' ↔ ', object.other_end, room);
		}
		case 'event':
			return printable(object.name);
		case 'futex': {
			// Of memory there is much.
			const lies = MEMORY.test(object.in) ? `${object.in} ${object.address}` : object.in;
			const where = printable(lies || object.address);
			// Who has a mutex is half of the answer: it is not what a short line leaves out.
			const owner = ownerText(object.owner);
			return shortened(where, Math.max(LEAST_PATH, room - owner.length)) + owner;
		}
		case 'child':
			return `child ${printable(object.comm)} (${object.pid})`;
		case 'unknown':
			return `[${shortened(object.why, Math.max(LEAST_PATH, room - 2))}]`;
	}
}

function ownerText(owner: LockOwner | undefined): string {
	return owner ? `, held by ${ownerName(owner)}` : '';
}

/** "writer (712)"; "thread 712" of one that has ended. */
export function ownerName({ tid, comm }: LockOwner): string {
	return comm === undefined ? `thread ${tid}` : `${printable(named(comm))} (${tid})`;
}

/** Without the number of the process, where there is no room for it. */
function between(
	what: string,
	name: string,
	arrow: string,
	holders: readonly Holder[],
	room: number,
): string {
	const least = what.length + (name === '' ? 0 : 1 + Math.min(name.length, LEAST_PATH));
	const whole = holderText(arrow, holders, true);
	const holder = least + whole.length <= room ? whole : holderText(arrow, holders, false);
	if (name === '') return what + holder;
	return `${what} ${pathText(name, room - what.length - 1 - holder.length)}${holder}`;
}

/** The first process that holds the other end, and how many more do. */
function holderText(arrow: string, holders: readonly Holder[], withNumber: boolean): string {
	const [first] = holders;
	if (!first) return '';
	const number = withNumber ? ` (${first.pid})` : '';
	const more = holders.length > 1 ? ` +${holders.length - 1}` : '';
	return `${arrow}${printable(first.comm)}${number}${more}`;
}

/** Cut from the left. */
function pathText(path: string, room: number): string {
	const characters = [...printable(path)];
	const most = Math.max(LEAST_PATH, room);
	return characters.length <= most
		? characters.join('')
		: `…${characters.slice(1 - most).join('')}`;
}
