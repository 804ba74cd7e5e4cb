import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PageReport, Tone } from '../../../src/aggregate/page-report.js';
import { renderHtml } from '../../../src/render/html.js';
import { renderReport } from '../../../src/render/html-report.js';
import { suitableLook } from '../../../src/render/picture-look.js';
import { anyText } from '../any-text.js';
import { profileOf } from '../profiles.js';
import { evidence, NOBODY, reportOf } from '../tools/why/answers.js';

const NONE: PageReport = { title: 't', statement: 's', remarks: [], facts: [], sections: [] };
const section = (...blocks: PageReport['sections'][number]['blocks']): PageReport => ({
	...NONE,
	sections: [{ title: 'part', note: '', blocks }],
});
const html = (report: PageReport, origin = {}) => [...renderReport(report, origin)].join('');
const widths = (text: string) =>
	[...text.matchAll(/<svg class="box[^"]*" x="([\d.]+)%" y="\d+" width="([\d.]+)%"/g)].map(
		([, x, width]) => [Number(x), Number(width)] as const,
	);

/** What is left of a page without its own elements; no attribute of theirs runs anything or leads away. */
function strangersPart(text: string): string {
	const OWN =
		/<(\/?)(article|h1|h2|h3|p|dl|dt|dd|div|section|svg|title|rect|line|text|ul|li|i|table|thead|tbody|tr|th|td|code|a|br)((?: [a-z0-9-]+="[^"<>]*")*)\/?>/g;
	for (const [, , , attributes = ''] of text.matchAll(OWN)) {
		assert.doesNotMatch(attributes, / (on\w+|style|src|formaction)=/);
		for (const [, link] of attributes.matchAll(/ href="([^"]*)"/g))
			assert.match(link ?? '', /^#row-\d+$/);
	}
	return text.replace(OWN, '');
}

const HOSTILE = [
	'</script><script>alert(1)</script>',
	'"><img src=x onerror=alert(2)>',
	"' onload='alert(3)",
	'</text></svg><a href="https://example.org">',
	'<!--',
	'\u202egnp.exe',
	'two\nlines',
	'&lt;b&gt;',
];

test('whatever a name is, it is text', () => {
	const name = fc.oneof(anyText(), fc.constantFrom(...HOSTILE));
	fc.assert(
		fc.property(name, name, name, name, (comm, waker, path, each) => {
			const report = reportOf(evidence({ comm, waker, path, function: each }));
			const origin = { host: each, kernel: path, command: [comm, waker], start: path };
			const text = html({ ...report, remarks: [each], notices: [waker] }, origin);
			assert.doesNotMatch(strangersPart(text), /[<>]/);
			assert.doesNotMatch(text, /[\u202a-\u202e]/);
		}),
	);
});

test('what is escaped reads as it was', () => {
	const [first = ''] = HOSTILE;
	const text = html({ ...NONE, statement: first, title: "a 'b' & c" });
	assert.match(text, /<p class="statement">&lt;\/script&gt;&lt;script&gt;alert\(1\)/);
	assert.match(text, /<h1>a &#39;b&#39; &amp; c<\/h1>/);
});

test('shares: boxes beside each other, which take up all of the width', () => {
	fc.assert(
		fc.property(
			fc.array(fc.integer({ min: 1, max: 1e12 }), { minLength: 1, maxLength: 300 }),
			(values) => {
				const shares = values.map((value, i) => ({ name: `n${i}`, value, tone: 'warm' as Tone }));
				const found = widths(html(section({ type: 'shares', shares, legend: [] })));
				assert.equal(found.length, values.length);
				let end = 0;
				for (const [x, width] of found) {
					assert(Math.abs(x - end) < 0.05, `${x} ${end}`);
					end += width;
				}
				assert(Math.abs(end - 100) < 0.05);
			},
		),
	);
	assert.deepEqual(widths(html(section({ type: 'shares', shares: [], legend: [] }))), []);
});

test('a share of 3 in 4, its name in the box and pointed at', () => {
	const text = html(
		section({
			type: 'shares',
			shares: [
				{ name: 'long', value: 3, tone: 'hot' },
				{ name: 'short', value: 1, tone: 'quiet' },
			],
			legend: [{ tone: 'hot', text: 'hot 75.0 %' }],
		}),
	);
	assert.deepEqual(widths(text), [
		[0, 75],
		[75, 25],
	]);
	assert.match(
		text,
		/<title>long 75\.0 %<\/title><rect class="tone-hot"[^>]*\/><text [^>]*>long 75\.0 %</,
	);
	assert.match(text, /<li><i class="tone tone-hot"><\/i>hot 75\.0 %<\/li>/);
});

test('a timeline: bars where they were, none outside of it, and none too narrow to be seen', () => {
	const bar = (begin_ns: number, end_ns: number) => ({
		...{ begin_ns, end_ns, tone: 'warm' as const, label: 'l', text: 't', number: 4 },
	});
	const bars = [bar(500, 1500), bar(-100, 200), bar(1900, 2500), bar(1999, 2000), bar(10, 11)];
	const lanes = [{ name: 'one', bars }];
	const text = html(section({ type: 'timeline', length_ns: 2000, lanes }));
	assert.deepEqual(widths(text), [
		[25, 50],
		[0, 10],
		[95, 5],
		[99.6, 0.4],
		[0.5, 0.4],
	]);
	assert.equal(text.match(/<a href="#row-4">/g)?.length, 5);
	assert.deepEqual(
		[...text.matchAll(/<text class="tick"[^>]*>([^<]*)</g)].map(([, tick]) => tick),
		['0 s', '500 ns', '1.00 us', '1.50 us', '2.00 us'],
	);
});

test('a table: each cell says its column, a long one scrolls by itself', () => {
	const table = (count: number) =>
		html(
			section({
				type: 'table',
				columns: [{ name: 'no.' }, { name: 'who', isText: true }],
				rows: Array.from({ length: count }, (_, i) => ({
					tone: 'warm',
					cells: [`${i}`, ['one', 'two']],
					number: i,
				})),
			}),
		);
	assert.match(
		table(1),
		/<tr id="row-0"><td class="number" data-name="no\.">0<\/td><td class="text" data-name="who"><i class="tone tone-warm"><\/i>one<br>two<\/td><\/tr>/,
	);
	assert.doesNotMatch(table(15), /class="long"/);
	assert.match(table(16), /class="long" tabindex="0"/);
});

test('facts of the run follow those of the report, as far as they are known', () => {
	const origin = {
		...{ host: 'db1', kernel: '6.1.0', command: ['tstrace', 'x', '-p', '11'] },
		start: '2025-07-01T12:00:00.123Z',
	};
	const facts = (text: string) =>
		[...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, value]);
	assert.deepEqual(facts(html({ ...NONE, facts: [{ name: 'window', value: '2 s' }] }, origin)), [
		['window', '2 s'],
		['host', 'db1'],
		['kernel', '6.1.0'],
		['start', '2025-07-01 12:00:00 UTC'],
		['command', '<code>tstrace x -p 11</code>'],
	]);
	assert.deepEqual(facts(html(NONE)), []);
});

test('a page without a report is what it was; one with it has it above the stacks', () => {
	const profile = profileOf([[['main'], 1]]);
	const look = suitableLook(profile);
	const plain = [...renderHtml(profile, look)].join('');
	assert.doesNotMatch(plain, /<article>|<body class/);
	assert.match(plain, /<body>\n<header>\n<h1>/);
	const page = [...renderHtml(profile, look, reportOf(NOBODY))].join('');
	assert.match(page, /<title>Where the time went, and why<\/title>/);
	assert.match(page, /<body class="report">\n<article>.*<\/article>\n<header>\n<h2>/s);
	assert.equal(page.match(/<h1>/g)?.length, 1);
	assert.equal(page.match(/<script/g)?.length, 2);
});

test('a timeline: each lane has its name above its bars, below the lane before it', () => {
	const bar = (begin_ns: number) => ({
		...{
			begin_ns,
			end_ns: begin_ns + 500,
			tone: 'warm' as const,
			label: 'l',
			text: 't',
			number: 1,
		},
	});
	const names = ['one', 'two', 'three'];
	const lanes = names.map((name, at) => ({ name, bars: [bar(500 * at)] }));
	const text = html(section({ type: 'timeline', length_ns: 2000, lanes }));
	const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, ...found]) => found);
	const lanesShown = all(/<text class="lane" [^>]*y="(\d+)">([^<]*)</g);
	assert.deepEqual(
		lanesShown.map(([, name]) => name),
		names,
	);
	const grounds = all(/<rect class="lane-ground" [^>]*y="(\d+)" [^>]*height="(\d+)"/g);
	const boxes = all(/<svg class="box[^"]*" x="[^"]*" y="(\d+)" width="[^"]*" height="(\d+)"/g);
	assert.deepEqual(boxes, grounds);
	let end = 0;
	for (const [at, [name_y]] of lanesShown.entries()) {
		const [y, height] = (boxes[at] ?? []).map(Number) as [number, number];
		assert.ok(Number(name_y) > end && Number(name_y) < y, text);
		end = y + height;
	}
	// The lines go down to the last bar, and below that there is room for what they stand for.
	for (const [y2] of all(/<line class="tick" [^>]*y2="(\d+)"/g)) assert.ok(Number(y2) >= end);
	const [height = 0] = all(/<svg class="timeline" [^>]*height="(\d+)"/g)
		.flat()
		.map(Number);
	const ticks = all(/<text class="tick" [^>]*y="(\d+)" text-anchor="(\w+)"/g);
	for (const [y] of ticks) assert.ok(Number(y) > end && Number(y) < height);
	// None of them is cut off at an edge.
	assert.deepEqual(
		ticks.map(([, anchor]) => anchor),
		['start', 'middle', 'middle', 'middle', 'end'],
	);
});

