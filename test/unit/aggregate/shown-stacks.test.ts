/** What is shown of stacks, and that what is said of them agrees with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepStacks, shownStacks } from '../../../src/aggregate/keep-stacks.js';
import { profileOf } from '../../../src/aggregate/stack-profile.js';
import type { StackFindings, StackRow } from '../../../src/aggregate/stack-rows.js';
import { leftOutText } from '../../../src/render/left-out.js';
import { renderStacks } from '../../../src/render/stacks.js';
import { fromFolded, toFolded } from '../profiles.js';

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

const ALL = { by: undefined, grep: undefined, exclude: undefined, delimited: false };
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
	// Of what is not shown nothing is said.
	const view = { ...ALL, exclude: /^(g|read)$/ };
	assert.deepEqual(shownStacks(findings(rows), view, false).notices, ['a notice']);
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

test('threads left out as idle stay counted, whatever patterns leave out besides', () => {
	const idle = { by: 'idle', rows: [row(7, 'sleep', 40), row(8, 'poll', 2)], threads: 2 } as const;
	const all = { ...findings([row(1, 'main;a', 50), row(2, 'main;b', 30)]), leftOut: [idle] };
	assert.equal(leftOutText(shownStacks(all, ALL, false)), 'left out: 42 ns of 2 idle threads');
	assert.equal(
		leftOutText(shownStacks(all, { ...ALL, exclude: /b/ }, true)),
		'left out: 42 ns of 2 idle threads; 30 ns in 1 stack by --exclude',
	);
});

const { profile } = await fromFolded('a;b 1\na;c 2\nd;b 4\nd 8\n');
const kept = (grep?: RegExp, exclude?: RegExp) =>
	toFolded(keepStacks(profile, { grep, exclude })).split('\n').sort().join(' ').trim();

test('a stack is kept for any frame that matches, and left out for any', () => {
	assert.equal(kept(), 'a;b 1 a;c 2 d 8 d;b 4');
	assert.equal(kept(/^b$/), 'a;b 1 d;b 4');
	assert.equal(kept(/a/), 'a;b 1 a;c 2');
	assert.equal(kept(undefined, /d/), 'a;b 1 a;c 2');
	assert.equal(kept(/b/, /a/), 'd;b 4');
	assert.equal(kept(/nowhere/), '');
});

const sorted = (folded: string) => folded.split('\n').sort().join(' ').trim();

/** The folded stacks that a pattern keeps: of rows that are folded then, and of rows that were folded before. */
function keptOf(
	rows: readonly StackRow[],
	view: {
		grep?: RegExp;
		exclude?: RegExp;
		by?: 'comm' | 'process' | 'thread';
		delimited?: boolean;
	},
): [before: string, after: string] {
	const asked = { ...ALL, ...view };
	const how = { delimited: asked.delimited, process: asked.by === 'process' };
	const folded = (stacks: readonly StackRow[]) => profileOf(stacks, {}, how);
	const all = shownStacks(findings(rows), { ...asked, grep: undefined, exclude: undefined }, false);
	return [
		sorted(toFolded(folded(shownStacks(findings(rows), asked, false).stacks))),
		sorted(toFolded(keepStacks(folded(all.stacks), asked))),
	];
}

test('a pattern keeps the same stacks of rows as of the folded stacks that they become', () => {
	const frame = (name: string) => ({ name, kind: 'user' }) as const;
	const kernel = (name: string) => ({ name, kind: 'kernel' }) as const;
	const irq = { key: { comm: '<irq: timer>' }, frames: [kernel('tick')] };
	const rows = [
		row(1, 'main;work', 1, { key: { pid: 1, tid: 11, comm: 'app' } }),
		row(2, 'main;sleep', 2, { key: { pid: 2, tid: 22, comm: 'sleeper' } }),
		row(3, 'main;lock', 3, {
			key: { pid: 3, tid: 33, comm: 'client' },
			waker: {
				key: { pid: 4, tid: 44, comm: 'server' },
				frames: [frame('serve'), frame('unlock')],
				did: 'was blocked',
				waker: irq,
			},
		}),
		row(5, 'deep', 5, { key: { kind: 'disk', pid: 5, tid: 55, comm: 'app' }, ...CUT }),
		row(6, 'main', 6, {
			key: { pid: 6, tid: 66, comm: 'other' },
			frames: [frame('main'), kernel('sys_read')],
			callerMissing: true,
		}),
	];
	const which = (pattern: RegExp, by: 'comm' | 'process' | 'thread', delimited = false) => {
		const [before, after] = keptOf(rows, { grep: pattern, by, delimited });
		assert.equal(before, after, `--grep ${pattern} --by ${by}`);
		const [without, withoutAfter] = keptOf(rows, { exclude: pattern, by, delimited });
		assert.equal(without, withoutAfter, `--exclude ${pattern} --by ${by}`);
		const values = (folded: string) => folded.match(/(?<= )\d+(?= |$)/g)?.map(Number) ?? [];
		const [kept, rest] = [values(before), values(without)].map((each) => each.sort());
		assert.deepEqual([...(kept ?? []), ...(rest ?? [])].sort(), [1, 2, 3, 5, 6]);
		return kept;
	};
	for (const by of ['comm', 'process', 'thread'] as const) {
		assert.deepEqual(which(/^work$/, by), [1], 'a function');
		assert.deepEqual(which(/^app/, by), [1, 5], 'a thread');
		assert.deepEqual(which(/^unlock$/, by), [3], "a waker's function");
		assert.deepEqual(which(/^server/, by), [3], 'a waker');
		assert.deepEqual(which(/irq: timer/, by), [3], 'who woke the waker');
		assert.deepEqual(which(/^disk$/, by), [5], 'a part');
		assert.deepEqual(which(/\[cut\]/, by), [5], 'a stack that is cut');
		assert.deepEqual(which(/caller not known/, by), [6], 'a caller that is missing');
		assert.deepEqual(which(/^-$/, by, true), [6], 'what stands between user and kernel');
		assert.deepEqual(which(/nowhere/, by), []);
	}
	assert.deepEqual(which(/^app$/, 'comm'), [1, 5]);
	assert.deepEqual(which(/^app-1$/, 'process'), [1]);
	assert.deepEqual(which(/^app-55$/, 'thread'), [5]);
	assert.deepEqual(which(/^server-44$/, 'thread'), [3]);
});
