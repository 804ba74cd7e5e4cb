/** perf script text, read from memory. */
import assert from 'node:assert/strict';
import type { FrameKind } from '../../../src/aggregate/stack.js';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import type { ReadOptions } from '../../../src/input/format-reader.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import { renderFolded } from '../../../src/render/folded.js';
import { chunksOf, READING } from '../profiles.js';

const PLAIN: ReadOptions = { ...READING, arrowMarks: true };

interface Result {
	readonly profiles: StackProfile[];
	readonly notices: string[];
}

/** What is read of this text, handed over in pieces of so many bytes. */
export async function read(
	content: string | Buffer,
	options: Partial<ReadOptions> = {},
	bytes?: number,
): Promise<Result> {
	const notices: string[] = [];
	const profiles = await readPerfScript(
		chunksOf(content, bytes),
		{ ...PLAIN, ...options },
		(notice) => notices.push(notice),
	);
	return { profiles, notices };
}

export function folded(
	profile: StackProfile | undefined,
	marks: readonly FrameKind[] = [],
): string {
	assert.ok(profile);
	return [...renderFolded(profile, { divisor: 1, marks: new Set(marks), sorted: true })].join('');
}

/** The one profile there is, as folded text. */
export async function foldedText(
	content: string,
	options: Partial<ReadOptions> = {},
): Promise<string> {
	const { profiles } = await read(content, options);
	assert.equal(profiles.length, 1);
	return folded(profiles[0]);
}
