/** What timehist tells programs: which of them run, what they write, and how much room there is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseInterrupts } from '../../../../src/bpf/scheduling/interrupts.js';
import { chooseOffcpu } from '../../../../src/bpf/scheduling/off-cpu.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { timehist } from '../../../../src/tools/timehist/timehist.js';

type Raw = Readonly<Record<string, unknown>>;

function planned(raw: Raw) {
	const { settings } = askedOf(timehist, {
		...{ raw, interval_s: 1, count: undefined, command: [] },
	});
	let told: Raw = {};
	let room = 0;
	const object = {
		setConstants: (more: Raw) => {
			told = { ...told, ...more };
		},
		map: () => ({
			setMaxEntries: (entries: number) => {
				room = entries;
			},
		}),
	};
	const plan = timehist.plan(object as never, settings, {} as never, () => undefined);
	return { told, room, plan };
}

test('wake-ups and migrations have programs of their own, and so has what does them', () => {
	const way = chooseOffcpu();
	const doers = chooseInterrupts();
	const wakeups = ['timehist_waking', 'timehist_wakeup_new'];
	for (const [raw, own] of [
		[{}, []],
		[{ next: true }, []],
		[{ wakeups: true }, [...doers.programs, ...wakeups]],
		[{ migrations: true }, [...doers.programs, 'timehist_migrate']],
		[{ wakeups: true, migrations: true }, [...doers.programs, ...wakeups, 'timehist_migrate']],
	] as const) {
		const { plan, told } = planned(raw);
		assert.deepEqual(plan.attach, [...way.others, ...own, 'timehist_switch'], JSON.stringify(raw));
		const { in_hardirq, preempt_count_from_rq } = own.length > 0 ? doers : ({} as never);
		assert.deepEqual(
			[told.in_hardirq, told.preempt_count_from_rq],
			[in_hardirq, preempt_count_from_rq],
		);
		assert.deepEqual(plan.runOnce, way.hasSchedInfo ? ['seed_waiting'] : []);
	}
});

test('programs write of the other thread, and of the stack, where these are shown', () => {
	const writes = (raw: Raw) => {
		const { with_other, with_stack } = planned(raw).told;
		return [with_other, with_stack];
	};
	assert.deepEqual(writes({}), [false, false]);
	for (const option of ['next', 'wakeups', 'migrations'])
		assert.deepEqual(writes({ [option]: true }), [true, false], option);
	assert.deepEqual(writes({ callGraph: true }), [false, true]);
});

test('the buffer has as many kilobytes as were asked for, up to the next power of two', () => {
	for (const [kb, bytes] of [
		[1, 4096],
		[4, 4096],
		[5, 8192],
		[1000, 1 << 20],
		[1024, 1 << 20],
	] as const)
		assert.equal(planned({ ringKb: kb }).room, bytes, `${kb} KB`);
});
