/** Reads what tstrace's own --json printed: src/render/json.ts. */

import { remembered } from '../aggregate/remembered.js';
import { apartOf, type Key } from '../aggregate/row-key.js';
import type { Frame, FrameKind } from '../aggregate/stack.js';
import { type Origin, profileOf, type StackProfile } from '../aggregate/stack-profile.js';
import type { StackRow } from '../aggregate/stack-rows.js';
import { TstraceError } from '../errors.js';
import { FRAME_LETTERS } from '../render/folded.js';
import type { FrameBudget } from './bounds.js';

const KINDS: ReadonlyMap<string, FrameKind> = new Map(
	Object.entries(FRAME_LETTERS).map(([kind, letter]) => [letter, kind as FrameKind]),
);

/** Frames that `profileOf` adds to these: whose stack it is, that it is cut, that a caller is missing. */
const MAX_ADDED_FRAMES = 3;

export type JsonObject = Readonly<Record<string, unknown>>;

type FrameOf = (kind: FrameKind) => (name: string) => Frame;

type JsonRow = Pick<StackRow, 'key' | 'frames' | 'value' | 'cut' | 'callerMissing'>;

/** One result as it was parsed. Throws TstraceError where it is not one with stacks. */
export function tstraceProfile(result: JsonObject, budget: FrameBudget): StackProfile {
	const { stacks, tool } = result;
	if (!Array.isArray(stacks)) {
		throw new TstraceError(
			`the result of ${typeof tool === 'string' ? tool : 'tstrace'} has no stacks; ` +
				'give one of a tool that finds stacks, such as profile --json',
		);
	}
	// One object for each name, as stacks have them that were named here.
	const frameOf = remembered((kind: FrameKind) =>
		remembered((name: string): Frame => ({ name, kind })),
	);
	const rows = stacks.map((stack, index) => rowOf(stack, index, frameOf));
	for (const { frames, key } of rows)
		budget.take(frames.length + apartOf(key).length + MAX_ADDED_FRAMES);
	return profileOf(rows, originOf(result));
}

function rowOf(stack: unknown, index: number, frameOf: FrameOf): JsonRow {
	const { frames, kinds, value, key, cut, caller_missing } = (stack ?? {}) as JsonObject;
	if (!Array.isArray(frames) || typeof value !== 'number' || value < 0) {
		throw new TstraceError(
			`stack ${index + 1} of the JSON is damaged: its "frames" or its "value" is missing or wrong; record it again`,
		);
	}
	const letters = typeof kinds === 'string' ? kinds : '';
	return {
		key: keyOf(key),
		frames: frames.map((name, i) =>
			frameOf(KINDS.get(letters[i] ?? '') ?? 'user')(plainText(name)),
		),
		value,
		...(cut ? { cut: 'no frame pointers' as const } : {}),
		callerMissing: caller_missing === true,
	};
}

/** Whose the stack is, in names and numbers. */
function keyOf(key: unknown): Key {
	const fields = typeof key === 'object' && key !== null ? Object.entries(key) : [];
	return Object.fromEntries(
		fields.filter(([, value]) => typeof value === 'string' || typeof value === 'number'),
	) as Key;
}

/** Where strangers may have put anything: an object of theirs can be one that is no text either. */
export function plainText(value: unknown): string {
	return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** What it says of itself; strangers' files may say anything, so each field is looked at. */
export function originOf(result: JsonObject): Origin {
	const text = (name: string) => {
		const value = result[name];
		return typeof value === 'string' ? { [name]: value } : {};
	};
	const number = (name: string) => {
		const value = result[name];
		return typeof value === 'number' && Number.isFinite(value) ? { [name]: value } : {};
	};
	const { command, filters } = result;
	return {
		...text('tool'),
		...text('event'),
		...text('unit'),
		...text('start'),
		...text('host'),
		...text('kernel'),
		...number('duration_s'),
		...number('period_ns'),
		...number('frequency_hz'),
		...number('period'),
		...(Array.isArray(command) ? { command: command.map(plainText) } : {}),
		...(typeof filters === 'object' && filters !== null ? { filters: filters as JsonObject } : {}),
	};
}
