/** What stands above the frames of a stack, and who ended its waits, whatever room there is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackFindings, StackRow, Waker } from '../../../src/aggregate/stack-rows.js';
import { stackText } from '../../../src/render/stack-text.js';
import { renderStacks, type StackTextOptions } from '../../../src/render/stacks.js';
import { HOSTILE } from '../support.js';

const STYLE = { colour: false, width: 80 };
const OPTIONS = { style: STYLE, top: 0, delimited: false, annotated: false, verb: 'waited' };
const KERNEL = { name: 'vfs_read', kind: 'kernel' } as const;
const MAIN = { name: 'main', kind: 'user' } as const;

const row = (more: Partial<StackRow> = {}): StackRow => ({
	...{ key: { pid: 7, comm: 'app' }, frames: [MAIN, KERNEL], parts: [2e9], value: 2e9, count: 3 },
	...{ variance: 0, ...more },
});
const findings = (...stacks: StackRow[]): StackFindings => ({
	...{
		kind: 'stacks',
		unit: 'ns',
		about: {},
		noun: 'wait',
		parts: ['blocked'],
		notices: [],
		stacks,
	},
});
const text = (of: StackRow, options: Partial<StackTextOptions> = {}) =>
	renderStacks(findings(of), { ...OPTIONS, ...options });

test('a label has the room that it is told of, and not a column more', () => {
	for (const key of [row().key, { pid: 123_456, tid: 123_457, comm: 'a longer name' }]) {
		const [, head = ''] = text(row({ key }), {
			label: (_row, room) => ({ text: 'x'.repeat(room) }),
		}).split('\n');
		assert.equal(head.length, STYLE.width, head);
		assert.match(head, / x+ {2}a/);
	}
});

test('what a line has no room for is below it; where the key says what it is, nobody is asked', () => {
	const label = () => ({ text: '', below: '/srv/data/orders' });
	const [, head, below] = text(row({ variance: 1e16 }), { label }).split('\n');
	assert.equal(head, '   2.00 s   100.0 %          ~3 waits  app (7)');
	assert.equal(below, '    /srv/data/orders  ± 100 ms (5.0 %)');
	const apart = row({ key: { kind: 'disk read', comm: 'app' } });
	assert.doesNotMatch(text(apart, { label: () => ({ text: 'disk' }) }), /disk {2}/);
});

test('each waker has its stack, and below that who ended what it waited for', () => {
	const waker: Waker = {
		key: { pid: 8, comm: 'db' },
		frames: [{ name: 'query', kind: 'user' }, KERNEL],
		did: 'was blocked',
		waker: {
			...{ key: { pid: 9, comm: 'disk' }, frames: [{ name: 'flush', kind: 'user' }], did: 'ran' },
			cut: 'too deep',
		},
	};
	const asked: string[] = [];
	const blockedFor = ({ key }: Waker) => {
		asked.push(`${key.comm}`);
		return 'disk read';
	};
	assert.deepEqual(text(row({ waker }), { blockedFor }).split('\n').slice(2, 10), [
		'    vfs_read',
		'    main',
		'    woken by db (8), which meanwhile was blocked: disk read',
		'    vfs_read',
		'    query',
		'    woken by disk (9), which meanwhile ran',
		'    flush',
		'    [cut: too deep]',
	]);
	assert.deepEqual(asked, ['db'], 'who ran was not blocked for anything');
	assert.match(text(row({ waker })), / which meanwhile was blocked\n/);
	const { did, ...unknown } = waker;
	assert.match(text(row({ waker: unknown })), /^ {4}woken by db \(8\)$/m);
	const long = { ...waker, key: { comm: 'a thread'.repeat(8) } };
	for (const line of text(row({ waker: long }), { blockedFor }).split('\n'))
		assert.ok(line.length <= STYLE.width, line);
});

test('where the caller of the function at the leaf is missing, it says so behind that function', () => {
	const frames = [MAIN, { name: 'read', kind: 'user' } as const, KERNEL];
	const lines = text(row({ frames, callerMissing: true })).split('\n');
	assert.deepEqual(lines.slice(2, 6), [
		'    vfs_read',
		'    read',
		'    [caller not known]',
		'    main',
	]);
});

test('what is sampled stands for one at least, and one is one', () => {
	const counted = (count: number) =>
		/(~?\S+ waits?) {2}app/.exec(text(row({ count, variance: 1 })))?.[1];
	assert.deepEqual([0.3, 1, 1.4, 1.6, 2000].map(counted), [
		...['~1 wait', '~1 wait', '~1 wait', '~2 waits', '~2,000 waits'],
	]);
});

test('a tool shows stacks as it was asked to, and as its own words have it', async () => {
	const view = {
		...{ grep: undefined, exclude: undefined, delimited: true, annotated: false, top: 0 },
	};
	const words = { verb: 'slept', telling: () => [KERNEL] };
	const of = (by: 'comm' | 'process') => stackText({ ...view, by }, words);
	const two = findings(row(), row({ key: { pid: 8, comm: 'app' } }));
	const { report, shown } = of('comm');
	assert.match(await report(two, STYLE), /app \(7\): main → vfs_read\n(.*\n)*.* slept in 2 stacks/);
	assert.match(await report(two, STYLE), /^ {4}--$/m);
	assert.equal(shown(two, false).stacks.length, 1);
	const unasked = stackText({ ...view, by: undefined }, words).shown;
	assert.deepEqual(
		[false, true].map((json) => unasked(two, json).stacks.length),
		[1, 2],
	);
	assert.deepEqual([of('comm').stacks.process, of('process').stacks.process], [false, true]);
});

test('nothing of a name reaches a terminal raw, wherever it stands', () => {
	for (const name of HOSTILE) {
		const frames = [{ name, kind: 'user' } as const, KERNEL];
		const waker = { key: { comm: name }, frames, did: 'ran' } as const;
		const of = row({ key: { pid: 7, comm: name }, frames, waker });
		const said = renderStacks(findings(of, of), { ...OPTIONS, telling: () => frames });
		assert.doesNotMatch(said, /[^\P{Cc}\n]|\u202e/u);
	}
});

test('what a stack lacks is said in each way to show it', () => {
	for (const shown of [{}, { delimited: true }, { annotated: true }])
		assert.match(text(row({ cut: 'too deep' }), shown), /^ {4}\[cut: too deep\]$/m);
});
