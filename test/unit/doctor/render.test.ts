import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { attempt, type Examination, missing, ok, warn } from '../../../src/doctor/check.js';
import { askOf, type ToolDoctor } from '../../../src/doctor/of-tools.js';
import type { ProcessExamination } from '../../../src/doctor/process.js';
import { renderJson, renderText } from '../../../src/doctor/render.js';

const EXAMINATION: Examination = {
	checks: [
		ok('BTF', 'there'),
		warn('symbols', 'hidden', 'kernel frames have no names', 'sudo sysctl kernel.kptr_restrict=1'),
		missing('libbpf', 'none', 'no tool runs '.repeat(9).trim(), 'apt-get install libbpf1'),
	],
	tools: [
		{ name: 'offcputime', runs: true, way: 'by way of a hook' },
		{ name: 'runqlat', runs: false, why: 'refused\nby the kernel' },
		{ name: 'schedlat', runs: false, why: 'refused\nby the kernel' },
	],
};
const PLAIN = { colour: false, width: 80 };

test('a line for each check, what is lost and what gives it, a line for each tool', () => {
	assert.equal(
		renderText(EXAMINATION, PLAIN),
		`ok      BTF      there
warn    symbols  hidden
                 costs: kernel frames have no names
                 fix:   sudo sysctl kernel.kptr_restrict=1
missing libbpf   none
                 costs: no tool runs no tool runs no tool runs no tool runs no
                        tool runs no tool runs no tool runs no tool runs no tool
                        runs
                 fix:   apt-get install libbpf1

1 of 3 tools can run here:
  offcputime  yes  by way of a hook
  runqlat     no   refused; by the kernel
  schedlat    no   as runqlat
`,
	);
});

test('colours mark the states, and are the only difference', () => {
	const forced = process.env.FORCE_COLOR;
	process.env.FORCE_COLOR = '1';
	try {
		const coloured = renderText(EXAMINATION, { colour: true, width: 80 });
		assert.ok(coloured.startsWith(`\u001b[32mok${' '.repeat(6)}\u001b[39mBTF`), coloured);
		assert.ok(coloured.includes('\u001b[33mwarn'), coloured);
		assert.ok(coloured.includes('\u001b[31mmissing'), coloured);
		assert.equal(stripVTControlCharacters(coloured), renderText(EXAMINATION, PLAIN));
	} finally {
		if (forced === undefined) delete process.env.FORCE_COLOR;
		else process.env.FORCE_COLOR = forced;
	}
});

test('a tool that runs is green and one that does not is red; the title stands out', () => {
	const forced = process.env.FORCE_COLOR;
	process.env.FORCE_COLOR = '1';
	try {
		const coloured = renderText(EXAMINATION, { colour: true, width: 80 });
		for (const shown of [
			'offcputime  \u001b[32myes',
			'runqlat     \u001b[31mno',
			'\u001b[1m1 of 3 tools can run here:',
		])
			assert.ok(coloured.includes(shown), coloured);
	} finally {
		if (forced === undefined) delete process.env.FORCE_COLOR;
		else process.env.FORCE_COLOR = forced;
	}
});

test('whatever is long goes on below its beginning, and no line has blanks at its end', () => {
	const long = 'word '.repeat(30).trim();
	const text = renderText(
		{
			checks: [warn('a check', long, long, long)],
			tools: [
				{ name: 'runqlat', runs: true },
				{ name: 'offcputime', runs: true, way: long },
			],
		},
		PLAIN,
	);
	const lines = text.trimEnd().split('\n');
	for (const line of lines) {
		assert.ok(line.length <= 80, line);
		assert.doesNotMatch(line, / $/);
	}
	// Of what goes on, each begins where its first line does.
	const beginnings = lines
		.filter((line) => line.includes('word'))
		.map((line) => line.indexOf('word'));
	assert.deepEqual([...new Set(beginnings)], [17, 24, 19]);
	assert.match(text, /^2 of 2 tools can run here:$/m);
});

test('what strangers named cannot reach the terminal', () => {
	const name = '\u001b[31mevil';
	const text = renderText(
		{ checks: [ok(name, name)], tools: [{ name: 'x', runs: false, why: name }] },
		PLAIN,
	);
	assert.ok(!text.includes('\u001b'));
	assert.equal(text.match(/\\x1b\[31mevil/g)?.length, 3);
});

test('JSON: one line, all fields always there', () => {
	const text = renderJson(EXAMINATION);
	assert.equal(text.indexOf('\n'), text.length - 1);
	const { schema, checks, tools } = JSON.parse(text);
	assert.equal(schema, 1);
	assert.deepEqual(checks[0], {
		name: 'BTF',
		state: 'ok',
		found: 'there',
		costs: null,
		fix: null,
	});
	assert.equal(checks[2].fix, 'apt-get install libbpf1');
	assert.deepEqual(tools[0], {
		name: 'offcputime',
		runs: true,
		way: 'by way of a hook',
		why: null,
	});
	assert.equal(tools[2].why, 'refused\nby the kernel');
});

test('a check that cannot be made says why, and leaves the remedy to what is missing', () => {
	const check = attempt('hook', () => {
		throw new Error('this kernel has no BTF (x), without which nothing works: use another');
	});
	assert.deepEqual(check, {
		name: 'hook',
		state: 'missing',
		found: 'tstrace cannot tell: this kernel has no BTF (x)',
	});
});

test('a tool that cannot trace one of the processes says why; of one that is gone, so does any tool', () => {
	const examined = { pid: 7, is32: false, files: [] };
	const some = { pid: 7, checks: [], process: examined, unreadable: undefined, gone: undefined };
	const hidden = { ...some, process: undefined, unreadable: 'hidden' };
	const picky = {
		process: ({ is32 }: { is32: boolean }) =>
			is32 ? { checks: [], cannot: 'no' } : { checks: [] },
	};
	const why = (doctor: ToolDoctor | undefined, ...processes: ProcessExamination[]) =>
		askOf(doctor, processes).cannot;
	assert.equal(why(picky, some), undefined);
	assert.equal(why(picky, some, { ...some, process: { ...examined, is32: true } }), 'no');
	assert.equal(why(picky, hidden), 'hidden');
	assert.equal(why(undefined, hidden), undefined);
	assert.equal(why(undefined, some, { ...hidden, gone: 'it is gone' }), 'it is gone');
});

test('what a tool says of each process is shown, in their order; the first that it cannot trace is the reason', () => {
	const of = (pid: number) => ({
		pid,
		checks: [],
		process: { pid, is32: false, files: [] },
		unreadable: undefined,
		gone: undefined,
	});
	const doctor: ToolDoctor = {
		process: ({ pid }) => ({
			checks: [ok('allocator', `of ${pid}`)],
			...(pid > 7 ? { cannot: `not ${pid}` } : {}),
		}),
	};
	const { checks, cannot } = askOf(doctor, [of(7), of(8), of(9), of(5)]);
	assert.deepEqual(
		checks.map(({ found }) => found),
		['of 7', 'of 8', 'of 9', 'of 5'],
	);
	assert.equal(cannot, 'not 8');
});
