/** What a stack's threads waited for, in the first line of its entry. */
import type { StackRow } from '../aggregate/stack-rows.js';
import { mainKind } from '../aggregate/wait-kinds.js';
import { objectText } from '../render/wait-object.js';

/** "pipe write → gzip (10492)", in `room` characters if possible: the kind of most of its time, and the largest object. */
export function kindAndObject(row: StackRow, parts: readonly string[], room: number): string {
	const kind = mainKind(row, { parts });
	const [main] = parts[0] && isBlocked(row) ? (row.objects ?? []) : [];
	if (!main) return kind;
	const whole = objectText(main.object);
	// The text of a pipe, a child, … begins with what the kind is.
	if (whole.startsWith(kind)) return objectText(main.object, room);
	return whole ? `${kind} ${objectText(main.object, room - kind.length - 1)}` : kind;
}

/** For most of its time. */
const isBlocked = ({ parts: [blocked = 0, ...others] }: StackRow) =>
	others.every((part) => part <= blocked);
