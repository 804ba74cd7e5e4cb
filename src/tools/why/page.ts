/** The answer as a page to keep: verdict, account, reasons, the worst waits. Pure values: no I/O, no kernel. */
import type {
	PageEntries,
	PageReport,
	PageSection,
	PageTable,
	ShareBar,
	Tone,
} from '../../aggregate/page-report.js';
import { shareText } from '../../render/amounts.js';
import { grouped } from '../../render/numbers.js';
import { humanTime } from '../../render/units.js';
import type { Answer } from './answer.js';
import { holderWords } from './phrases.js';
import type { Place } from './places.js';
import type { Culprit, Reason } from './reasons.js';
import { linkText, pathText, placeText, reasonHead, topReasons } from './text.js';
import { timelineSection } from './timeline.js';
import type { Verdict } from './verdict.js';
import type { WorstWait } from './worst.js';

/** Of wall-clock time: smaller places are together. */
const LEAST_PLACE_SHARE = 0.0005;
/** Of a reason. */
const MOST_CULPRITS = 3;
const LEAST_CHAIN_SHARE = 0.05;
const MOST_THREADS = 20;

type Where = Place['place'] | 'for own threads';
/** Where a thread is: what that looks like. In the order of the bar. */
const TONES: Readonly<Record<Where, Tone>> = {
	running: 'cool',
	runnable: 'hot',
	waiting: 'warm',
	'for own threads': 'pale',
	idle: 'quiet',
	'not seen': 'faint',
};
const whereOf = ({ place, follows }: Place): Where => (follows ? 'for own threads' : place);

export function pageReport(
	answer: Answer,
	{
		verdict,
		worst,
		top,
	}: { readonly verdict: Verdict; readonly worst: readonly WorstWait[]; readonly top: number },
): PageReport {
	const { window_ns, threads, wall_ns, working_ns, idle_ns } = answer;
	return {
		title: 'Where the time went, and why',
		statement: verdict.text,
		remarks: [sureness(verdict)],
		facts: [
			...(verdict.next ? [{ name: 'try next', value: verdict.next, isCommand: true }] : []),
			{ name: 'window', value: `${humanTime(window_ns)}, ${threadsText(threads.length)}` },
			{ name: 'wall-clock time', value: humanTime(wall_ns) },
			{ name: 'working', value: humanTime(working_ns) },
			{ name: 'idle', value: humanTime(idle_ns) },
		],
		sections: [
			accountSection(answer),
			reasonsSection(answer, top),
			timelineSection(worst, window_ns),
		],
	};
}

const threadsText = (count: number) => (count === 1 ? '1 thread' : `${grouped(count)} threads`);

function sureness({ confidence, because }: Verdict): string {
	return because.length > 0
		? `How sure this is: ${confidence}, as ${because.join('; ')}.`
		: `How sure this is: ${confidence}.`;
}

function accountSection({ account, wall_ns }: Answer): PageSection {
	const title = 'The account';
	if (wall_ns <= 0) return { title, note: 'No thread was there.', blocks: [] };
	const note = `All wall-clock time of all threads, ${humanTime(wall_ns)}, by where they were.`;
	const lines = accountLines(account, wall_ns);
	return { title, note, blocks: [accountBar(lines, wall_ns), accountTable(lines, wall_ns)] };
}

/** A place, or all the small ones where threads are alike. */
interface Line {
	readonly where: Where;
	readonly name: string;
	readonly total_ns: number;
	readonly place?: Place;
}

const sumOf = (all: readonly { readonly total_ns: number }[]) =>
	all.reduce((sum, { total_ns }) => sum + total_ns, 0);

/** What looks the same is together, the largest first. There may be thousands of places: no page has room for them. */
function accountLines(account: readonly Place[], wall_ns: number): Line[] {
	return (Object.keys(TONES) as Where[]).flatMap((where): Line[] => {
		const here = account.filter((place) => whereOf(place) === where);
		const shown = here.filter(({ total_ns }) => total_ns >= LEAST_PLACE_SHARE * wall_ns);
		const rest_ns = sumOf(here) - sumOf(shown);
		const lines = shown.map((place) => ({
			...{ where, name: placeText(place), total_ns: place.total_ns, place },
		}));
		// Below a nanosecond, sums are only rounded otherwise.
		const isRest = shown.length < here.length && rest_ns >= 1;
		const rest = { where, name: `${where}: elsewhere`, total_ns: rest_ns };
		return [...lines, ...(isRest ? [rest] : [])];
	});
}

