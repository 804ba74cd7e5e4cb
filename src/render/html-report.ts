/**
 * What a page says above its stacks, as HTML that needs no script: statement, facts, tables, bars. Everything in it is
 * a stranger's text until it is escaped. Widths are attributes of SVG: the page's policy refuses other styles.
 */
import type {
	PageBlock,
	PageEntries,
	PageFact,
	PageReport,
	PageSection,
	PageTable,
	ShareBar,
	Timeline,
	TimelineBar,
} from '../aggregate/page-report.js';
import type { Origin } from '../aggregate/stack-profile.js';
import { shareText } from './amounts.js';
import { utcText } from './picture-look.js';
import { humanTime } from './units.js';
import { escapeXml } from './xml.js';

const SHARES_HEIGHT_PX = 36;
/** Of a lane: its name, its bars, and the gap to the next one. */
const NAME_PX = 20;
const BAR_PX = 22;
const GAP_PX = 8;
const AXIS_PX = 20;
const TICKS = 4;
/** Longer tables scroll by themselves. */
const MOST_ROWS = 15;
/** Of the whole: narrower bars could not be seen, or pointed at. */
const LEAST_BAR = 0.004;
/** Narrower boxes would show a part of a letter. */
const LEAST_LABELLED = 0.02;
const LEAST_LABELLED_ON_PHONE = 0.1;

export function* renderReport(report: PageReport, origin: Origin): Generator<string> {
	yield `<article>
<h1>${escapeXml(report.title)}</h1>
<p class="statement">${escapeXml(report.statement)}</p>
`;
	for (const remark of report.remarks) yield `<p class="remark">${escapeXml(remark)}</p>\n`;
	const facts = [...report.facts, ...factsOf(origin)];
	yield `<dl class="facts">\n${facts.map(factHtml).join('')}</dl>\n`;
	for (const notice of report.notices ?? []) yield `<p class="notice">${escapeXml(notice)}</p>\n`;
	for (const section of report.sections) yield* sectionHtml(section);
	yield '</article>\n';
}

/** Where and when it was recorded, and by which command. */
function factsOf({ host, kernel, command, start }: Origin): PageFact[] {
	const facts = [
		{ name: 'host', value: host },
		{ name: 'kernel', value: kernel },
		{ name: 'start', value: start && utcText(start) },
		{ name: 'command', value: command?.join(' '), isCommand: true },
	];
	return facts.flatMap(({ value, ...fact }) => (value ? { ...fact, value } : []));
}

function factHtml({ name, value, isCommand }: PageFact): string {
	const text = escapeXml(value);
	const shown = isCommand ? `<code>${text}</code>` : text;
	return `<div><dt>${escapeXml(name)}</dt><dd>${shown}</dd></div>\n`;
}

function* sectionHtml({ title, note, blocks }: PageSection): Generator<string> {
	yield `<section>\n<h2>${escapeXml(title)}</h2>\n`;
	if (note) yield `<p class="note">${escapeXml(note)}</p>\n`;
	for (const block of blocks) yield blockHtml(block);
	yield '</section>\n';
}

function blockHtml(block: PageBlock): string {
	switch (block.type) {
		case 'shares':
			return sharesHtml(block);
		case 'table':
			return tableHtml(block);
		case 'entries':
			return block.entries.map(entryHtml).join('');
		case 'timeline':
			return timelineHtml(block);
	}
}

/** Of a bar's width; four digits, so that the widths of hundreds of parts add up. */
const percent = (share: number) => `${Number((100 * share).toFixed(4))}%`;

interface Box {
	readonly from: number;
	readonly share: number;
	readonly y: number;
	readonly height: number;
}

/** A box with as much of its label as it has room for: an inner picture is cut off at its edge. */
function boxHtml(
	{ from, share, y, height }: Box,
	{ tone, label, text }: { readonly tone: string; readonly label: string; readonly text: string },
): string {
	const shown =
		share < LEAST_LABELLED ? '' : `<text x="5" y="${height / 2 + 4}">${escapeXml(label)}</text>`;
	const name = share < LEAST_LABELLED_ON_PHONE ? 'box narrow' : 'box';
	return (
		`<svg class="${name}" x="${percent(from)}" y="${y}" width="${percent(share)}" height="${height}">` +
		`<title>${escapeXml(text)}</title><rect class="tone-${tone}" width="100%" height="100%"/>${shown}</svg>`
	);
}

