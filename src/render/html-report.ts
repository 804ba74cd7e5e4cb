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
/** Narrower bars could not be seen, or pointed at. */
const LEAST_BAR_PERCENT = 0.4;

export function* renderReport(report: PageReport, origin: Origin): Generator<string> {
	yield `<article>
<h1>${escapeXml(report.title)}</h1>
<p class="statement">${escapeXml(report.statement)}</p>
`;
	for (const remark of report.remarks) yield `<p class="remark">${escapeXml(remark)}</p>\n`;
	const facts = [...report.facts, ...factsOf(origin)];
	yield `<dl class="facts">\n${facts.map(factHtml).join('')}</dl>\n`;
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

/** A box with as much of its label as it has room for: an inner picture is cut off at its edge. */
function boxHtml(
	place: {
		readonly x: string;
		readonly y: number;
		readonly width: string;
		readonly height: number;
	},
	{ tone, label, text }: { readonly tone: string; readonly label: string; readonly text: string },
): string {
	const { x, y, width, height } = place;
	return (
		`<svg class="box" x="${x}" y="${y}" width="${width}" height="${height}"><title>${escapeXml(text)}</title>` +
		`<rect class="tone-${tone}" width="100%" height="100%"/>` +
		`<text x="5" y="${height / 2 + 4}">${escapeXml(label)}</text></svg>`
	);
}

function sharesHtml({ shares, legend }: ShareBar): string {
	const all = shares.reduce((sum, { value }) => sum + value, 0);
	let before = 0;
	const boxes = shares.map(({ name, value, tone }) => {
		const share = all > 0 ? value / all : 0;
		const place = { x: percent(before), y: 0, width: percent(share), height: SHARES_HEIGHT_PX };
		before += share;
		const text = `${name} ${shareText(share)}`;
		return boxHtml(place, { tone, label: text, text });
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
			const text = escapeXml(cells[at] ?? '');
			// A phone has no room for columns: there each cell says what it is.
			return `<td class="${classOf(isText)}" data-name="${escapeXml(name)}">${mark}${text}</td>`;
		});
		return `<tr${number === undefined ? '' : ` id="row-${number}"`}>${marked.join('')}</tr>`;
	});
	return `<table>\n<thead><tr>${heads.join('')}</tr></thead>\n<tbody>\n${lines.join('\n')}\n</tbody>\n</table>\n`;
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
			`<rect class="track" x="0" y="${y + NAME_PX}" width="100%" height="${BAR_PX}"/>\n${boxes.join('\n')}`
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
	const share = Math.max(LEAST_BAR_PERCENT / 100, within(bar.end_ns / whole_ns) - from);
	const x = percent(Math.max(0, Math.min(from, 1 - share)));
	const place = { x, y, width: percent(share), height: BAR_PX };
	return `<a href="#row-${bar.number}">${boxHtml(place, bar)}</a>`;
}