test('entries: all values of a list below its name; of an empty one nothing', () => {
	const text = html(
		section({
			type: 'entries',
			entries: [
				{
					title: 'app',
					lists: [
						{ name: 'waits', values: ['one', 'two'] },
						{ name: 'lacks', values: [] },
					],
				},
				{ title: 'db', lists: [{ name: 'runs', values: ['three'] }] },
			],
		}),
	);
	const said = [...text.matchAll(/<(h3|dt|dd)>([^<]*)</g)].map(([, tag, each]) => `${tag} ${each}`);
	const app = ['h3 app', 'dt waits', 'dd one', 'dd two'];
	assert.deepEqual(said, [...app, 'h3 db', 'dt runs', 'dd three']);
});

test('a table of which no bar speaks has no marks for bars; what a row is about is told once by colour', () => {
	const text = html(
		section({
			type: 'table',
			columns: [{ name: 'n' }, { name: 'who', isText: true }, { name: 'what', isText: true }],
			rows: [{ tone: 'hot', cells: ['1', 'app', 'waits'] }],
		}),
	);
	assert.doesNotMatch(text, / id=/);
	assert.equal(text.match(/class="tone tone-hot"/g)?.length, 1);
	assert.match(text, /<th scope="col" class="number">n<.*class="text">who<.*class="text">what</);
});