function sharesHtml({ shares, legend }: ShareBar): string {
	const all = shares.reduce((sum, { value }) => sum + value, 0);
	let before = 0;
	const boxes = shares.map(({ name, value, tone }) => {
		const share = all > 0 ? value / all : 0;
		const from = before;
		before += share;
		const text = `${name} ${shareText(share)}`;
		return boxHtml({ from, share, y: 0, height: SHARES_HEIGHT_PX }, { tone, label: text, text });
	});
	const meanings = legend.map(
		({ tone, text }) => `<li><i class="tone tone-${tone}"></i>${escapeXml(text)}</li>`,
	);
	return (
		`<svg class="shares" role="img" aria-label="Shares; the list and the table below say the same" width="100%" height="${SHARES_HEIGHT_PX}">\n` +
		`${boxes.join('\n')}\n</svg>\n<ul class="legend">${meanings.join('')}</ul>\n`
	);
}

function tableHtml({ columns, rows }: PageTable): string {
	const classOf = (isText: boolean | undefined) => (isText ? 'text' : 'number');
	const heads = columns.map(
		({ name, isText }) => `<th scope="col" class="${classOf(isText)}">${escapeXml(name)}</th>`,
	);
	const firstText = columns.findIndex(({ isText }) => isText);
	const lines = rows.map(({ tone, cells, number }) => {
		const marked = columns.map(({ name, isText }, at) => {
			const mark = at === firstText ? `<i class="tone tone-${tone}"></i>` : '';
			const text = [cells[at] ?? ''].flat().map(escapeXml).join('<br>');
			// A phone has no room for columns: there each cell says what it is.
			return `<td class="${classOf(isText)}" data-name="${escapeXml(name)}">${mark}${text}</td>`;
		});
		return `<tr${number === undefined ? '' : ` id="row-${number}"`}>${marked.join('')}</tr>`;
	});
	const table = `<table>\n<thead><tr>${heads.join('')}</tr></thead>\n<tbody>\n${lines.join('\n')}\n</tbody>\n</table>\n`;
	// With a place in the order of Tab, so that keys scroll it.
	return rows.length > MOST_ROWS
		? `<div class="long" tabindex="0" role="region" aria-label="Table">\n${table}</div>\n`
		: table;
}

function entryHtml({ title, lists }: PageEntries['entries'][number]): string {
	const lines = lists
		.filter(({ values }) => values.length > 0)
		.map(({ name, values }) => {
			const each = values.map((value) => `<dd>${escapeXml(value)}</dd>`);
			return `<dt>${escapeXml(name)}</dt>${each.join('')}\n`;
		});
	return `<h3>${escapeXml(title)}</h3>\n<dl class="entry">\n${lines.join('')}</dl>\n`;
}

function timelineHtml({ length_ns, lanes }: Timeline): string {
	const lane_px = NAME_PX + BAR_PX + GAP_PX;
	const bottom = lanes.length * lane_px;
	const ticks = Array.from({ length: TICKS + 1 }, (_, tick) =>
		tickHtml(tick / TICKS, length_ns, bottom),
	);
	const shown = lanes.map(({ name, bars }, at) => {
		const y = at * lane_px;
		const boxes = bars.map((bar) => barHtml(bar, length_ns, y + NAME_PX));
		return (
			`<text class="lane" x="0" y="${y + NAME_PX - 5}">${escapeXml(name)}</text>` +
			`<rect class="lane-ground" x="0" y="${y + NAME_PX}" width="100%" height="${BAR_PX}"/>\n${boxes.join('\n')}`
		);
	});
	return (
		`<svg class="timeline" role="group" aria-label="Timeline; the table below says the same" width="100%" height="${bottom + AXIS_PX}">\n` +
		`${ticks.join('')}\n${shown.join('\n')}\n</svg>\n`
	);
}

function tickHtml(share: number, length_ns: number, bottom: number): string {
	const x = percent(share);
	const anchor = share === 0 ? 'start' : share === 1 ? 'end' : 'middle';
	const text = share === 0 ? '0 s' : humanTime(share * length_ns);
	return (
		`<line class="tick" x1="${x}" x2="${x}" y1="${NAME_PX}" y2="${bottom}"/>` +
		`<text class="tick" x="${x}" y="${bottom + 14}" text-anchor="${anchor}">${text}</text>`
	);
}

/** Leads to its row: who cannot point at it reads there what it is. */
function barHtml(bar: TimelineBar, length_ns: number, y: number): string {
	const within = (share: number) => Math.max(0, Math.min(1, share));
	const whole_ns = Math.max(1, length_ns);
	const from = within(bar.begin_ns / whole_ns);
	const share = Math.max(LEAST_BAR, within(bar.end_ns / whole_ns) - from);
	const place = { from: Math.max(0, Math.min(from, 1 - share)), share, y, height: BAR_PX };
	return `<a href="#row-${bar.number}">${boxHtml(place, bar)}</a>`;
}
