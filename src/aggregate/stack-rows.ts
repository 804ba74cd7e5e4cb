/** What was counted by stack. Pure values: no I/O, no kernel. */

import { remembered } from './remembered.js';
import type { Key } from './row-key.js';
import type { Cut, Did, Frame } from './stack.js';
import { pathsBy } from './stack-paths.js';
import { StackTable } from './stack-table.js';
import { scaledUncertainty, type Uncertain, uncertaintyOfSum } from './variance.js';
import { mergeObjects, type ObjectShare } from './wait-object.js';

/** Who woke threads, and where: `comm` of an interrupt says what it serves. */
export interface Waker {
	readonly key: Key;
	/** Root first. */
	readonly frames: readonly Frame[];
	/** As StackRow's. */
	readonly walked?: readonly Frame[];
	readonly cut?: Cut | undefined;
	readonly callerMissing?: boolean;
	/** What it did meanwhile, if that is told. */
	readonly did?: Did;
	/** Of one that was blocked: the frames are where, these are what for, and this is who ended that. */
	readonly objects?: readonly ObjectShare[];
	readonly waker?: Waker;
	/** Of how many processes it is, where `groupStacks` has put them together. */
	readonly processes?: number;
}

/** A stack of somebody, and what was counted there. */
export interface StackRow extends Uncertain {
	readonly key: Key;
	/** Root first. */
	readonly frames: readonly Frame[];
	/** One for each of `StackFindings.parts`; they add up to the value. */
	readonly parts: readonly number[];
	readonly value: number;
	readonly count: number;
	/** Why its first functions are missing; undefined: it is whole, or has no user frames. */
	readonly cut?: Cut | undefined;
	/** Whether the function is missing that called the user frame at the leaf. */
	readonly callerMissing?: boolean | undefined;
	/** Who ended the waits. */
	readonly waker?: Waker;
	/** All frames that it was walked with, which tell what kind of wait it was; undefined: they are in `frames`. */
	readonly walked?: readonly Frame[];
	/** As what its threads were blocked there: see wait-kinds.ts. For programs. */
	readonly waitKind?: string;
	/** What threads were blocked for there, the largest first; of the rest it is not known. */
	readonly objects?: readonly ObjectShare[];
	/** Of how many processes it is the sum, where `groupStacks` has put them together. */
	readonly processes?: number;
	/** Whatever else is known of it. */
	readonly details?: Readonly<Record<string, unknown>>;
	/** Which of the given stacks became this row, for code that adds details. */
	readonly sources?: readonly number[];
}

/** What may be known of a row. */
type Known = Partial<{ -readonly [Name in keyof StackRow]: StackRow[Name] | undefined }>;

/** The row, with what is known of it. In place: of 100,000, what is put together by spreading takes twice the memory. */
export function withKnown(row: StackRow, known: Known): StackRow {
	const growing: Known = row;
	for (const name in known) {
		const field = name as 'cut';
		if (known[field] !== undefined) growing[field] = known[field];
	}
	return row;
}

export interface StackFindings {
	readonly kind: 'stacks';
	/** Of values. */
	readonly unit: 'ns' | 'samples' | 'bytes';
	/** How it was measured, so that results can be compared: `period_ns`, `frequency_hz`, `event`. */
	readonly about: Readonly<Record<string, string | number>>;
	/** What one of `count` is: "wait". */
	readonly noun: string;
	readonly parts: readonly string[];
	/** Largest first. */
	readonly stacks: readonly StackRow[];
	/** What to know about them, a line each. */
	readonly notices: readonly string[];
	/** What is said of all of it, for programs: fields of the result, beside the stacks. */
	readonly answer?: Readonly<Record<string, unknown>>;
	/** What was found and is not shown, as the user asked for. */
	readonly leftOut?: readonly LeftOut[];
}

/** Stacks that an option leaves out. */
export interface LeftOut {
	readonly by: 'grep' | 'exclude' | 'idle';
	readonly rows: readonly StackRow[];
	/** Of 'idle'. */
	readonly threads?: number;
}

