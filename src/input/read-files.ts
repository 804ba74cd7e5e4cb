/** Stacks from files and standard input: the content decides the format, not the name. */
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FrameTable } from '../aggregate/frame-table.js';
import { sameEvent, samplingText } from '../aggregate/sampled-event.js';
import {
	addStacks,
	type Origin,
	profileTotal,
	type StackProfile,
} from '../aggregate/stack-profile.js';
import { StackTable } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import { formatOf } from './format-of.js';
import type { Notify, ReadOptions } from './format-reader.js';

const CHUNK_BYTES = 1 << 20;
/** So much of it tells what it is; a pipe hands over less at a time. */
const BEGINNING_BYTES = 1 << 16;
const TOTAL_END = 1e21;
/** What tells gzip: RFC 1952, 2.3.1. */
const GZIP = [0x1f, 0x8b];
/** Editors of other systems put it before UTF-8. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Names standard input, as everywhere. */
export const STANDARD_INPUT = '-';

/**
 * Reads all files; what they have of the same event is added up. Returns a profile for each event, or
 * for the one that `options` name. Throws TstraceError, which names the file, for what cannot be read.
 */
export async function readProfiles(
	paths: readonly string[],
	options: ReadOptions,
	notify: Notify,
): Promise<StackProfile[]> {
	const all: StackProfile[][] = [];
	const names = paths.map((path) => (path === STANDARD_INPUT ? 'standard input' : path));
	for (const [index, path] of paths.entries()) {
		const name = names[index] as string;
		const content = contentOf(path);
		try {
			const { beginning, rest } = await peek(content);
			const reader = formatOf(beginning);
			all.push(await reader(rest, options, (notice) => notify(`${name}: ${notice}`)));
		} catch (error) {
			throw readable(error, name);
		} finally {
			// A writer that has nothing to say would keep us waiting after an error.
			content.destroy();
		}
	}
	const events = addUp(all, names);
	try {
		const profiles = chosen(events, options.event);
		for (const profile of profiles) checkTotal(profile);
		return profiles;
	} catch (error) {
		throw readable(error, names.join(', '));
	}
}

/** Throws TstraceError, which names the events there are, where there is no such event. */
function chosen(profiles: StackProfile[], event: string | undefined): StackProfile[] {
	if (event === undefined) return profiles;
	const exactly = profiles.filter(({ origin }) => origin.event === event);
	if (exactly.length > 0) return exactly;
	const found = profiles.filter(({ origin }) => sameEvent(origin.event ?? '', event));
	if (found.length > 0) return found;
	const events = profiles.flatMap(({ origin }) => origin.event ?? []);
	throw new TstraceError(
		`there is no event ${event}; ` +
			(events.length > 0 ? `there are: ${events.join(', ')}` : 'the input names no events'),
	);
}

/** Throws TstraceError: from here on shares cannot be reckoned, and numbers are written with an exponent. */
function checkTotal(profile: StackProfile): void {
	if (profileTotal(profile) < TOTAL_END) return;
	throw new TstraceError(
		'its counts add up to 10^21 or more, so some cannot be right; record it again',
	);
}

function contentOf(path: string): Readable {
	return path === STANDARD_INPUT
		? process.stdin
		: createReadStream(path, { highWaterMark: CHUNK_BYTES });
}

interface Begun {
	readonly beginning: Buffer;
	readonly rest: AsyncIterable<Buffer>;
}

/** The beginning of what is in it, unpacked if it was packed, and everything with that beginning. */
async function peek(source: Readable): Promise<Begun> {
	const { beginning, rest } = await begun(source[Symbol.asyncIterator]());
	if (!GZIP.every((byte, i) => beginning[i] === byte)) return { beginning, rest };
	const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
	// Its errors, and those of what it reads, come out of `unpacked`.
	pipeline(Readable.from(rest), unpacked, () => undefined);
	return await begun(unpacked[Symbol.asyncIterator]());
}

