/** The answer as text, within 80 columns and a screen: verdict, account, reasons, threads. */

import { functionOf } from '../../aggregate/application-frames.js';
import type { Frame } from '../../aggregate/stack.js';
import { isNamed } from '../../aggregate/summary-frames.js';
import { bareName } from '../../render/function-name.js';
import { grouped } from '../../render/numbers.js';
import { named, paint, printable, type Style, shortened, wrapped } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';
import type { Answer } from './answer.js';
import type { Link } from './chain.js';
import { ownerText } from './owner.js';
import { holderWords, waited, waits } from './phrases.js';
import type { Place } from './places.js';
import type { Reason } from './reasons.js';
import type { Verdict } from './verdict.js';

const WIDTH = 80;
/** Lines of the account, reasons and threads that are shown. */
const MOST_PLACES = 10;
const MOST_THREADS = 5;
/** Of a stack: those that matter. */
const MOST_FRAMES = 5;
/** Of wall-clock time: smaller places are one line. */
const LEAST_SHARE = 0.005;
/** Less reads "0.0 %". */
const LEAST_ELSEWHERE = 0.0005;

export function answerText(
	answer: Answer,
	verdict: Verdict,
	{ style, top }: { style: Style; top: number },
): string {
	const parts = [
		headline(answer),
		verdictText(verdict, style),
		accountText(answer, style),
		reasonsText(answer, { style, top }),
		threadsText(answer),
	];
	return `\n${parts.filter((part) => part !== '').join('\n')}`;
}

function headline({ window_ns, threads, wall_ns, idle_ns, working_ns }: Answer): string {
	const count = threads.length === 1 ? '1 thread' : `${grouped(threads.length)} threads`;
	const sums = `${humanTime(wall_ns)} of wall-clock time, ${humanTime(working_ns)} working, ${humanTime(idle_ns)} idle`;
	return `${fitted(`${humanTime(window_ns)}, ${count}: ${sums}`, '', WIDTH)}\n`;
}

/** In lines of that width: a name of a function, or of a file, may be longer than one. */
function fitted(text: string, indent: string, width: number): string {
	const words = text.split(' ').map((word) => shortened(word, width - indent.length));
	return wrapped(words.join(' '), indent, width);
}

function verdictText({ text, confidence, because, next }: Verdict, style: Style): string {
	const width = Math.min(WIDTH, style.width);
	const lines = [paint(style, 'bold', fitted(printable(text), '', width))];
	const doubt = because.length > 0 ? `: ${because.join('; ')}` : '';
	if (confidence !== 'sure') lines.push(fitted(`${capital(confidence)}${doubt}.`, '', width));
	if (next) lines.push(`Try: ${printable(next)}`);
	return `${lines.join('\n')}\n`;
}

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

function accountText({ account, wall_ns }: Answer, style: Style): string {
	if (wall_ns <= 0) return '';
	// What was work comes first: of idle time there is most, and it is no answer.
	const isIdle = ({ place }: Place) => place === 'idle';
	const shown = [...account.filter((each) => !isIdle(each)), ...account.filter(isIdle)]
		.filter(({ total_ns }) => total_ns >= LEAST_SHARE * wall_ns)
		.slice(0, MOST_PLACES);
	const rest = account.filter((place) => !shown.includes(place));
	const head = columns('share', 'time', 'where', 'count', ['p50', 'p99', 'max']);
	const lines = shown.map((place) => placeLine(place, wall_ns));
	const total_ns = rest.reduce((sum, place) => sum + place.total_ns, 0);
	if (total_ns >= LEAST_ELSEWHERE * wall_ns) {
		lines.push(columns(...amounts(total_ns, wall_ns), 'elsewhere', '', []));
	}
	return `${[paint(style, 'bold', head), ...lines].join('\n')}\n`;
}

const WHERE_WIDTH = 32;

/** A line of the account: 80 characters, of which wide numbers take theirs from the place. */
function columns(
	share: string,
	time: string,
	where: string,
	count: string,
	times: readonly string[],
): string {
	const amount = `${share.padStart(7)} ${time.padStart(9)}  `;
	const numbers = [count.padStart(7), ...times.map((each) => each.padStart(6))];
	const told = numbers.map((each) => ` ${each}`).join('');
	const room = Math.min(WHERE_WIDTH, WIDTH - amount.length - told.length);
	return `${amount}${shortened(where, room).padEnd(room)}${told}`.trimEnd();
}

/** "waiting: lock at cache_lock". */
export function placeText({ place, kind, object, follows }: Place): string {
	if (place === 'not seen') return place;
	// The text of a child, a pipe, … begins with what the kind is.
	const what = object.startsWith(kind) ? object : `${kind} ${object}`.trim();
	return `${follows ? 'for own threads' : place}: ${what}`;
}

