/** The time of day of CLOCK_MONOTONIC's zero, measured by somebody who may have to wait for a CPU. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WallClock } from '../../../src/bpf/wall-clock.js';

const EPOCH_MS = 1_700_000_000_000.25;

/** Two clocks that each reading moves on by 5 us; before the readings in `waits` so many ms pass. */
function clocks(waits: Readonly<Record<number, number>> = {}) {
	let [monotonic_ms, readings, set_ms] = [1000, 0, 0];
	const read = () => {
		monotonic_ms += 0.005 + (waits[readings++] ?? 0);
		return monotonic_ms;
	};
	return {
		clock: () =>
			new WallClock(
				() => Math.floor(EPOCH_MS + set_ms + read()),
				() => read(),
			),
		set: (ms: number) => {
			set_ms += ms;
		},
		waitNext: (ms: number) => {
			waits = { ...waits, [readings + 1]: ms };
		},
	};
}

const off_ms = (clock: WallClock, set_ms = 0) => Math.abs(clock.epochMs() - EPOCH_MS - set_ms);

test('it is known to some microseconds, whenever the thread has to wait as it is measured', () => {
	assert.ok(off_ms(clocks().clock()) < 0.05);
	// A whole millisecond takes some 100 readings; one of them comes as it begins.
	for (let at = 0; at < 250; at++) {
		const off = off_ms(clocks({ [at]: 4.4 }).clock());
		assert.ok(off < 0.05, `waiting before reading ${at}: ${off} ms`);
	}
});

test('a thread that had to wait between two readings has not seen the clock being set', () => {
	const { clock, waitNext } = clocks();
	const measured = clock();
	const before_ms = measured.epochMs();
	waitNext(30);
	assert.equal(measured.epochMs(), before_ms);
	assert.equal(measured.epochMs(), before_ms);
});

test('a clock that is set is followed, forward and back', () => {
	const { clock, set } = clocks();
	const measured = clock();
	set(3_600_000);
	assert.ok(off_ms(measured, 3_600_000) < 0.05);
	set(-7_200_000);
	assert.ok(off_ms(measured, -3_600_000) < 0.05);
});

test('on the wall it is later in the east, and earlier in the west', (t) => {
	const { TZ } = process.env;
	t.after(() => {
		if (TZ === undefined) delete process.env.TZ;
		else process.env.TZ = TZ;
	});
	const measured = clocks().clock();
	// Neither has a summer time.
	for (const [zone, ahead_min] of [
		['Asia/Kolkata', 330],
		['America/Phoenix', -420],
		['UTC', 0],
	] as const) {
		process.env.TZ = zone;
		const ahead_us = measured.localEpochUs() - measured.epochMs() * 1000;
		assert.ok(Math.abs(ahead_us - ahead_min * 60e6) <= 1, `${zone}: ${ahead_us} us`);
	}
});