/** What one entry is: all threads of a name, of a process (which may have several names), one thread. */
export type Grouping = 'comm' | 'process' | 'thread';

/** Adds up rows that read the same: same key, same names. Returns the largest first. */
export function mergeStacks(rows: Iterable<StackRow>): StackRow[] {
	return alike(rows)
		.map(sumOf)
		.sort((a, b) => b.value - a.value);
}

/**
 * The same rows as larger entries: by name, those of several threads and processes that have the same
 * name and the same stack are one. Values and counts add up.
 */
export function groupStacks(rows: readonly StackRow[], by: Grouping): StackRow[] {
	if (by === 'thread') return [...rows];
	const sources = new Map(
		rows.map((row) => {
			const waker = row.waker && { waker: groupWaker(row.waker, by) };
			return [{ ...row, ...waker, key: groupKey(row.key, by) }, row];
		}),
	);
	return alike(sources.keys())
		.map((group) => {
			const sum = sumOf(largestFirst(group));
			if (by === 'process') return sum;
			const of = group.flatMap((row) => sources.get(row) ?? []);
			const waker = sum.waker && {
				waker: ownedWaker(
					sum.waker,
					of.map((row) => row.waker),
				),
			};
			return {
				...sum,
				...owner(
					sum.key,
					of.map(({ key }) => key.pid),
				),
				...waker,
			};
		})
		.sort((a, b) => b.value - a.value);
}

/** With the number of the process, as long as it is one; else how many they are. */
function owner(
	key: Key,
	pids: readonly (Key[string] | undefined)[],
): { key: Key; processes?: number } {
	const different = new Set(pids.filter((pid) => pid !== undefined));
	const [pid] = different;
	if (different.size === 1 && pid !== undefined) return { key: { pid, ...key } };
	return different.size > 1 ? { key, processes: different.size } : { key };
}

function groupKey({ tid: _, ...key }: Key, by: 'comm' | 'process'): Key {
	if (by === 'process') return key;
	const { pid: __, ...named } = key;
	return named;
}

function groupWaker({ waker, ...of }: Waker, by: 'comm' | 'process'): Waker {
	const ended = waker && { waker: groupWaker(waker, by) };
	return { ...of, ...ended, key: groupKey(of.key, by) };
}

/** With the numbers of the processes that the wakers of these rows are. */
function ownedWaker({ waker, ...sum }: Waker, of: readonly (Waker | undefined)[]): Waker {
	const owned = owner(
		sum.key,
		of.map((each) => each?.key.pid),
	);
	const ended = waker && {
		waker: ownedWaker(
			waker,
			of.map((each) => each?.waker),
		),
	};
	return { ...sum, ...ended, ...owned };
}

/** Rows that read the same, together, in the order of their first ones. */
function alike(rows: Iterable<StackRow>): StackRow[][] {
	const groups: StackRow[][] = [];
	// By what they are but for whose they are, which is short, and then by whose: threads may be 100,000.
	const byWay = new Map<string, Map<string, StackRow[]>>();
	const numbers = new Map<string, number>();
	// A number for each name: whole stacks of names would take megabytes. Stacks share their frames, so
	// that most names need not be looked up.
	const pathOf = pathsBy(
		remembered(({ name, kind }: Frame): number => {
			const identity = kind + name;
			const number = numbers.get(identity) ?? numbers.size;
			numbers.set(identity, number);
			return number;
		}),
	);
	const stacks = new StackTable();
	// A waker of many rows has the same frames in all of them.
	const stackOf = remembered((frames: readonly Frame[]): number =>
		stacks.intern(pathOf(frames), frames.length),
	);
	const wakers = new Map<string, number>();
	const wakerOf = remembered((waker: Waker): number => {
		const identity = `${waker.did ?? ''} ${JSON.stringify(waker.key)} ${wayOf(waker)}`;
		const number = wakers.get(identity) ?? wakers.size;
		wakers.set(identity, number);
		return number;
	});
	const wayOf = ({ cut, callerMissing = false, frames, waker }: StackRow | Waker): string =>
		`${cut ?? ''} ${callerMissing} ${stackOf(frames)} ${waker ? wakerOf(waker) : ''}`;
	for (const row of rows) {
		const way = wayOf(row);
		const byKey = byWay.get(way) ?? new Map<string, StackRow[]>();
		if (byKey.size === 0) byWay.set(way, byKey);
		const key = JSON.stringify(row.key);
		const group = byKey.get(key);
		if (group) group.push(row);
		else {
			const first = [row];
			groups.push(first);
			byKey.set(key, first);
		}
	}
	return groups;
}

