/** Sleeps that are nobody's trouble. Pure values: no I/O, no kernel. */
import type { Key } from '../../aggregate/row-key.js';
import { wakersOf } from './chain.js';
import type { Part } from './parts.js';

/**
 * For the whole machine: a sleep is idle, as many programs sleep between two rounds of what they do, and `sleep` in a
 * script does so all its life. It is not idle where another thread waited for the one that sleeps, unless as its parent.
 * Of threads that the user chose it is not idle either: these were to work.
 */
export function withRests(parts: readonly Part[], isTraced: (key: Key) => boolean): Part[] {
	const threadOf = ({ pid, tid }: Key) => `${pid} ${tid}`;
	const awaited = new Set(
		parts
			.filter(({ place, kind }) => place === 'waiting' && kind !== 'child')
			.flatMap(({ row }) => wakersOf(row).filter(({ key }) => isTraced(key)))
			.map(({ key }) => threadOf(key)),
	);
	return parts.map((part) => {
		const rests =
			part.place === 'waiting' && part.kind === 'sleep' && !awaited.has(threadOf(part.row.key));
		return rests ? { ...part, place: 'idle', follows: false } : part;
	});
}
