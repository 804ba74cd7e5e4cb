/** What tools of waits show of the same waits: by whom, for what, in text and for programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackFindings, StackRow, Waker } from '../../../src/aggregate/stack-rows.js';
import { WAIT_PARTS } from '../../../src/aggregate/wait-parts.js';
import { askedOf } from '../../../src/cli/tool-command.js';
import { offcputime } from '../../../src/tools/offcputime/offcputime.js';
import { offwaketime } from '../../../src/tools/offwaketime.js';
import { wakeuptime } from '../../../src/tools/wakeuptime.js';

type Raw = Readonly<Record<string, unknown>>;
const typed = (raw: Raw) => ({ raw, interval_s: 1, count: 1, command: [] });
const STYLE = { colour: false, width: 100 };

const user = (name: string) => ({ name, kind: 'user' as const });
const kernel = (name: string) => ({ name, kind: 'kernel' as const });
const SLEEPS = [kernel('vfs_read'), kernel('pipe_read'), kernel('schedule')];

const WRITER: Waker = {
	key: { pid: 60, tid: 61, comm: 'writer', context: 'thread' },
	frames: [user('produce'), kernel('pipe_write')],
	cut: 'no frame pointers',
};

const row = (more: Partial<StackRow>): StackRow => ({
	key: { pid: 70, tid: 71, comm: 'reader' },
	frames: [user('main'), user('consume'), ...SLEEPS],
	...{ parts: [0, 0, 0, 0], value: 0, count: 1, variance: 0 },
	...more,
});

const findings = (stacks: readonly StackRow[], parts: readonly string[] = WAIT_PARTS) =>
	({
		...{ kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', parts, stacks },
		notices: [] as readonly string[],
	}) as StackFindings;

/** What a view shows of these. */
function shownBy(
	view: { shown?(findings: StackFindings, json: boolean): StackFindings },
	of: StackFindings,
	json: boolean,
): StackFindings {
	assert.ok(view.shown);
	return view.shown(of, json);
}

const namesOf = (rows: readonly StackRow[]) =>
	rows.map(({ frames }) => frames.map(({ name }) => name));

test('wakeuptime: the wakers with their stacks, and below these whom they woke; the same twice is one', () => {
	const { settings } = askedOf(wakeuptime, typed({}));
	const blocked = (value: number, more: Partial<StackRow> = {}) =>
		row({ parts: [value], value, count: value / 100, waker: WRITER, ...more });
	const unseen = blocked(7, { key: { comm: 'nobody knows' }, waker: undefined as never });
	const { waker: _, ...withoutWaker } = unseen;
	const shown = wakeuptime.text(settings).shown?.(
		findings(
			[
				blocked(300),
				// Elsewhere, and by another thread of the same name.
				blocked(500, { key: { pid: 70, tid: 72, comm: 'reader' }, frames: SLEEPS }),
				blocked(200, { key: { pid: 75, tid: 75, comm: 'other' }, cut: 'too deep' as never }),
				withoutWaker,
			],
			['blocked'],
		),
		true,
	);
	const key = { pid: 60, comm: 'writer', context: 'thread' };
	const { stacks = [] } = (shown ?? {}) as Partial<StackFindings>;
	assert.deepEqual(
		stacks.map(({ key: of, value, count, cut }) => ({ key: of, value, count, cut })),
		[
			{ key, value: 800, count: 8, cut: 'no frame pointers' },
			{ key, value: 200, count: 2, cut: 'no frame pointers' },
			{ key: { comm: 'nobody knows' }, value: 7, count: 0.07, cut: undefined },
		],
	);
	assert.deepEqual(namesOf(stacks), [
		['produce', 'pipe_write', 'wakes reader'],
		['produce', 'pipe_write', 'wakes other'],
		['main', 'consume', 'vfs_read', 'pipe_read', 'schedule'],
	]);
	assert.equal(stacks[0]?.frames.at(-1)?.kind, 'kernel');
	const whole = wakeuptime
		.text(settings)
		.shown?.(
			findings(
				[blocked(5, { waker: { ...WRITER, cut: undefined }, cut: 'no frame pointers' })],
				['blocked'],
			),
			true,
		);
	assert.equal((whole as StackFindings).stacks[0]?.cut, undefined);
});

const PIPE = { type: 'pipe', end: 'read', path: '', inode: 7, other_end: [] } as const;
const FILE = { type: 'file', path: '/srv/data' } as const;
const OBJECTS = [{ object: PIPE, value: 4e9, count: 3, variance: 0 }];
/** Blocked by a pipe for 4 s, and 1 s on a run queue. */
const READER = row({ parts: [4e9, 1e9, 0, 0], value: 5e9, count: 4, objects: OBJECTS });