/** What is not a sum, such as what kind of wait it was, is to be that of most of the time. */
function largestFirst(rows: readonly StackRow[]): StackRow[] {
	const largest = rows.reduce((a, b) => (b.value > a.value ? b : a));
	return [largest, ...rows.filter((row) => row !== largest)];
}

/** The sum of rows, of which there is one at least; what is not a sum is the first one's. */
function sumOf(rows: readonly StackRow[]): StackRow {
	const [first] = rows as [StackRow];
	if (rows.length === 1) return first;
	return {
		...first,
		...amountsOf(rows, first.parts.length),
		...waitsOf(rows),
		...(first.sources ? { sources: rows.flatMap(({ sources = [] }) => sources) } : {}),
	};
}

type Amounts = Pick<StackRow, 'parts' | 'value' | 'count' | 'variance' | 'against'>;

/** What was counted in all of them together. */
function amountsOf(rows: readonly StackRow[], partCount: number): Amounts {
	const parts = new Array<number>(partCount).fill(0);
	let [value, count] = [0, 0];
	for (const row of rows) {
		for (let part = 0; part < partCount; part++)
			parts[part] = (parts[part] as number) + (row.parts[part] ?? 0);
		value += row.value;
		count += row.count;
	}
	return { parts, value, count, ...uncertaintyOfSum(rows) };
}

/** What rows that read the same waited for, and their wakers. */
function waitsOf(of: readonly (StackRow | Waker)[]): Pick<Waker, 'objects' | 'waker'> {
	const objects = mergeObjects(of.flatMap((each) => each.objects ?? []));
	const wakers = of.flatMap(({ waker }) => waker ?? []);
	const [first] = wakers;
	return {
		...(objects.length > 0 ? { objects } : {}),
		...(first ? { waker: { ...first, ...waitsOf(wakers) } } : {}),
	};
}

/** Each part of each stack on its own, its name as the key's `part`. */
export function splitStacks(findings: StackFindings): StackRow[] {
	const rows: StackRow[] = [];
	for (const row of findings.stacks) {
		for (const [index, value] of row.parts.entries()) {
			if (value === 0) continue;
			const share = value / row.value;
			rows.push({
				...row,
				key: { part: findings.parts[index] ?? '', ...row.key },
				parts: row.parts.map((part, each) => (each === index ? part : 0)),
				value,
				...scaledUncertainty(row, share),
			});
		}
	}
	return rows.sort((a, b) => b.value - a.value);
}

/** What was counted in all rows, as one without frames; it does not say what waits were for. */
export function totalOf({ stacks, parts }: Pick<StackFindings, 'stacks' | 'parts'>): StackRow {
	return { key: {}, frames: [], ...amountsOf(stacks, parts.length) };
}

/** In the place of functions that a walk has missed. */
export const CUT_FRAME = '[cut]';
/** Between who waited and who ended that. */
export const WAKER_FRAME = '--';
export const CALLER_FRAME = '[caller not known]';

/** Where in frames, root first, the user's end; -1 where there are none. */
export function userLeafOf(frames: readonly Frame[]): number {
	return frames.findLastIndex(({ kind }) => kind !== 'kernel');
}