async function begun(chunks: AsyncIterator<Buffer>): Promise<Begun> {
	const first: Buffer[] = [];
	for (let bytes = 0; bytes < BEGINNING_BYTES; bytes += first.at(-1)?.length ?? 0) {
		const next = await chunks.next();
		if (next.done) break;
		first.push(next.value);
	}
	const bytes = Buffer.concat(first);
	const beginning = BYTE_ORDER_MARK.every((byte, i) => bytes[i] === byte)
		? bytes.subarray(BYTE_ORDER_MARK.length)
		: bytes;
	return { beginning, rest: joined(beginning, chunks) };
}

async function* joined(first: Buffer, others: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
	if (first.length > 0) yield first;
	for (let next = await others.next(); !next.done; next = await others.next()) yield next.value;
}

/**
 * Profiles of the same event as one. Throws TstraceError when a file has nothing that can be added to
 * the first, or has it in another unit: a sum of times and samples would be nonsense.
 */
function addUp(
	files: readonly (readonly StackProfile[])[],
	names: readonly string[],
): StackProfile[] {
	const byKind = new Map<string, [StackProfile, ...StackProfile[]]>();
	for (const [index, profiles] of files.entries()) {
		if (index > 0 && !profiles.some((profile) => byKind.has(kindOf(profile)))) {
			const kinds = [files[0] ?? [], profiles].map((each) => each.map(kindOf).join(', '));
			throw new TstraceError(
				`${names[0]} (${kinds[0]}) and ${names[index]} (${kinds[1]}) cannot be added up; ` +
					'give recordings of one kind',
			);
		}
		for (const profile of profiles) {
			const same = byKind.get(kindOf(profile));
			if (same) same.push(profile);
			else byKind.set(kindOf(profile), [profile]);
		}
	}
	return [...byKind.values()].map(([first, ...others]) =>
		others.length === 0 ? first : merged(first, others),
	);
}

/** What was counted: an event, or what a tool counts; in which unit, and how often it was looked at. */
function kindOf({ origin }: StackProfile): string {
	const { event, tool, unit } = origin;
	const what = event ?? tool ?? 'unknown kind';
	const counted = unit === undefined || unit === event ? what : `${what} in ${unit}`;
	const sampling = unit === 'samples' ? samplingText(origin) : undefined;
	return sampling === undefined ? counted : `${counted} taken ${sampling}`;
}

function merged(first: StackProfile, others: readonly StackProfile[]): StackProfile {
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const profile of [first, ...others]) {
		addStacks(stacks, profile, ({ name, kind }) => frames.intern(name, kind));
	}
	const counts = [first, ...others].map(({ samples }) => samples ?? Number.NaN);
	const samples = counts.reduce((sum, count) => sum + count, 0);
	const { samples: _, ...rest } = first;
	return {
		...rest,
		frames,
		stacks,
		origin: commonOrigin(first.origin, others),
		marked: [first, ...others].some(({ marked }) => marked),
		...(Number.isNaN(samples) ? {} : { samples }),
	};
}

/** What all say alike, and when the first began. */
function commonOrigin(first: Origin, others: readonly StackProfile[]): Origin {
	const alike = Object.entries(first).filter(([field, value]) => {
		// How long they took together nobody knows: one after the other, or side by side.
		if (field === 'duration_s') return false;
		const same = JSON.stringify(value);
		return others.every(({ origin }) => JSON.stringify(origin[field as keyof Origin]) === same);
	});
	const starts = [first, ...others.map(({ origin }) => origin)].flatMap(({ start }) => start ?? []);
	const start = starts.length > others.length ? { start: starts.sort()[0] as string } : {};
	return { ...Object.fromEntries(alike), ...start };
}

function readable(error: unknown, name: string): TstraceError {
	if (error instanceof TstraceError) {
		return new TstraceError(`${name}: ${error.message}`, error.detail);
	}
	const { code } = error as NodeJS.ErrnoException;
	const why = WHY[code ?? ''] ?? String(code ?? error);
	return new TstraceError(`cannot read ${name}: ${why}`, String(error));
}

const WHY: Readonly<Record<string, string>> = {
	ENOENT: 'there is no such file; check its spelling',
	EACCES: 'permission denied; choose another file, or become its owner',
	EISDIR: 'it is a folder; name a file in it',
	Z_DATA_ERROR: 'its gzip data is damaged; record it again',
	Z_BUF_ERROR: 'its gzip data was cut off; record it again',
};
