/** The --json envelope: one object per interval, on a line of its own. */

import { cutShare } from '../aggregate/cut-notices.js';
import { percentiles } from '../aggregate/hdr.js';
import type { Findings, LatencyGroup, Report } from '../aggregate/report.js';
import type { Did } from '../aggregate/stack.js';
import { type StackFindings, type StackRow, totalOf, type Waker } from '../aggregate/stack-rows.js';
import { kindForPrograms, waitKind } from '../aggregate/wait-kinds.js';
import type { ObjectShare } from '../aggregate/wait-object.js';
import type { Cost } from '../loader/cost.js';
import { framesOf, framesTextBy } from './json-frames.js';
import { objectText } from './wait-object.js';

/** Raised when a field changes its meaning or goes; not when one is added. */
export const SCHEMA = 1;

/** Rows handed over at a time: all of them are more than a string holds. */
const ROWS_AT_ONCE = 1000;

/** The object and a newline, in pieces. */
export async function* renderJson(report: Report): AsyncGenerator<string> {
	const { tool, circumstances, start, duration_ns, findings, lost, cost, ended } = report;
	const head = {
		tool,
		schema: SCHEMA,
		...circumstances,
		start: start.toISOString(),
		duration_s: round(duration_ns / 1e9, 6),
	};
	const tail = { lost, cost: costOf(cost), ...(ended ? { ended } : {}) };
	if (findings.kind !== 'stacks') {
		yield line({ ...head, ...(await bodyOf(findings)), ...tail });
		return;
	}
	const { about, answer, unit, stacks, notices } = findings;
	const missing = { cut_share: round(cutShare(stacks), 4), ...leftOutOf(findings) };
	yield `${escapedJson({ ...head, ...about, unit, ...answer }).slice(0, -1)},"stacks":[`;
	const framesText = framesTextBy(escapedJson);
	for (let i = 0; i < stacks.length; i += ROWS_AT_ONCE) {
		const rows = stacks
			.slice(i, i + ROWS_AT_ONCE)
			.map((row) => `{${framesText(row.frames)},${escapedJson(stackOf(row, findings)).slice(1)}`);
		yield `${i === 0 ? '' : ','}${rows.join(',')}`;
	}
	yield `],${line({ ...missing, notices, ...tail }).slice(1)}`;
}

/** Of programs null where it was not measured, and not 0. */
function costOf({ programs, own_ns, own_pct }: Cost): object {
	return {
		bpf_runs: programs?.bpf_runs ?? null,
		bpf_ns: programs?.bpf_ns ?? null,
		cpu_pct: programs ? round(programs.cpu_pct, 4) : null,
		trap_ns: programs?.trap_ns ?? null,
		own_ns,
		own_pct: round(own_pct, 4),
	};
}

async function bodyOf(findings: Exclude<Findings, StackFindings>): Promise<object> {
	if (findings.kind === 'rows') return { rows: findings.rows };
	if (findings.kind === 'table') return { ...findings.about, rows: findings.rows };
	const groups: object[] = [];
	// One after the other: all at once they would take 250 kB each.
	for (const each of findings.groups) groups.push(await group(each));
	return { unit: 'ns', groups };
}

/** All but its frames. */
function stackOf(row: StackRow, { unit, parts }: StackFindings): object {
	return {
		value: Math.round(row.value),
		count: round(row.count, 1),
		...(unit === 'samples' ? {} : { error: Math.round(Math.sqrt(row.variance)) }),
		...(parts.length > 1
			? Object.fromEntries(
					parts.map((part, i) => [part.replace(' ', '_'), Math.round(row.parts[i] ?? 0)]),
				)
			: {}),
		...(row.cut ? { cut: row.cut } : {}),
		...(row.callerMissing ? { caller_missing: true } : {}),
		...waitOf(row.waitKind, row),
		...row.details,
		...(row.processes ? { processes: row.processes } : {}),
		key: row.key,
	};
}

/** What a waker did, as JSON has it. */
export const DID_NAMES: Readonly<Record<Did, string>> = {
	'was blocked': 'blocked',
	ran: 'ran',
	'waited for a CPU': 'waited_for_cpu',
	'did not exist yet': 'not_born',
};

type Waited = Pick<StackRow, 'objects' | 'waker'>;

/** What was waited for, the largest in words, and who ended that. */
function waitOf(kind: string | undefined, { objects = [], waker }: Waited): object {
	const [largest] = objects;
	if (kind === undefined && !largest && !waker) return {};
	return {
		wait: {
			...(kind === undefined ? {} : kindForPrograms(kind)),
			...(largest ? { object: objectText(largest.object), objects: objects.map(objectOf) } : {}),
			...(waker ? { waker: wakerOf(waker) } : {}),
		},
	};
}

function objectOf({ object, value }: ObjectShare): object {
	return { ...object, value_ns: Math.round(value) };
}

/** Whose stack is not recorded has no frames. */
function wakerOf(of: Waker): object {
	const { key, did, frames, cut, callerMissing, processes } = of;
	const wasBlocked = did === 'was blocked' && frames.some(({ kind }) => kind === 'kernel');
	return {
		...key,
		...(did ? { did: DID_NAMES[did] } : {}),
		...(frames.length > 0 ? framesOf(frames) : {}),
		...(cut ? { cut } : {}),
		...(callerMissing ? { caller_missing: true } : {}),
		...(processes ? { processes } : {}),
		...waitOf(wasBlocked ? waitKind(of.walked ?? frames) : undefined, of),
	};
}

/** What was found and is not among the stacks, as the user asked for. */
function leftOutOf({ leftOut = [], parts }: StackFindings): object {
	const amounts = leftOut.map(({ by, rows, threads }) => {
		const { value, count } = totalOf({ stacks: rows, parts });
		const amount = { value: Math.round(value), count: round(count, 1), stacks: rows.length };
		return [by, { ...amount, ...(threads === undefined ? {} : { threads }) }] as const;
	});
	return leftOut.length > 0 ? { left_out: Object.fromEntries(amounts) } : {};
}

function line(value: object): string {
	return `${escapedJson(value)}\n`;
}

/** JSON leaves DEL, C1 and direction marks in strings as they are; a terminal would obey them. */
export function escapedJson(value: object | string): string {
	return JSON.stringify(value).replace(
		/[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
}

async function group({ key, histogram }: LatencyGroup): Promise<object> {
	const empty = histogram.count === 0;
	return {
		key,
		count: histogram.count,
		sum: histogram.sum_ns,
		min: empty ? 0 : histogram.min_ns,
		max: histogram.max_ns,
		...(await percentiles(histogram)),
		buckets: histogram.ranges(),
	};
}

function round(value: number, digits: number): number {
	return Number(value.toFixed(digits));
}
