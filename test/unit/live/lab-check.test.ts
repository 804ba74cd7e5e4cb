/** What the latency lab accepts of a report, and what it does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cause, checkTrouble, type Reason, type WhyReport } from '../../live/lab-check.js';

const LOCK: Cause = {
	place: 'waiting',
	kinds: ['lock'],
	object: /till_lock/,
	share: [0.6, 0.7],
	function: 'take_till',
	culprit: { comm: 'slow', function: 'count_slowly' },
};
const SLEEP: Cause = {
	place: 'waiting',
	kinds: ['sleep'],
	share: [0.2, 0.3],
	function: 'cool_down',
};

const fast = { comm: 'fast', function: 'take_till', frames: ['start', 'take_till'] };
const slow = {
	comm: 'slow',
	function: 'nanosleep',
	frames: ['start', 'count_slowly', 'nanosleep'],
};

const locked = (change: Partial<Reason> = {}): Reason => ({
	place: 'waiting',
	kind: 'lock',
	object: 'till_lock, held by slow (12)',
	share: 0.64,
	total_ns: 1000 * (change.share ?? 0.64),
	function: 'take_till',
	frames: ['start', 'take_till', 'futex_wait'],
	ended_by: [fast, slow],
	...change,
});
const slept = (change: Partial<Reason> = {}): Reason => ({
	place: 'waiting',
	kind: 'sleep',
	share: 0.25,
	total_ns: 1000 * (change.share ?? 0.25),
	function: 'cool_down',
	frames: ['start', 'cool_down'],
	ended_by: [{ comm: '<irq: timer>' }],
	...change,
});

function report(reasons: readonly Reason[], change: Partial<WhyReport> = {}): WhyReport {
	const idle = { place: 'idle', kind: 'poll', share: 0.1, total_ns: 100 } as const;
	const account = [...(change.account ?? reasons), idle];
	return {
		verdict: '64 % of the time in take_till, for a lock that slow has; cool_down',
		lost: {},
		working_ns: 1000,
		idle_ns: 100,
		reasons,
		...change,
		account,
		wall_ns: account.reduce((sum, { total_ns }) => sum + total_ns, 0),
	};
}

test('the account is all of the time, and of hardly any nothing was seen', () => {
	const of = report([locked(), slept()]);
	assert.deepEqual(checkTrouble([LOCK], of), []);
	only(checkTrouble([LOCK], { ...of, wall_ns: 1.02 * of.wall_ns }), /^the account is 98.0 %/);
	const unseen = { place: 'not_seen', kind: '', share: 0.02, total_ns: 20 } as const;
	const with20 = { ...of, account: [...of.account, unseen], wall_ns: of.wall_ns + 20 };
	only(checkTrouble([LOCK], with20), /^of 2.0 % of the time nothing was seen/);
});

/** One problem, and that. */
function only(problems: readonly string[], wanted: RegExp): void {
	assert.equal(problems.length, 1, problems.join('\n'));
	assert.match(`${problems[0]}`, wanted);
}

test('a report that says what is true has no problem', () => {
	assert.deepEqual(checkTrouble([LOCK], report([locked()])), []);
	assert.deepEqual(checkTrouble([SLEEP], report([slept()])), []);
	assert.deepEqual(checkTrouble([LOCK, SLEEP], report([locked(), slept()])), []);
});

test('reasons with the same cause count together, in whatever rows they are', () => {
	const rows = [locked({ share: 0.4 }), slept(), locked({ share: 0.25 })];
	assert.deepEqual(checkTrouble([LOCK, SLEEP], report(rows)), []);
});

test('another place, kind or function is not the trouble', () => {
	const changes = [{ place: 'running' }, { kind: 'futex' }, { function: 'give_till' }] as const;
	for (const change of changes) {
		const [largest, missing, ...more] = checkTrouble([LOCK], report([locked(change)]));
		assert.match(`${largest}`, /^the first reason is /);
		assert.match(`${missing}`, /^lock in take_till: not among the reasons/);
		assert.deepEqual(more, []);
	}
});

test('the largest trouble is the first reason', () => {
	only(checkTrouble([LOCK, SLEEP], report([slept(), locked()])), /the first reason is .* sleep/);
	// What other work takes may be more.
	assert.deepEqual(checkTrouble([LOCK, SLEEP], report([slept(), locked()]), false), []);
});