function placeLine(place: Place, wall_ns: number): string {
	const { total_ns, count, durations } = place;
	const where = printable(placeText(place));
	const [share, time] = amounts(total_ns, wall_ns);
	if (durations.max === 0) return columns(share, time, where, '', []);
	const times = [durations.p50, durations.p99, durations.max].map(shortTime);
	return columns(share, time, where, grouped(count), times);
}

function amounts(value_ns: number, wall_ns: number): [share: string, time: string] {
	return [`${((100 * value_ns) / wall_ns).toFixed(1)} %`, humanTime(value_ns)];
}

/** In seven characters: "870ns", "4.1us". */
const shortTime = (time_ns: number) => humanTime(time_ns).replace(' ', '');

function reasonsText(answer: Answer, { style, top }: { style: Style; top: number }): string {
	return topReasons(answer, top)
		.map((reason, at) => reasonText(reason, at + 1, answer, style))
		.join('\n');
}

/** Those that are worth a word, at most so many. */
export function topReasons({ reasons, working_ns }: Answer, top: number): readonly Reason[] {
	return reasons
		.filter(({ total_ns }) => total_ns > 0 && total_ns >= 10 * LEAST_SHARE * working_ns)
		.slice(0, top);
}

/** How much of the working time it is, who that was, and what for. */
export function reasonHead(reason: Reason, answer: Answer): string {
	const { place, kind, of, object, total_ns, worst, threads } = reason;
	const share = `${((100 * total_ns) / answer.working_ns).toFixed(0)} % of working time`;
	const what =
		place === 'waiting'
			? waits(kind, { of, object, frames: worst.row.frames })
			: place === 'runnable'
				? `ready to run: ${kind}`
				: 'runs on a CPU';
	return `${share}: ${ownerText(threads, answer.threads)} ${what}`;
}

function reasonText(reason: Reason, number: number, answer: Answer, style: Style): string {
	const { worst, threads } = reason;
	const width = Math.min(WIDTH, style.width);
	const head = `${number}. ${reasonHead(reason, answer)}`;
	const lines = [fitted(printable(head), '   ', width)];
	const path = pathText(worst.row.frames);
	if (path) lines.push(fitted(`   ${path}`, '     ', width));
	const [culprit] = reason.culprits;
	for (const link of culprit?.links ?? []) {
		const text = linkText(link);
		if (text) lines.push(fitted(`   ← ${printable(text)}`, '     ', width));
	}
	const holder = holderWords(reason.holder);
	if (holder) lines.push(fitted(`   held by: ${printable(holder)}`, '     ', width));
	const others = threads.slice(0, MOST_THREADS);
	if (threads.length > 1) {
		const list = others.map(
			({ comm, tid, total_ns: ns }) => `${named(comm)} (${tid}) ${humanTime(ns)}`,
		);
		const more = threads.length > others.length ? `, ${threads.length - others.length} more` : '';
		lines.push(fitted(`   threads: ${printable(list.join(', '))}${more}`, '     ', width));
	}
	return `${lines.join('\n')}\n`;
}

/** The program's functions that matter, without the C library's and the kernel's. Root first. */
export function pathText(frames: readonly Frame[]): string {
	const own = frames.filter(
		(frame) =>
			frame.kind !== 'kernel' && !frame.inCLibrary && isNamed(frame) && frame.name !== '_start',
	);
	const names = own.slice(-MOST_FRAMES).map((frame) => bareName(printable(functionOf(frame))));
	const call = frames.findLast((frame) => frame.kind === 'kernel');
	const head = own.length > MOST_FRAMES ? ['…'] : [];
	const tail = names.length === 0 && call ? [call.name] : [];
	return [...head, ...names, ...tail].join(' → ');
}

/** Who it was, and what it did; '': nobody. */
export function linkText(link: Link): string {
	const { comm, pid, did, kind, of, object, frames, isNobody } = link;
	if (isNobody) return '';
	const where = link.function ? ` in ${link.function}` : '';
	const who = pid > 0 ? `${named(comm)} (${pid})` : comm;
	switch (did) {
		case 'ran':
			return `${who} ran on a CPU`;
		case 'was blocked':
			return `${who} ${waited(kind, { of, object, frames })}${where}`;
		case 'waited for a CPU':
			return `${who} waited for a CPU`;
		case 'did not exist yet':
			return `${who} had not begun yet`;
		case undefined:
			return `ended by ${who}${pid > 0 ? where : ''}`;
	}
}

/** 15 bytes, unless there are control characters. */
const NAME_WIDTH = 40;

function threadsText({ sufferers, threads, wall_ns }: Answer): string {
	if (threads.length < 3 || sufferers.length < 2) return '';
	const list = sufferers
		.filter(({ total_ns }) => total_ns >= LEAST_SHARE * wall_ns)
		.slice(0, MOST_THREADS)
		.map(
			({ comm, tid, total_ns }) =>
				`${humanTime(total_ns).padStart(9)}  ${shortened(printable(named(comm)), NAME_WIDTH)} (${tid})`,
		);
	return list.length > 0
		? `Threads that waited longest, with work to do:\n${list.join('\n')}\n`
		: '';
}
