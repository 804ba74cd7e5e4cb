import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderMarkdown } from '../../../bench/against-peers/markdown.js';
import { renderFigure } from '../../../bench/against-peers/text.js';
import { type Side, toPeers, toUntraced, UNTRACED } from '../../../bench/experiments/measure.js';
import { figuresOf, mergeFigures } from '../../../bench/experiments/results.js';
import { runRounds } from '../../../bench/experiments/rounds.js';
import { Child, withinLimit } from '../../../bench/shared/children.js';
import { formatSpread, median, ratiosOf, spreadOf } from '../../../bench/shared/statistics.js';

import { experiment, measured, ORIGIN, result, side, WISHES } from './support.js';

test('the median lies between the middle two of an even number', () => {
	assert.equal(median([3, 1, 2]), 2);
	assert.equal(median([4, 1, 2, 3]), 2.5);
	assert.deepEqual(spreadOf([5, 1, 9]), { median: 5, min: 1, max: 9 });
	assert.ok(Number.isNaN(median([])));
});

test('ratios are of the same round; those that cannot be are left out', () => {
	assert.deepEqual(ratiosOf([1, 6, 5], [2, 3]), [0.5, 2]);
	assert.deepEqual(ratiosOf([1, 1], [0, 4]), [0.25]);
});

test('one figure has no spread', () => {
	assert.equal(formatSpread(spreadOf([2, 1, 3]), 1), '2.0 (1.0 – 3.0)');
	assert.equal(formatSpread(spreadOf([2]), 2), '2.00');
});

test('sides are compared with peers, and traced ones with none', () => {
	const sides = [side(UNTRACED), side('tstrace x'), side('tstrace y'), side('peer')];
	const pairs = (ratios: readonly { of: string; to: string }[]) =>
		ratios.map(({ of, to }) => `${of} / ${to}`);
	assert.deepEqual(pairs(toPeers(sides)), ['tstrace x / peer', 'tstrace y / peer']);
	assert.deepEqual(pairs(toUntraced(sides)).slice(0, 3), [
		'tstrace x / untraced',
		'tstrace y / untraced',
		'peer / untraced',
	]);
	assert.equal(toPeers(sides, WISHES)[0]?.atMost, 0.5);
});

test('a result has medians, ratios by round, and who is missing', async () => {
	const { sides, ratios, missing, rounds } = await result();
	assert.equal(rounds, 3);
	assert.deepEqual(
		sides.map(({ name, median }) => [name, median]),
		[
			[UNTRACED, 10],
			['tstrace x', 22],
			['peer', 88],
		],
	);
	const ratio = ratios.find(({ of, to }) => of === 'tstrace x' && to === 'peer');
	assert.deepEqual(ratio, {
		...{ of: 'tstrace x', to: 'peer', median: 0.5, min: 0.25, max: 0.5 },
		asked: 0.5,
	});
	assert.deepEqual(missing, [{ name: 'other', why: 'not on the PATH' }]);
});

test('a peer that fails is missing with its reason; tstrace may not fail', async () => {
	const fails = async () => {
		throw new Error('no such probe\nand more');
	};
	const { missing } = await measured(side('tstrace x', 1, 1, 1), { ...side('peer'), run: fails });
	assert.deepEqual(missing, [{ name: 'peer', why: 'no such probe' }]);
	await assert.rejects(measured({ ...side('tstrace x'), run: fails }), /no such probe/);
});

test('every second round runs backwards, and preparations are undone', async () => {
	const order: string[] = [];
	const noted = (name: string): Side => ({
		...side(name),
		run: async () => {
			order.push(name);
			return {};
		},
	});
	const prepare = async () => {
		order.push('begin');
		return () => {
			order.push('end');
		};
	};
	await runRounds({ ...experiment([noted('a'), noted('b')]), prepare }, 2);
	assert.deepEqual(order, ['begin', 'a', 'b', 'b', 'a', 'end']);
});

