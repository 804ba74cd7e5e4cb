/** What syscount is asked for: what programs are told then, what is said of it, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { syscount as layout } from '../../../../src/generated/syscount.js';
import { syscount } from '../../../../src/tools/syscount/syscount.js';

type Raw = Readonly<Record<string, unknown>>;
const READ = 0;

const settingsOf = (raw: Raw) =>
	askedOf(syscount, { raw, interval_s: 1, count: 2, command: [] }).settings;

test('what programs are told, and how much room there is', () => {
	const planned = (raw: Raw) => {
		let constants: Raw = {};
		const room: Record<string, number> = {};
		const bytes = new Set<string>();
		const object = {
			layout,
			setConstants: (more: Raw) => {
				constants = { ...constants, ...more };
			},
			constantBytes: (name: string) => {
				bytes.add(name);
				return new DataView(new ArrayBuffer(8192));
			},
			map: (name: string) => ({
				setMaxEntries: (entries: number) => {
					room[name] = entries;
				},
			}),
		};
		const subjects = { filter: { pids: [], tids: [], kernelThreads: false } };
		const plan = syscount.plan(
			...([object as never, settingsOf(raw), subjects as never, () => undefined] as const),
		);
		const programs = [...plan.attach, ...(plan.load ?? [])];
		return { constants, room, programs, bytes };
	};
	const usual = planned({});
	assert.ok(usual.programs.includes('open_calls'));
	assert.deepEqual([usual.room.hists, usual.room.failures_0, usual.room.call_places], [1, 1, 1]);
	const told = ({ constants }: ReturnType<typeof planned>) => [
		...[constants.timed, constants.by_errno, constants.only_failed, constants.only_errno],
		...[constants.with_bytes, constants.with_paths],
	];
	assert.deepEqual(told(usual), [false, false, false, 0, false, false]);
	assert.deepEqual(told(planned({ errors: true })), [false, true, true, 0, false, false]);
	assert.deepEqual(told(planned({ failed: true })), [false, false, true, 0, false, false]);
	assert.deepEqual(told(planned({ errno: 2 })), [false, false, true, 2, false, false]);
	assert.deepEqual(told(planned({ bytes: true })), [false, false, false, 0, true, false]);
	const { GROUP_BY_PROCESS, GROUP_BY_NOTHING } = layout.enums.group_by;
	for (const [raw, by] of [
		[{}, GROUP_BY_NOTHING],
		[{ errors: true }, GROUP_BY_NOTHING],
		[{ pids: true }, GROUP_BY_PROCESS],
	] as const)
		assert.equal(planned(raw).constants.group_by, by);
	const calls = [READ];
	assert.deepEqual(
		[{}, { syscall: calls }].map((raw) => planned(raw).constants.filter_calls),
		[false, true],
	);
	// What calls move, and what they are about.
	for (const raw of [{ bytes: true }, { paths: true }])
		assert.ok(planned(raw).bytes.has('call_traits'), JSON.stringify(raw));
	assert.ok(!usual.bytes.has('call_traits'));
	const paths = planned({ paths: true, maxPaths: 99 });
	assert.deepEqual(told(paths), [false, true, true, 0, false, true]);
	assert.deepEqual([paths.room.failures_0, paths.room.failures_1], [99, 99]);
	for (const raw of [{ errors: true }, { failed: true }, { errno: 2 }, { paths: true }])
		assert.ok(!planned(raw).programs.includes('open_calls'), JSON.stringify(raw));
	const timed = planned({ latency: true, maxBuckets: 5000 });
	assert.equal(timed.room.hists, 2 * Number(timed.constants.used_slots));
	assert.deepEqual([timed.room.groups_0, timed.room.call_places], [5000, undefined]);
	// By process, there are no histograms by call.
	assert.equal(planned({ latency: true, pids: true }).room.hists, 1);
	assert.equal(planned({}).room.groups_1, 1024);
});

test('what it is about, in words, and that nothing was seen', () => {
	const said = (raw: Raw) => {
		const settings = settingsOf(raw);
		return [syscount.subject(settings, {} as never), syscount.text(settings).none];
	};
	const [failing, none] = ['failing system calls', 'no call failed'];
	assert.deepEqual(said({}), ['system calls', 'no calls were seen']);
	assert.deepEqual(said({ latency: true }), ['system calls and their times', 'no calls were seen']);
	assert.deepEqual(said({ bytes: true })[0], 'system calls and what they read and write');
	for (const raw of [{ failed: true }, { errors: true }, { errno: 2 }, { paths: true }])
		assert.deepEqual(said(raw), [failing, none], JSON.stringify(raw));
	assert.throws(() => settingsOf({ milliseconds: true }), {
		message: /^-m sets the unit of times/,
	});
	assert.equal(settingsOf({ milliseconds: true, latency: true }).milliseconds, true);
	assert.throws(() => settingsOf({ maxPaths: 5 }), { message: /^--max-paths is the room/ });
	assert.throws(() => settingsOf({ hist: 'read', errors: true }), { message: /leave out --hist$/ });
});

test('a kernel thread makes no calls: it is refused', () => {
	const filter = { pids: [2], tids: [] };
	const plan = () =>
		syscount.plan({} as never, settingsOf({}), { filter } as never, () => undefined);
	assert.throws(plan, { message: /^2 \(kthreadd\) is a kernel thread: it makes no system calls$/ });
});
