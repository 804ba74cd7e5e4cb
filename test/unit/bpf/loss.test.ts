import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { explainLost, Losses, lossCauses } from '../../../src/bpf/loss.js';
import { loss } from '../../../src/generated/common.js';
import { possibleCpus } from '../../../src/loader/map.js';
import { LOSS_TABLE } from '../../live/loss-table.js';

test('one that was lost, and several', () => {
	assert.deepEqual(explainLost({ waits_unseen: 1, wait_start_unknown: 1, failures_full: 1 }), [
		'1 wait: the kernel reported no switch when it ended (waits_unseen)',
		'1 wait: tstrace did not see when it began; some or all of its time may be missing (wait_start_unknown)',
		'1 failed call: no room for more paths; raise --max-paths, or choose threads (-p) (failures_full)',
	]);
	assert.deepEqual(explainLost({ waits_unseen: 1234 }), [
		'1,234 waits: the kernel reported no switch when they ended (waits_unseen)',
	]);
});

test('every cause of which one was lost begins with its noun in the singular', () => {
	const of = (cause: string) => explainLost({ [cause]: 1 })[0]?.replace(/[:;].*/, '');
	assert.equal(of('wait_table_full'), '1 wait or call');
	assert.equal(of('filter_full'), '1 process');
	assert.equal(of('programs_missed'), '1 program run');
	assert.equal(of('mappings_lost'), '1 mapping record');
	assert.match(
		explainLost({ stacks_truncated: 1 })[0] ?? '',
		/^1 stack: cut, as it is deeper than/,
	);
	assert.equal(
		explainLost({ frees_unseen: 1 })[0],
		'1 free: tstrace did not see it, but its address was allocated again (frees_unseen)',
	);
});

test('each cause is forced by a test that names it, or it says why none can', () => {
	assert.deepEqual(Object.keys(LOSS_TABLE).sort(), lossCauses().sort());
	for (const [cause, entry] of Object.entries(LOSS_TABLE)) {
		if ('not' in entry) assert.match(entry.not, /\w+ \w+ \w+/, cause);
		else {
			const text = readFileSync(`test/${entry.forcedIn}.test.ts`, 'utf8');
			assert.ok(text.includes(cause), `${entry.forcedIn} names no ${cause}`);
		}
	}
});

test('each cause that programs count has words, and each says what was lost and why', () => {
	const counted = Object.keys(loss).filter((name) => name !== 'LOSS_CAUSES');
	const names = counted.map((name) => name.replace('LOSS_', '').toLowerCase());
	for (const name of names) assert.ok(lossCauses().includes(name), name);
	for (const cause of lossCauses()) {
		const [many = '', ...others] = explainLost({ [cause]: 2 });
		assert.deepEqual(others, []);
		assert.match(many, new RegExp(`^2 [\\w ]+: .+ \\(${cause}\\)$`));
	}
	assert.equal(
		new Set(lossCauses().map((cause) => explainLost({ [cause]: 2 })[0])).size,
		lossCauses().length,
	);
});

/** The counters of programs, by cause; each CPU has a part of them. */
function kernel() {
	const counted = new Map<number, number>();
	const map = {
		lookupPerCpu: (key: Uint8Array) => {
			const number = new DataView(key.buffer, key.byteOffset).getUint32(0, true);
			const view = new DataView(new ArrayBuffer(8 * possibleCpus()));
			const total = counted.get(number) ?? 0;
			view.setBigUint64(0, BigInt(total), true);
			// The last CPU has one of them.
			const last = 8 * (possibleCpus() - 1);
			if (total > 0 && last > 0) {
				view.setBigUint64(0, BigInt(total - 1), true);
				view.setBigUint64(last, 1n, true);
			}
			return view;
		},
	};
	const object = {
		map: (name: string) => {
			assert.equal(name, 'losses');
			return map as never;
		},
	};
	return { counted, object };
}

test('what was lost since the last time, by its cause; what was not lost is not told', () => {
	const { counted, object } = kernel();
	let missed = 0;
	const losses = new Losses(object, () => missed);
	assert.deepEqual(losses.read(), {});
	counted.set(loss.LOSS_STACKS_FULL, 5).set(loss.LOSS_WAITS_UNSEEN, 2 ** 33);
	missed = 3;
	const first = { programs_missed: 3, stacks_full: 5, waits_unseen: 2 ** 33 };
	assert.deepEqual(losses.read(), first);
	assert.deepEqual(losses.read(), {});
	counted.set(loss.LOSS_STACKS_FULL, 12).set(loss.LOSS_FILTER_FULL, 1);
	missed = 4;
	assert.deepEqual(losses.read(), { programs_missed: 1, stacks_full: 7, filter_full: 1 });
});
