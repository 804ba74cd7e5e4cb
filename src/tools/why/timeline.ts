/** The worst single waits over the window: a lane for each thread, and a table. Pure values: no I/O, no kernel. */
import type { PageSection, PageTable, Timeline } from '../../aggregate/page-report.js';
import { humanTime } from '../../render/units.js';
import { linksOf, tellingFunction } from './chain.js';
import { accountObject } from './places.js';
import { linkText, pathText } from './text.js';
import { MOST_ALIKE, MOST_WORST, type WorstWait } from './worst.js';

const MOST_LANES = 12;
const NOTE =
	`The longest single waits of threads with work to do: at most ${MOST_WORST}, each of 1 ms or longer, and ` +
	`at most ${MOST_ALIKE} of one thread for one thing. There is a lane for each thread, from the beginning ` +
	'of the window to its end.';

interface Lane {
	readonly name: string;
	readonly waits: readonly WorstWait[];
}

/** `worst`: the longest first. */
export function timelineSection(worst: readonly WorstWait[], window_ns: number): PageSection {
	const title = 'The worst single waits';
	if (worst.length === 0)
		return { title, note: 'No thread with work to do waited for 1 ms or longer.', blocks: [] };
	const lanes = lanesOf(worst);
	const left = lanes.length - MOST_LANES;
	const others = left > 0 ? ` The table has those of ${left} more, too.` : '';
	return {
		title,
		note: NOTE + others,
		blocks: [timelineOf(lanes.slice(0, MOST_LANES), worst, window_ns), tableOf(worst)],
	};
}

/** By thread: the one with the longest wait first. */
function lanesOf(worst: readonly WorstWait[]): Lane[] {
	const lanes = new Map<string, WorstWait[]>();
	for (const wait of worst) {
		const name = whoText(wait);
		const same = lanes.get(name);
		if (same) same.push(wait);
		else lanes.set(name, [wait]);
	}
	return [...lanes].map(([name, waits]) => ({ name, waits }));
}

function timelineOf(
	lanes: readonly Lane[],
	worst: readonly WorstWait[],
	length_ns: number,
): Timeline {
	return {
		type: 'timeline',
		length_ns,
		lanes: lanes.map(({ name, waits }) => ({
			name,
			bars: waits.map((wait) => {
				const number = worst.indexOf(wait) + 1;
				const what = whatText(wait);
				return {
					begin_ns: wait.begin_ns,
					end_ns: wait.end_ns,
					tone: toneOf(wait),
					label: `${number} ${what}`,
					text: `${number}: ${name}, ${humanTime(lengthOf(wait))} from ${beginText(wait)} on: ${what}`,
					number,
				};
			}),
		})),
	};
}

function tableOf(worst: readonly WorstWait[]): PageTable {
	return {
		type: 'table',
		columns: [
			...['no.', 'from', 'for'].map((name) => ({ name })),
			...['thread', 'waits', 'where', 'chain'].map((name) => ({ name, isText: true })),
		],
		rows: worst.map((wait, at) => {
			const { row } = wait.part;
			return {
				tone: toneOf(wait),
				number: at + 1,
				cells: [
					`${at + 1}`,
					beginText(wait),
					humanTime(lengthOf(wait)),
					whoText(wait),
					whatText(wait),
					tellingFunction(row) || pathText(row.frames),
					chainLines(wait),
				],
			};
		}),
	};
}

const lengthOf = ({ begin_ns, end_ns }: WorstWait) => end_ns - begin_ns;
const beginText = ({ begin_ns }: WorstWait) => (begin_ns === 0 ? '0 s' : humanTime(begin_ns));
const whoText = ({ comm, tid }: WorstWait) => `${comm} (${tid})`;
const toneOf = ({ part: { place } }: WorstWait) =>
	place === 'runnable' ? 'hot' : place === 'idle' ? 'quiet' : 'warm';

/** "lock cache_lock"; who had it as tracing ended may be another one than who had it then. */
function whatText({ part }: WorstWait): string {
	const { place, kind } = part;
	const object = accountObject(part);
	const what = object.startsWith(kind) ? object : `${kind} ${object}`.trim();
	return place === 'runnable' ? `runnable: ${what}` : what;
}

/** A line for each link. */
function chainLines({ part: { row }, isOpen }: WorstWait): string[] {
	if (isOpen) return ['it went on as the window ended'];
	const links = row.waker ? linksOf(row.waker).map(linkText) : [];
	return links.filter((text) => text !== '').map((text) => `← ${text}`);
}
