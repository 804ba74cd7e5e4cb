/** What is shown of stacks, and that what is said of them agrees with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackFindings, StackRow } from '../../../src/aggregate/stack-rows.js';
import { shownStacks } from '../../../src/options/stack-options.js';
import { leftOutText } from '../../../src/render/left-out.js';
import { renderStacks } from '../../../src/render/stacks.js';

function row(pid: number, names: string, value: number, more: Partial<StackRow> = {}): StackRow {
	const frames = names.split(';').map((name) => ({ name, kind: 'user' as const }));
	return {
		key: { pid, comm: 'postgres' },
		frames,
		parts: [value],
		value,
		count: 1,
		variance: 0,
		...more,
	};
}

const findings = (stacks: readonly StackRow[]): StackFindings => ({
	kind: 'stacks',
	unit: 'ns',
	about: {},
	noun: 'wait',
	parts: ['blocked'],
	stacks,
	notices: ['a notice'],
});

const ALL = { by: undefined, grep: undefined, exclude: undefined };
const CUT = { cut: 'no frame pointers' } as const;

test('21 stacks that are cut beside 16 that are shown: it is said of those that are shown', () => {
	const rows = [
		...Array.from({ length: 21 }, (_, i) => row(i + 1, `f${i % 3}`, 10, CUT)),
		...Array.from({ length: 13 }, (_, i) => row(99, `main;g${i}`, 10)),
	];
	const text = shownStacks(findings(rows), ALL, false);
	assert.equal(text.stacks.length, 16);
	assert.match(text.notices.at(-1) ?? '', /^3 of 16 stacks \(62% of what is shown\) are cut/);
	const style = { colour: false, width: 80 };
	const view = { style, top: 0, delimited: false, annotated: false, verb: 'waited' };
	const written = renderStacks(text, view);
	assert.match(written, / waited in 16 stacks/);
	assert.equal(written.match(/^ {4}\[cut: no frame pointers\]$/gm)?.length, 3);
	// Programs get each process by itself.
	const json = shownStacks(findings(rows), ALL, true);
	assert.match(json.notices.at(-1) ?? '', /^21 of 34 stacks/);
	assert.equal(json.notices[0], 'a notice');
});

test('each way to be incomplete has its line; what is whole has none', () => {
	const whole = shownStacks(findings([row(1, 'main;f', 1)]), ALL, false);
	assert.deepEqual(whole.notices, ['a notice']);
	const rows = [
		row(1, 'main;f', 50),
		row(1, 'g', 30, { cut: 'too deep' }),
		row(1, 'main;read', 20, { callerMissing: true }),
	];
	const { notices } = shownStacks(findings(rows), ALL, false);
	assert.match(notices[1] ?? '', /^1 of 3 stacks \(30% of what is shown\) are cut.*--max-depth/);
	assert.match(notices[2] ?? '', /^1 of 3 stacks \(20% of what is shown\) lack .* C library/);
	assert.equal(notices.length, 3);
});

test('--grep and --exclude: what is left out is counted, and not lost', () => {
	const rows = [row(1, 'main;place_order', 50), row(2, 'main;idle', 30), row(3, 'other', 20)];
	const view = { ...ALL, grep: /^main$/, exclude: /idle/ };
	const shown = shownStacks(findings(rows), view, false);
	assert.deepEqual(
		shown.stacks.map(({ value }) => value),
		[50],
	);
	assert.equal(
		leftOutText(shown),
		'left out: 20 ns in 1 stack by --grep; 30 ns in 1 stack by --exclude',
	);
	assert.equal(leftOutText(shownStacks(findings(rows), ALL, false)), '');
	// Nobody looks for what is not there: nothing is left out.
	assert.equal(leftOutText(shownStacks(findings(rows), { ...ALL, exclude: /zzz/ }, false)), '');
});
