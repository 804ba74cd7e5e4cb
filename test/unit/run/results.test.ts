/** What a run prints of each result: in which format, with what below it, and what it has cost. */
import assert from 'node:assert/strict';
import fs, { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Findings, Lost, Report } from '../../../src/aggregate/report.js';
import type { StackFindings, StackRow } from '../../../src/aggregate/stack-rows.js';
import type { StackTool } from '../../../src/aggregate/stack-tool.js';
import { type CommonSettings, commonSettings } from '../../../src/run/common-options.js';
import { Results } from '../../../src/run/results.js';
import type { TextView } from '../../../src/tool.js';
import { histogramOf } from '../support.js';
import { temporaryFolder } from '../symbolize/support.js';

const NO_COST = { programs: undefined, own_ns: 0, own_pct: 0 };
const reportOf = <F extends Findings>(findings: F, more: Partial<Report<F>> = {}): Report<F> => ({
	tool: 'offcputime',
	circumstances: { command: ['tstrace'], host: 'here', kernel: '6.18', arch: 'x64', filters: {} },
	start: new Date('2026-03-04T05:06:07.000Z'),
	...{ duration_ns: 2_500_000_000, lost: {}, cost: NO_COST, findings },
	...more,
});

const row = (name: string, value: number, more: Partial<StackRow> = {}): StackRow => ({
	key: { pid: 7, comm: 'app' },
	frames: [
		{ name, kind: 'user' },
		{ name: 'sys_read', kind: 'kernel' },
	],
	...{ parts: [value], value, count: 1, variance: 0 },
	...more,
});
const stacksOf = (more: Partial<StackFindings> = {}): StackFindings => ({
	...{ kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', parts: ['blocked'] },
	...{ stacks: [row('load', 4_000_000)], notices: ['a notice'] },
	...more,
});
const TOOL: StackTool = {
	...{ use: 'to draw', title: 'A Picture', palette: 'io' },
	folded: { unit: 'us', divisor: 1000 },
};
const VIEW: TextView<StackFindings> = {
	report: async ({ stacks }) => `text of ${stacks.length}\n`,
	none: 'nothing waited',
	stacks: { delimited: false, annotated: true, process: false },
};

/** Prints with `print`; what is in the file then, and what was said beside it. */
async function printed<F extends Findings>(
	t: TestContext,
	print: (results: Results<F>) => Promise<void> | void,
	{
		view,
		common = {},
		kind = 'stacks',
	}: {
		view: TextView<F>;
		common?: Partial<CommonSettings>;
		kind?: 'stacks' | 'latency' | 'table' | 'events';
	},
) {
	const output = join(temporaryFolder(), 'result');
	let said = '';
	const { writeSync } = fs;
	const write = t.mock.method(fs, 'writeSync', (fd: number, bytes: Uint8Array, at = 0) => {
		if (fd !== 2) return writeSync(fd, bytes, at);
		said += new TextDecoder().decode(bytes.subarray(at));
		return bytes.length - at;
	});
	syncBuiltinESMExports();
	const results = new Results<F>(
		{ ...commonSettings({}, [], kind), output, ...common },
		view,
		kind === 'stacks' ? TOOL : undefined,
	);
	try {
		results.begin();
		await print(results);
	} finally {
		results.close();
		write.mock.restore();
		syncBuiltinESMExports();
	}
	return { written: readFileSync(output, 'utf8'), said };
}

test('text and JSON have a result for each interval; what others read is of the last one alone', async (t) => {
	const three = async (results: Results<StackFindings>) => {
		for (const [i, last] of [false, false, true].entries()) {
			const found = stacksOf({ stacks: [row(`call${i}`, 1000 * (i + 1))] });
			await results.report(reportOf(found), last);
		}
	};
	const of = async (format: CommonSettings['format']) =>
		(await printed(t, three, { view: VIEW, common: { format, quiet: true } })).written;
	assert.equal(await of('text'), 'text of 1\n'.repeat(3));
	const lines = (await of('json')).trim().split('\n');
	assert.equal(lines.length, 3);
	for (const line of lines) assert.equal(JSON.parse(line).duration_s, 2.5);
	assert.equal(await of('folded'), 'app;call2;sys_read_[k] 3\n');
});

test('folded stacks: in the unit of the tool, marked where that was asked for', async (t) => {
	const one = (results: Results<StackFindings>) => results.report(reportOf(stacksOf()), true);
	const common = { format: 'folded', quiet: true } as const;
	const marked = await printed(t, one, { view: VIEW, common });
	assert.equal(marked.written, 'app;load;sys_read_[k] 4000\n');
	const view = { ...VIEW, stacks: { delimited: true, annotated: false, process: true } };
	const plain = await printed(t, one, { view, common });
	assert.equal(plain.written, 'app-7;load;-;sys_read 4000\n');
});

test('a file that other tools read says how long was traced, by whom, and of what', async (t) => {
	const one = (results: Results<StackFindings>) => results.report(reportOf(stacksOf()), true);
	const common = { format: 'speedscope', quiet: true } as const;
	const { written } = await printed(t, one, { view: VIEW, common });
	const { tstrace } = JSON.parse(written);
	assert.deepEqual([tstrace.duration_s, tstrace.unit, tstrace.tool], [2.5, 'ns', 'offcputime']);
});

test('what is shown is for people, or for programs where these read it: in JSON only', async (t) => {
	for (const [format, forPrograms] of [
		['text', false],
		['folded', false],
		['json', true],
	] as const) {
		const asked: boolean[] = [];
		const view: TextView<StackFindings> = {
			...VIEW,
			shown: (findings, json) => {
				asked.push(json);
				return findings;
			},
		};
		const one = (results: Results<StackFindings>) => results.report(reportOf(stacksOf()), true);
		await printed(t, one, { view, common: { format } });
		assert.deepEqual(asked, [forPrograms], format);
	}
});

const LOST: Lost = { stacks_full: 3 };

test('notices and losses: beside the result, unless nobody wants to be told; what was lost is always said', async (t) => {
	const one = (results: Results<StackFindings>) =>
		results.report(reportOf(stacksOf(), { lost: LOST }), true);
	const { said } = await printed(t, one, { view: VIEW, common: { format: 'folded' } });
	assert.match(said, /^note: a notice\nlost: 3 .*\(stacks_full\)\n$/s);
	const quiet = await printed(t, one, { view: VIEW, common: { format: 'text', quiet: true } });
	assert.match(quiet.said, /^lost: 3 /);
});

test('what an option leaves out: text says it by itself, beside everything else it is said', async (t) => {
	const found = stacksOf({
		notices: [],
		leftOut: [{ by: 'exclude', rows: [row('other', 9_000_000), row('more', 1_000_000)] }],
	});
	const said = async (format: CommonSettings['format'], of: StackFindings) => {
		const one = (results: Results<StackFindings>) => results.report(reportOf(of), true);
		return (await printed(t, one, { view: VIEW, common: { format } })).said;
	};
	const note = 'note: left out: 10.0 ms in 2 stacks by --exclude\n';
	assert.equal(await said('text', found), '');
	assert.equal(await said('json', found), note);
	const none = { ...found, stacks: [] };
	assert.equal(await said('text', none), `no stack matches the options\n${note}`);
	assert.equal(await said('text', stacksOf({ stacks: [], notices: [] })), 'nothing waited\n');
	const idle = stacksOf({
		...{ notices: [], stacks: [row('load', 1)] },
		leftOut: [{ by: 'idle', rows: [row('poll', 3e9)], threads: 2 }],
	});
	assert.equal(await said('json', idle), 'note: left out: 3.00 s of 2 idle threads\n');
});

test('units of what is left out', async (t) => {
	const said = async (unit: StackFindings['unit'], value: number) => {
		const leftOut = [{ by: 'grep', rows: [row('other', value)] }] as const;
		const found = stacksOf({ unit, notices: [], leftOut });
		const one = (results: Results<StackFindings>) => results.report(reportOf(found), true);
		return (await printed(t, one, { view: VIEW, common: { format: 'json' } })).said;
	};
	assert.equal(await said('bytes', 4096), 'note: left out: 4,096 B in 1 stack by --grep\n');
	assert.equal(await said('samples', 1), 'note: left out: 1 sample in 1 stack by --grep\n');
	assert.equal(await said('samples', 2), 'note: left out: 2 samples in 1 stack by --grep\n');
});

test('a page has its own notices and losses: who reads it has not seen the terminal', async (t) => {
	const page = () => ({
		...{ title: 'A page', statement: 'It waits.', remarks: [], facts: [], sections: [] },
	});
	const one = (results: Results<StackFindings>) =>
		results.report(reportOf(stacksOf(), { lost: LOST }), true);
	const view = { ...VIEW, page };
	const { written } = await printed(t, one, { view, common: { format: 'html', quiet: true } });
	assert.match(written, /Note: a notice/);
	assert.match(written, /Lost: 3 [^<]*\(stacks_full\)/);
});

test('rows as they come: the header once, above; notices at the end', async (t) => {
	const view: TextView<Findings> = {
		...{ header: 'TIME', report: async () => '' },
		row: ({ n }) => `row ${n}\n`,
		totals: (rows) => `${rows.length} in all\n`,
	};
	const some = async (results: Results<Findings>) => {
		await results.rows([{ n: 1 }]);
		await results.rows(Buffer.from('bytes\n'));
		const rows = [{ n: 2 }, { n: 3 }];
		const found = { kind: 'rows' as const, rows, totals: [{ n: 1 }], notices: ['of rows'] };
		await results.report(reportOf(found), true);
	};
	const { written, said } = await printed(t, some, { view, kind: 'events' });
	assert.equal(written, 'TIME\nrow 1\nbytes\nrow 2\nrow 3\n1 in all\n');
	assert.equal(said, 'note: of rows\n');
});

test('--timestamps: the time of day above each result of text', async (t) => {
	const view: TextView<Findings> = { report: async () => 'result\n' };
	const found = { kind: 'table' as const, about: {}, rows: [{ n: 1 }] };
	const two = async (results: Results<Findings>) => {
		await results.report(reportOf(found), false);
		await results.report(reportOf(found), true);
	};
	const { written } = await printed(t, two, {
		...{ view, kind: 'table' as const, common: { timestamps: true } },
	});
	assert.match(written, /^\n\d\d:\d\d:\d\dresult\n\n\d\d:\d\d:\d\dresult\n$/);
});

test('--hdr: a line for each interval, not only the last', async (t) => {
	const hdr = join(temporaryFolder(), 'log');
	const view: TextView<Findings> = { report: async () => '' };
	const groups = [{ key: {}, histogram: histogramOf([1000, 2000]) }];
	const two = async (results: Results<Findings>) => {
		await results.report(reportOf({ kind: 'latency', groups }), false);
		await results.report(reportOf({ kind: 'latency', groups }), true);
	};
	await printed(t, two, { view, kind: 'latency', common: { hdr } });
	const lines = readFileSync(hdr, 'utf8').split('\n');
	assert.equal(lines.filter((line) => /^\d/.test(line)).length, 2);
});

test('nothing in a table: it is said', async (t) => {
	const view: TextView<Findings> = { report: async () => '', none: 'no calls were seen' };
	const one = (results: Results<Findings>) =>
		results.report(reportOf({ kind: 'table', about: {}, rows: [] }), true);
	const { said } = await printed(t, one, { view, kind: 'table' });
	assert.equal(said, 'no calls were seen\n');
});

test('what it has cost: of programs for each run, of traps where there are any, of tstrace itself', async (t) => {
	const programs = { cpu_pct: 1.234, bpf_runs: 2000, bpf_ns: 3_000_000, trap_ns: 0, trap_pct: 0 };
	const said = async (cost: object, quiet = false) => {
		const total = (results: Results<StackFindings>) =>
			results.total({ own_ns: 5, own_pct: 0.456, ...cost } as never);
		return (await printed(t, total, { view: VIEW, common: { quiet } })).said;
	};
	const own = 'cost: plus 0.46 % for tstrace itself\n';
	const average = 'cost: 1.23 % of one CPU on average (about 2,000 program runs of 1.50 us)\n';
	assert.equal(await said({ programs }), average + own);
	assert.equal(
		await said({ programs: { ...programs, trap_pct: 0.5 } }),
		`${average}cost: plus about 0.50 % for probe traps (an estimate)\n${own}`,
	);
	const none = { ...programs, bpf_runs: 0, bpf_ns: 0 };
	assert.match(await said({ programs: none }), /\(about 0 program runs of 0 ns\)/);
	const reason = await said({ programs: undefined, unmeasured: '--no-cost' });
	assert.match(reason.replace(/\s+/g, ' '), /0\.46 % .* did not measure .*: --no-cost $/);
	assert.match(await said({ programs: undefined }), /could not measure its cost/);
	assert.equal(await said({ programs }, true), '');
});

test('what nobody has named a format for may be refused for the format that a file gets', () => {
	const output = join(temporaryFolder(), 'result');
	const common = { ...commonSettings({ top: 3 }, [], 'stacks'), output };
	assert.throws(
		() => new Results(common, VIEW, TOOL),
		/^Error: --top is for text; a file or a pipe gets/,
	);
	new Results(common, VIEW, { ...TOOL, use: 'report' }).close();
});
