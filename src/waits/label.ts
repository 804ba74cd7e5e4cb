/** What a stack's threads waited for, in the first line of its entry. */
import type { StackRow } from '../aggregate/stack-rows.js';
import { mainKind } from '../aggregate/wait-kinds.js';
import type { Label } from '../render/stacks.js';
import { objectText } from '../render/wait-object.js';

/** Of a line below the first. */
const ROOM_BELOW = 72;

/** "pipe write → gzip (10492)": the kind of most of its time, and the largest object. */
export function kindAndObject(row: StackRow, parts: readonly string[], room: number): Label {
	const kind = mainKind(row, { parts });
	const [main] = isBlocked(row) ? (row.objects ?? []) : [];
	if (!main) return { text: kind };
	// The text of a pipe, a child, … begins with what the kind is.
	const isIncluded = objectText(main.object).startsWith(kind);
	const text = isIncluded
		? objectText(main.object, room)
		: `${kind} ${objectText(main.object, room - kind.length - 1)}`;
	return text.length <= room
		? { text }
		: { text: kind, below: objectText(main.object, ROOM_BELOW) };
}

/** For most of its time. */
const isBlocked = ({ parts: [blocked = 0, ...others] }: StackRow) =>
	others.every((part) => part <= blocked);