/** What is recorded, with this median for each ratio. */
test('tools that did not run keep what was recorded', async () => {
	const [old, fresh] = [await result(), await result()];
	const merged = mergeFigures(
		[
			{ ...old, tool: 'b' },
			{ ...old, tool: 'a', figure: 'old' },
			{ ...old, tool: 'gone' },
		],
		[{ ...fresh, tool: 'a' }],
		['a', 'b'],
	);
	assert.deepEqual(
		merged.map(({ tool, figure }) => [tool, figure]),
		[
			['a', 'time'],
			['b', 'time'],
		],
	);
});

test('figures of another machine are not kept beside those of this one', async () => {
	const recorded = {
		...{ schema: 1 as const, command: 'make bench', date: ORIGIN.date, peers: [] },
		machine: { tstrace: '0.1.0', kernel: '6.18' },
		figures: [await result()],
	};
	assert.equal(figuresOf(recorded, { tstrace: '0.2.0', kernel: '6.18' }).length, 1);
	assert.equal(figuresOf(recorded, { tstrace: '0.1.0', kernel: '6.19' }).length, 1);
	assert.equal(figuresOf(recorded, { tstrace: '0.1.0', kernel: '6.18', CPUs: 2 }).length, 0);
	assert.equal(figuresOf(undefined, {}).length, 0);
});

test('a peer that hangs is named, killed with its children, and not tried again', async () => {
	let tries = 0;
	let child: Child | undefined;
	const hangs = async () => {
		tries++;
		child = new Child(['sh', '-c', 'sleep 1000; true'], ['ignore', 'pipe', 'ignore']);
		await child.closed;
		return {};
	};
	const what = experiment([side('tstrace x', 1, 1), { ...side('peer'), run: hangs }]);
	const { missing } = await runRounds(what, 2, 0.2);
	assert.deepEqual(missing, [{ name: 'peer', why: 'did not end in time (0.2 s)' }]);
	assert.equal(tries, 1);
	assert.equal(child?.process.signalCode, 'SIGKILL');
});

test('what fails leaves no children, and a command that there is not is an error', async () => {
	let child: Child | undefined;
	const fails = async () => {
		child = new Child(['sleep', '1000'], 'ignore');
		await new Child(['./no-such-command'], 'ignore').closed;
	};
	await assert.rejects(withinLimit(10, fails), /ENOENT/);
	await child?.closed;
	assert.equal(child?.process.signalCode, 'SIGKILL');
});

test('text says what was asked, and fits a terminal', async () => {
	const text = renderFigure(await result());
	assert.match(
		text,
		/^time, ns: median \(least – most\) of 3\n {2}untraced {3}10\.0 \(10\.0 – 20\.0\)\n/,
	);
	assert.match(text, /\n {4}0\.500 \(0\.250 – 0\.500\) × peer, asked ≤ 0\.5\n/);
	const figure = await result();
	const missed = figure.ratios.map((ratio) => ({ ...ratio, median: 0.6 }));
	assert.match(renderFigure({ ...figure, ratios: missed }), /asked ≤ 0\.5: MISSED/);
});

test('markdown has the machine, the peers, and a table for each figure', async () => {
	const text = renderMarkdown({
		...{ schema: 1, command: 'make bench', date: '2026-11-21T00:00:00.000Z' },
		machine: { kernel: '6.18' },
		peers: [
			{ name: 'perf', version: '6.1' },
			{ name: 'bcc', missing: 'no headers' },
		],
		figures: [await result()],
	});
	assert.match(text, /^# Benchmarks\n/);
	assert.match(text, /`make bench` wrote this page on 2026-11-21/);
	assert.match(text, /\| kernel \| 6\.18 \|/);
	assert.match(text, /\| bcc \| missing: no headers \|/);
	assert.match(text, /## x\n\n`make bench TOOL=x`, 2026-11-21, commit abc1234, Linux 6\.18\n/);
	assert.match(text, /### a \| workload\n/);
	assert.match(text, /- peer \(1\.0\): `peer -a`\n- other: not measured \(not on the PATH\)/);
	assert.match(
		text,
		/\| tstrace x \| 22\.0 \(20\.0 – 44\.0\) \| 2\.200 [^|]* × untraced<br>0\.500 [^|]* × peer, asked ≤ 0\.5 \|/,
	);
});
