/** What a stack's threads waited for, in the first line of its entry. */
import type { StackRow, Waker } from '../aggregate/stack-rows.js';
import { mainKind, waitKind } from '../aggregate/wait-kinds.js';
import type { WaitObject } from '../aggregate/wait-object.js';
import { blockedOf, othersOf } from '../aggregate/wait-parts.js';
import type { Label } from '../render/stacks.js';
import { objectText } from '../render/wait-object.js';

/** Of a line below the first. */
const ROOM_BELOW = 72;

/** "pipe write → gzip (10492)": the kind of most of its time, and the largest object. */
export function kindAndObject(row: StackRow, parts: readonly string[], room: number): Label {
	const kind = mainKind(row, { parts });
	const [main] = isMostlyBlocked(row) ? (row.objects ?? []) : [];
	if (!main) return { text: kind };
	const text = together(kind, main.object, room);
	return text.length <= room
		? { text }
		: { text: kind, below: objectText(main.object, ROOM_BELOW) };
}

/** The same of a waker that was blocked itself. */
export function blockedForText({ frames, walked, objects = [] }: Waker): string {
	const kind = waitKind(walked ?? frames);
	const [main] = objects;
	return main ? together(kind, main.object, ROOM_BELOW) : kind;
}

/** The text of a pipe, a child, … begins with what the kind is. */
function together(kind: string, object: WaitObject, room: number): string {
	return objectText(object).startsWith(kind)
		? objectText(object, room)
		: `${kind} ${objectText(object, room - kind.length - 1)}`;
}

const isMostlyBlocked = (row: StackRow) => othersOf(row).every((part) => part <= blockedOf(row));
