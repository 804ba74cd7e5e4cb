/** Formats there and back, in memory. */
import { gunzipSync } from 'node:zlib';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import { formatOf } from '../../../src/input/format-of.js';
import { ALL_MARKS, renderFolded } from '../../../src/render/folded.js';
import type { Pieces } from '../../../src/render/stack-formats.js';
import { READING } from '../profiles.js';

/** Reads what a file has, unpacked, handed over in chunks of so many bytes. */
export async function profilesOf(
	content: Uint8Array | string,
	{ notices = [] as string[], options = READING, chunkBytes = 1 << 20 } = {},
): Promise<StackProfile[]> {
	const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
	const chunks = async function* (): AsyncGenerator<Buffer> {
		for (let from = 0; from < bytes.length; from += chunkBytes) {
			yield bytes.subarray(from, from + chunkBytes);
		}
	};
	const reader = formatOf(bytes.subarray(0, chunkBytes));
	return await reader(chunks(), options, (notice) => notices.push(notice));
}

export async function profileOfText(text: string): Promise<StackProfile> {
	return (await profilesOf(text))[0] as StackProfile;
}

/** With all marks, as `tstrace flamegraph --format folded` writes it. */
export function foldedOf(profile: StackProfile | undefined): string {
	if (!profile) return '';
	return [...renderFolded(profile, { divisor: 1, marks: ALL_MARKS, sorted: false })].join('');
}

export async function bytesOf(pieces: Pieces): Promise<Buffer> {
	const all: Uint8Array[] = [];
	for await (const piece of pieces) all.push(Buffer.from(piece));
	return Buffer.concat(all);
}

export const unpacked = async (pieces: Pieces): Promise<Buffer> =>
	gunzipSync(await bytesOf(pieces));
