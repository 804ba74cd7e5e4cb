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
