/** What was counted by stack. Pure values: no I/O, no kernel. */
import type { Frame } from '../symbolize/stack.js';
import { FrameTable } from './frame-table.js';
import type { Key } from './report.js';
import type { Origin, StackProfile } from './stack-profile.js';
import { StackTable } from './stack-table.js';

/** A stack of somebody, and what was counted there. */
export interface StackRow {
	readonly key: Key;
	/** Root first. */
	readonly frames: readonly Frame[];
	/** One for each of `StackFindings.parts`; they add up to the value. */
	readonly parts: readonly number[];
	readonly value: number;
	readonly count: number;
	/** The square of the value's standard error; 0: the value is exact. Variances add up. */
	readonly variance: number;
	/** Whatever else is known of it. */
	readonly details?: Readonly<Record<string, number | string | boolean>>;
	/** Which of the stacks that were to be named became this row, for whoever adds details. */
	readonly sources?: readonly number[];
}

export interface StackFindings {
	readonly kind: 'stacks';
	/** Of values. */
	readonly unit: 'ns' | 'samples' | 'bytes';
	/** How it was measured, for whoever compares results: `period_ns`, `frequency_hz`, `event`. */
	readonly about: Readonly<Record<string, string | number>>;
	/** What one of `count` is: "wait". */
	readonly noun: string;
	readonly parts: readonly string[];
	/** Largest first. */
	readonly stacks: readonly StackRow[];
	/** What to know about them, a line each. */
	readonly notices: readonly string[];
}

/** Adds up rows that read the same: same key, same names. Returns the largest first. */
export function mergeStacks(rows: Iterable<StackRow>): StackRow[] {
	const merged = new Map<string, Sum>();
	const numbers = new Map<string, number>();
	// A number for each name: whole stacks of names would take megabytes.
	const numberOf = ({ name, kind }: Frame): number => {
		const identity = kind + name;
		const number = numbers.get(identity) ?? numbers.size;
		numbers.set(identity, number);
		return number;
	};
	for (const row of rows) {
		const identity = `${JSON.stringify(row.key)}${row.frames.map(numberOf).join()}`;
		const before = merged.get(identity);
		if (before) addTo(before, row);
		else merged.set(identity, sumOf(row));
	}
	return [...merged.values()].sort((a, b) => b.value - a.value);
}

/** A row that grows. */
interface Sum extends StackRow {
	readonly parts: number[];
	value: number;
	count: number;
	variance: number;
	readonly sources?: number[];
}

function sumOf(row: StackRow): Sum {
	const { sources } = row;
	return { ...row, parts: [...row.parts], ...(sources && { sources: [...sources] }) } as Sum;
}

/** In place: sums of what reads the same can have tens of thousands of rows. */
function addTo(sum: Sum, { parts, value, count, variance, sources = [] }: StackRow): void {
	for (const [index, part] of parts.entries()) sum.parts[index] = (sum.parts[index] ?? 0) + part;
	sum.value += value;
	sum.count += count;
	sum.variance += variance;
	for (const source of sources) sum.sources?.push(source);
}

/** Each part of each stack on its own, its name as the key's `kind`. */
export function splitStacks(findings: StackFindings): StackRow[] {
	const rows: StackRow[] = [];
	for (const row of findings.stacks) {
		for (const [index, value] of row.parts.entries()) {
			if (value === 0) continue;
			const share = value / row.value;
			rows.push({
				...row,
				key: { kind: findings.parts[index] ?? '', ...row.key },
				parts: row.parts.map((part, each) => (each === index ? part : 0)),
				value,
				variance: row.variance * share * share,
			});
		}
	}
	return rows.sort((a, b) => b.value - a.value);
}

/** The sum of all rows, as one without frames. */
export function totalOf(findings: StackFindings): StackRow {
	const total: Sum = {
		key: {},
		frames: [],
		parts: findings.parts.map(() => 0),
		value: 0,
		count: 0,
		variance: 0,
	};
	for (const row of findings.stacks) addTo(total, row);
	return total;
}

/**
 * The rows as stacks whose root is whose they are. `delimited`: with a frame "-" between the user's
 * and the kernel's.
 */
export function profileOf(
	rows: Iterable<Pick<StackRow, 'key' | 'frames' | 'value'>>,
	origin: Origin,
	delimited = false,
): StackProfile {
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const row of rows) {
		const path = ownersOf(row.key).map((name) => frames.intern(name));
		let inKernel = false;
		for (const { name, kind } of row.frames) {
			if (delimited && kind === 'kernel' && !inKernel) path.push(frames.intern('-'));
			inKernel ||= kind === 'kernel';
			path.push(frames.intern(name, kind));
		}
		stacks.add(path, path.length, row.value);
	}
	return { frames, stacks, origin, marked: false };
}

/** A part, if rows were split; the thread's name, with its number if threads are apart. */
function ownersOf({ kind, comm, tid }: Key): string[] {
	return [...(kind === undefined ? [] : [`${kind}`]), `${comm ?? ''}${tid ? `-${tid}` : ''}`];
}