function accountBar(lines: readonly Line[], wall_ns: number): ShareBar {
	const places = [...new Set(lines.map(({ where }) => where))];
	return {
		type: 'shares',
		shares: lines.map(({ where, name, total_ns }) => ({
			...{ name, value: total_ns, tone: TONES[where] },
		})),
		legend: places.map((where) => {
			const total_ns = sumOf(lines.filter((line) => line.where === where));
			return { tone: TONES[where], text: `${where} ${shareText(total_ns / wall_ns)}` };
		}),
	};
}

function accountTable(lines: readonly Line[], wall_ns: number): PageTable {
	return {
		type: 'table',
		columns: [
			{ name: 'where', isText: true },
			...['share', 'time', 'count', 'p50', 'p99', 'max'].map((name) => ({ name })),
		],
		rows: [...lines]
			.sort((a, b) => b.total_ns - a.total_ns)
			.map(({ where, name, total_ns, place }) => ({
				tone: TONES[where],
				cells: [
					...[name, shareText(total_ns / wall_ns), humanTime(total_ns)],
					...(place ? waitsOf(place) : []),
				],
			})),
	};
}

/** How many waits, and how long they were; nothing where that is not known. */
function waitsOf({ count, durations: { p50, p99, max } }: Place): string[] {
	return max > 0 ? [grouped(count), ...[p50, p99, max].map(humanTime)] : [];
}

function reasonsSection(answer: Answer, top: number): PageSection {
	const reasons = topReasons(answer, top);
	const entries = reasons.map((reason, at) => reasonEntry(reason, at + 1, answer));
	return {
		title: 'The reasons',
		note:
			entries.length > 0
				? 'What the working time went to. A chain leads from who ended the waits to the last one that is known.'
				: 'There is none: no thread had work to do that it did not get on with.',
		blocks: entries.length > 0 ? [{ type: 'entries', entries }] : [],
	};
}

function reasonEntry(
	reason: Reason,
	number: number,
	answer: Answer,
): PageEntries['entries'][number] {
	const { object, worst, culprits, threads, total_ns, durations } = reason;
	const more = threads.length - MOST_THREADS;
	return {
		title: `${number}. ${reasonHead(reason, answer)}`,
		lists: [
			{ name: 'time', values: [timeText(reason)] },
			{ name: 'where', values: filled([pathText(worst.row.frames)]) },
			{ name: 'object', values: filled([object]) },
			{ name: 'held by', values: filled([holderWords(reason.holder)]) },
			{ name: 'longest', values: durations.max > 0 ? [humanTime(durations.max)] : [] },
			...culprits
				.slice(0, MOST_CULPRITS)
				.filter((culprit) => culprit.total_ns >= LEAST_CHAIN_SHARE * total_ns)
				.map((culprit) => ({
					name: `chain, ${shareText(culprit.total_ns / total_ns)}`,
					values: chainTexts(culprit),
				})),
			{
				name: threads.length === 1 ? 'thread' : 'threads',
				values: filled([
					threads
						.slice(0, MOST_THREADS)
						.map(({ comm, tid, total_ns: ns }) => `${comm} (${tid}) ${humanTime(ns)}`)
						.join(', ') + (more > 0 ? `, ${grouped(more)} more` : ''),
				]),
			},
		],
	};
}

function timeText({ total_ns, error_ns, count, place }: Reason): string {
	const error = error_ns >= 1 ? ` ± ${humanTime(2 * error_ns)}` : '';
	const of = place === 'running' ? 'sample' : 'wait';
	const number = Math.round(count);
	return `${humanTime(total_ns)}${error}, in ${grouped(number)} ${of}${number === 1 ? '' : 's'}`;
}

/** Who it was and what it did, and by which functions; a line for each link. */
function chainTexts({ links }: Pick<Culprit, 'links'>): string[] {
	return filled(
		links.map((link) => {
			const who = linkText(link);
			// Without a function of the program it is no more than how the kernel does that.
			const path = link.function === '' ? '' : pathText(link.frames);
			return who && path && path !== link.function ? `${who}: ${path}` : who;
		}),
	).map((text) => `← ${text}`);
}

const filled = (texts: readonly string[]) => texts.filter((text) => text !== '');
