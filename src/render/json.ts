/** The --json envelope: one object per interval, on a line of its own. */
import { percentiles } from '../aggregate/hdr.js';
import type { Findings, LatencyGroup, Report } from '../aggregate/report.js';
import type { StackFindings } from '../aggregate/stacks.js';
import { FRAME_LETTERS } from './folded.js';

/** Raised when a field changes its meaning or goes; not when one is added. */
const SCHEMA = 1;

export async function renderJson(report: Report): Promise<string> {
	const { tool, start, duration_ns, findings, lost, cost } = report;
	const body = await bodyOf(findings);
	const envelope = {
		tool,
		schema: SCHEMA,
		start: start.toISOString(),
		duration_s: round(duration_ns / 1e9, 6),
		...body,
		lost,
		cost: cost
			? { ...cost, cpu_pct: round(cost.cpu_pct, 4) }
			: { bpf_runs: null, bpf_ns: null, cpu_pct: null },
	};
	return `${escapeForTerminals(JSON.stringify(envelope))}\n`;
}

async function bodyOf(findings: Findings): Promise<object> {
	if (findings.kind === 'rows') return { rows: findings.rows };
	if (findings.kind === 'stacks') return stackBody(findings);
	const groups: object[] = [];
	// One after the other: all at once they would take 250 kB each.
	for (const each of findings.groups) groups.push(await group(each));
	return { unit: 'ns', groups };
}

/** Frames are names; what kind each is of stands beside them, a letter each: see FRAME_LETTERS. */
function stackBody({ unit, about, parts, stacks, notices }: StackFindings): object {
	return {
		...about,
		unit,
		stacks: stacks.map((row) => ({
			frames: row.frames.map(({ name }) => name),
			kinds: row.frames.map(({ kind }) => FRAME_LETTERS[kind]).join(''),
			value: Math.round(row.value),
			count: round(row.count, 1),
			...(unit === 'ns' ? { error: Math.round(Math.sqrt(row.variance)) } : {}),
			...(parts.length > 1
				? Object.fromEntries(
						parts.map((part, i) => [part.replace(' ', '_'), Math.round(row.parts[i] ?? 0)]),
					)
				: {}),
			key: row.key,
		})),
		notices,
	};
}

/** JSON leaves DEL, C1 and direction marks in strings as they are; a terminal would obey them. */
function escapeForTerminals(json: string): string {
	return json.replace(
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