test('a share is bounded from both sides, by the reasons and by the account', () => {
	for (const share of [0.59, 0.71]) {
		const wrong = [locked({ share })];
		only(
			checkTrouble([LOCK], report(wrong, { account: [locked()] })),
			new RegExp(`${share * 100}.0 % by the reasons, not 60.0 % to 70.0 %`),
		);
		only(checkTrouble([LOCK], report([locked()], { account: wrong })), /% by the account/);
	}
	for (const share of [0.6, 0.7])
		assert.deepEqual(checkTrouble([LOCK], report([locked({ share })])), []);
});

test('the object is what it was for, and there is none where there is none', () => {
	only(checkTrouble([LOCK], report([locked({ object: 'index_lock' })])), /for index_lock, not for/);
	const { object: _, ...without } = locked();
	only(checkTrouble([LOCK], report([without])), /for undefined, not for/);
	only(checkTrouble([SLEEP], report([slept({ object: 'till_lock' })])), /for till_lock, not for/);
});

test('the function is on the stack of who suffers', () => {
	only(checkTrouble([LOCK], report([locked({ frames: ['start'] })])), /not on its stack: start/);
});

test('the culprit is in the chain of most of it, in its function', () => {
	const others = [[], [fast], [{ comm: 'slow', frames: ['start'] }], [{ ...slow, comm: 'fast' }]];
	for (const ended_by of others)
		only(checkTrouble([LOCK], report([locked({ ended_by })])), /not by slow in count_slowly/);
	const most = [locked({ share: 0.34 }), locked({ share: 0.3, ended_by: [fast] })];
	assert.deepEqual(checkTrouble([LOCK], report(most)), []);
	const less = [locked({ share: 0.3 }), locked({ share: 0.34, ended_by: [fast] })];
	only(checkTrouble([LOCK], report(less)), /not by slow/);
	const anywhere = { ...LOCK, culprit: { comm: 'slow' } };
	assert.deepEqual(
		checkTrouble([anywhere], report([locked({ ended_by: [{ comm: 'slow' }] })])),
		[],
	);
	only(checkTrouble([anywhere], report([locked({ ended_by: [fast] })])), /not by slow in any/);
	const named = [{ comm: 'slow', function: 'count_slowly' }];
	assert.deepEqual(checkTrouble([LOCK], report([locked({ ended_by: named })])), []);
});

test('the verdict names the culprit, or, without one, the function', () => {
	const verdict = 'something waits';
	only(checkTrouble([LOCK], report([locked()], { verdict })), /the verdict does not name slow/);
	only(checkTrouble([SLEEP], report([slept()], { verdict })), /does not name cool_down/);
});

test('who is well is idle for the most part', () => {
	const well = { working_ns: 100, idle_ns: 900 };
	assert.deepEqual(checkTrouble([], report([slept()], well)), []);
	only(checkTrouble([], report([], { ...well, working_ns: 200 })), /works 200 ns of 1100/);
	only(checkTrouble([], report([], { working_ns: 0, idle_ns: 0 })), /works 0 ns of 0/);
});

test('a function of C++ is on a stack with its arguments; a cause may have no function that is known', () => {
	const cxx = { function: 'Lock::enter', frames: ['start', 'Lock::enter(Thread*)', 'futex_wait'] };
	const enter: Cause = { ...LOCK, function: 'Lock::enter' };
	assert.deepEqual(checkTrouble([enter], report([locked(cxx)])), []);
	const other = { ...cxx, frames: ['start', 'Lock::enterAgain(Thread*)'] };
	assert.match(checkTrouble([enter], report([locked(other)])).join(), /not on its stack/);
	const { function: _, culprit: __, ...anywhere } = LOCK;
	assert.deepEqual(checkTrouble([anywhere], report([locked(cxx)])), []);
	assert.notDeepEqual(checkTrouble([anywhere], report([slept()])), []);
});

test('the culprit may have to be a process, too', () => {
	const of = (pid: number): Cause => ({ ...LOCK, culprit: { comm: 'slow', pid } });
	const found = report([locked({ ended_by: [fast, { ...slow, pid: 12 }] })]);
	assert.deepEqual(checkTrouble([of(12)], found), []);
	assert.match(checkTrouble([of(13)], found).join(), /not by slow/);
});

test('of two causes that may be as large as each other, any is the first', () => {
	const lock: Cause = { ...LOCK, share: [0.2, 0.3] };
	const reasons = [slept({ share: 0.28 }), locked({ share: 0.26 })];
	assert.deepEqual(checkTrouble([lock, SLEEP], report(reasons)), []);
	const apart: Cause = { ...LOCK, share: [0.31, 0.4] };
	const larger = [slept({ share: 0.28 }), locked({ share: 0.33 })];
	assert.match(
		checkTrouble([apart, SLEEP], report(larger)).join(),
		/the first reason is waiting, sleep/,
	);
});