test('what there is to know is there: remarks, notices, and a note where there is one', () => {
	const about = { ...NONE, remarks: ['first', 'second'], notices: ['lost 3'] };
	const sections = [
		{ title: 'a', note: 'read it so', blocks: [] },
		{ title: 'b', note: '', blocks: [] },
	];
	const text = html({ ...about, sections });
	const said = [...text.matchAll(/<p class="(\w+)">([^<]*)</g)].map(([, ...found]) => found);
	assert.deepEqual(said, [
		['statement', 's'],
		['remark', 'first'],
		['remark', 'second'],
		['notice', 'lost 3'],
		['note', 'read it so'],
	]);
});

test('a box that is too narrow for its name has none; on a phone more are', () => {
	const shares = [5, 50, 945].map((value) => ({ name: `n${value}`, value, tone: 'warm' as Tone }));
	const text = html(section({ type: 'shares', shares, legend: [] }));
	const boxes = [...text.matchAll(/<svg class="([^"]*)"[^>]*>(?:(?!<svg).)*?<\/svg>/g)];
	assert.deepEqual(
		boxes.map(([box, name]) => [name, /<text[^>]*>([^<]*)</.exec(box)?.[1]]),
		[
			['box narrow', undefined],
			['box narrow', 'n50 5.0 %'],
			['box', 'n945 94.5 %'],
		],
	);
});
