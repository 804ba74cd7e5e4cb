/** Stacks as JSON: what is nested in them, however many there are, and whatever they are called. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/render/json.js';
import { HOSTILE } from '../support.js';

const jsonOf = async (report: Parameters<typeof renderJson>[0]) => {
	let text = '';
	for await (const piece of renderJson(report)) text += piece;
	return text;
};

const interval = {
	circumstances: { command: [], host: 'here', kernel: '6.1.0', arch: 'x64', filters: {} },
	tool: 'offcputime',
	start: new Date('2026-01-31T12:00:00Z'),
	duration_ns: 5e9,
	lost: {},
	cost: { programs: undefined, own_ns: 0, own_pct: 0 },
};

const STACKS = {
	kind: 'stacks',
	unit: 'ns',
	noun: 'wait',
	about: {},
	parts: ['blocked'],
	notices: [],
} as const;
const one = { key: {}, frames: [], parts: [1], value: 1, count: 1, variance: 0 } as const;

test('wakers: what each did, what those that were blocked waited for, and who ended that', async () => {
	const user = (name: string) => ({ name, kind: 'user' }) as const;
	const kernel = (name: string) => ({ name, kind: 'kernel' }) as const;
	const lock = [{ ...user('pthread_mutex_lock'), inCLibrary: true }, kernel('futex_wait')];
	const waker = (comm: string, more: object) => ({ key: { comm }, frames: [user(comm)], ...more });
	const wakers = [
		waker('blocked', {
			did: 'was blocked',
			frames: [user('main'), kernel('pipe_read')],
			waker: waker('last', { did: 'ran', frames: [user('work'), kernel('pipe_read')] }),
		}),
		// Of which not all frames are shown.
		waker('locked', { did: 'was blocked', frames: lock.slice(1), walked: lock }),
		waker('queued', { did: 'waited for a CPU', processes: 3 }),
		waker('new', { did: 'did not exist yet' }),
	];
	const stacks = wakers.map((each) => ({ ...one, waker: each }));
	const { stacks: said } = JSON.parse(
		await jsonOf({ ...interval, findings: { ...STACKS, stacks } }),
	);
	assert.deepEqual(
		said.map(({ wait }: { wait: object }) => wait),
		[
			{
				waker: {
					...{ comm: 'blocked', did: 'blocked', frames: ['main', 'pipe_read'], kinds: 'uk' },
					wait: {
						kind: 'pipe',
						waker: { comm: 'last', did: 'ran', frames: ['work', 'pipe_read'], kinds: 'uk' },
					},
				},
			},
			{
				waker: {
					...{ comm: 'locked', did: 'blocked', frames: ['futex_wait'], kinds: 'k' },
					wait: { kind: 'lock' },
				},
			},
			{
				waker: {
					...{ comm: 'queued', did: 'waited_for_cpu', frames: ['queued'], kinds: 'u' },
					processes: 3,
				},
			},
			{ waker: { comm: 'new', did: 'not_born', frames: ['new'], kinds: 'u' } },
		],
	);
});

test('stacks by the thousand are one object; beside them is what is said of all', async () => {
	const stacks = Array.from({ length: 2500 }, (_, i) => ({
		...{ ...one, key: { comm: `c${i}` }, details: { at: i } },
		...(i % 8 === 0 ? ({ cut: 'too deep' } as const) : {}),
	}));
	const answer = { verdict: 'it waits' };
	const report = JSON.parse(
		await jsonOf({ ...interval, ended: 'nobody_left', findings: { ...STACKS, stacks, answer } }),
	);
	assert.deepEqual(
		report.stacks.map(({ key, at }: { key: { comm: string }; at: number }) => [key.comm, at]),
		stacks.map(({ key, details }) => [key.comm, details.at]),
	);
	assert.deepEqual(
		[report.verdict, report.ended, report.cut_share],
		['it waits', 'nobody_left', 0.1252],
	);
	const none = JSON.parse(await jsonOf({ ...interval, findings: { ...STACKS, stacks: [] } }));
	assert.deepEqual([none.stacks, none.cut_share, none.ended], [[], 0, undefined]);
});

test('nothing of the names in stacks reaches a terminal raw either, and they read as they were', async () => {
	const stacks = HOSTILE.map((name) => ({
		...{ ...one, key: { comm: name }, frames: [{ name, kind: 'user' }] as const },
	}));
	const text = await jsonOf({ ...interval, findings: { ...STACKS, stacks } });
	assert.doesNotMatch(text, /[^\P{Cc}\n]|\u202e/u);
	const read = JSON.parse(text).stacks.map(({ frames }: { frames: string[] }) => frames[0]);
	assert.deepEqual(read, HOSTILE);
});

test('of functions, where they begin, and the line that was executing, where that is known', async () => {
	const source = { language: 'python', name: 'f', file: '/a.py', line: 3 } as const;
	const frame = (more: object) => ({
		...{ name: 'f', kind: 'python' },
		source: { ...source, ...more },
	});
	const frames = [frame({ executingLine: 5 }), frame({}), frame({ line: undefined })] as const;
	const report = { ...interval, findings: { ...STACKS, stacks: [{ ...one, frames }] } };
	const { stacks } = JSON.parse(await jsonOf(report as unknown as Parameters<typeof jsonOf>[0]));
	assert.deepEqual(stacks[0].sources, [
		{ frame: 0, name: 'f', file: '/a.py', line: 3, executing_line: 5 },
		{ frame: 1, name: 'f', file: '/a.py', line: 3 },
		{ frame: 2, name: 'f', file: '/a.py' },
	]);
});