test('offwaketime: what kind of wait it was, for programs and in the first line; of wakers that were blocked, too', async () => {
	const blocked = row({
		...{ parts: [4e9], value: 4e9, count: 4, objects: OBJECTS },
		waker: {
			...WRITER,
			did: 'was blocked',
			frames: [user('produce'), kernel('vfs_write'), kernel('pipe_write'), kernel('schedule')],
			waker: { key: { comm: 'last' }, frames: [user('end')] },
		},
	});
	const asked = askedOf(offwaketime, typed({ hops: 2 }));
	assert.equal(asked.settings.followed, 1);
	assert.equal(askedOf(offwaketime, typed({})).settings.followed, 0);
	const view = offwaketime.text(asked.settings);
	const found = findings([blocked], ['blocked']);
	const [json] = shownBy(view, found, true).stacks;
	assert.equal(json?.waitKind, 'pipe');
	const shown = shownBy(view, found, false);
	assert.equal(shown.stacks[0]?.waitKind, undefined);
	const text = await view.report(shown, STYLE);
	assert.match(text, /reader \(71\/70\)|reader \(70\)/);
	assert.match(text, /pipe read/);
	assert.match(text, /blocked.*pipe/);
	// Nothing tells what a wait was for where the kernel's frames are not wanted.
	const alone = askedOf(offwaketime, typed({ userStacks: true }));
	const [userOnly] = shownBy(offwaketime.text(alone.settings), found, true).stacks;
	assert.equal(userOnly?.waitKind, undefined);
	assert.doesNotMatch(await offwaketime.text(alone.settings).report(shown, STYLE), /pipe read/);
});

test('offcputime: kinds are for programs; text has them in the first line', async () => {
	const asked = askedOf(offcputime, typed({}));
	const view = offcputime.text(asked.settings);
	const found = findings([READER]);
	const [json] = shownBy(view, found, true).stacks;
	assert.equal(json?.waitKind, 'pipe');
	assert.deepEqual(json?.objects, OBJECTS);
	const shown = shownBy(view, found, false);
	assert.equal(shown.stacks[0]?.waitKind, undefined);
	assert.match(await view.report(shown, STYLE), /pipe read/);
});

test('offcputime --split: parts are stacks of their own in text; programs get them in one', () => {
	const { settings } = askedOf(offcputime, typed({ split: true }));
	const view = offcputime.text(settings);
	const values = (json: boolean) =>
		shownBy(view, findings([READER]), json).stacks.map(({ value }) => value);
	assert.deepEqual(values(false), [4e9, 1e9]);
	assert.deepEqual(values(true), [5e9]);
});

test('offcputime --by: rows apart by each of what was asked for, and kinds for programs', () => {
	const waits = [
		{ ...READER, waker: WRITER },
		row({
			...{ parts: [3e9, 0, 0, 0], value: 3e9, count: 1 },
			objects: [{ object: FILE, value: 3e9, count: 1, variance: 0 }],
			waker: WRITER,
		}),
	];
	const keys = (by: string, json: boolean) => {
		const { settings } = askedOf(offcputime, typed({ by }));
		const shown = shownBy(offcputime.text(settings), findings(waits), json);
		return shown.stacks.map(({ key: { kind, object, waker }, value, waitKind }) => {
			return { kind, object, waker, value, waitKind };
		});
	};
	const none = { kind: undefined, object: undefined, waker: undefined, waitKind: undefined };
	const queue = { ...none, value: 1e9 };
	assert.deepEqual(keys('kind', false), [
		{ ...none, kind: 'pipe', value: 7e9 },
		{ ...queue, kind: 'run queue' },
	]);
	assert.deepEqual(
		keys('kind', true).map(({ waitKind }) => waitKind),
		['pipe', undefined],
	);
	assert.deepEqual(
		keys('object', false).map(({ object, value }) => [object, value]),
		[
			['pipe read', 4e9],
			['/srv/data', 3e9],
			['[run queue]', 1e9],
		],
	);
	for (const by of ['waker', 'kind,waker', 'object,waker', 'kind,object,waker']) {
		const { settings } = askedOf(offcputime, typed({ by }));
		assert.equal(settings.wakers, 'who', by);
		const wakers = new Set(keys(by, false).map(({ waker }) => `${waker}`.replace(/ \(.*/, '')));
		assert.deepEqual(wakers, new Set(['writer', by === 'waker' ? 'run queue' : '[run queue]']), by);
	}
	for (const by of ['kind', 'object', 'kind,object', 'process'])
		assert.equal(askedOf(offcputime, typed({ by })).settings.wakers, undefined, by);
});

test('offcputime: what hides threads is told beside what is shown', () => {
	const filters = (raw: Raw) => offcputime.filters?.(askedOf(offcputime, typed(raw)).settings);
	assert.deepEqual(filters({}), {});
	assert.deepEqual(filters({ hideIdle: true }), { hide_idle: true });
	assert.deepEqual(filters({ grep: /^x/ }), { grep: ['/^x/'] });
});

test('offcputime: what cannot be had together is refused, and nothing else', () => {
	const refused = (raw: Raw, says: RegExp) =>
		assert.throws(() => askedOf(offcputime, typed(raw)), { message: says });
	refused({ by: 'object', split: true }, /--split or --by object/);
	refused({ by: 'kind', userStacks: true }, /--by kind or --user-stacks/);
	refused({ by: 'kind,waker', userStacks: true }, /--by kind,waker or --user-stacks/);
	refused({ hideIdle: true, edges: false }, /--hide-idle or --no-edges/);
	assert.equal(
		askedOf(offcputime, typed({ by: 'waker', userStacks: true })).settings.kernel,
		false,
	);
	assert.equal(askedOf(offcputime, typed({ by: 'process', split: true })).settings.split, true);
});
