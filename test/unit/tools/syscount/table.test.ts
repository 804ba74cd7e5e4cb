import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MICROSECONDS, MILLISECONDS } from '../../../../src/render/units.js';
import {
	type CallsView,
	renderCalls,
	type ShownCall,
} from '../../../../src/tools/syscount/table.js';

const TIMED: CallsView = {
	byProcess: false,
	byErrno: false,
	onlyFailed: false,
	timed: true,
	bytes: false,
	unit: MICROSECONDS,
	milliseconds: false,
	style: { colour: false, width: 80 },
	top: 0,
};

const call = (syscall: string, calls: number, time_ns: number, open = 0): ShownCall => ({
	syscall,
	pid: 4_194_303,
	comm: syscall.slice(0, 15),
	calls,
	errors: 0,
	total_ns: calls * time_ns,
	mean_ns: time_ns,
	p50_ns: time_ns,
	p99_ns: time_ns,
	max_ns: time_ns,
	in_progress: open,
	...(open ? { longest_in_progress_ns: 1e9 * open, longest_since_before: true } : {}),
});

test('each time has the unit that suits it, or with -m all have milliseconds', async () => {
	const rows = [call('futex', 2, 1_200_164_000), call('read', 1, 970)];
	assert.equal(
		await renderCalls(rows, TIMED),
		`
SYSCALL  CALLS  ERRORS   TOTAL    MEAN     P50     P99     MAX
futex        2       0  2.40 s  1.20 s  1.20 s  1.20 s  1.20 s
read         1       0  970 ns  970 ns  970 ns  970 ns  970 ns
3 calls, 0 failed in all
`,
	);
	assert.match(
		await renderCalls(rows, { ...TIMED, unit: MILLISECONDS, milliseconds: true }),
		/TOTAL\(ms\).*\nfutex .* 2,400 +1,200 /,
	);
});

test('below a table of times: what is in progress, the longest first', async () => {
	const rows = [call('read', 1, 970, 2), call('futex', 0, 0, 3), call('wait4', 0, 0, 1)];
	const table = 'SYSCALL  CALLS  ERRORS   TOTAL    MEAN     P50     P99     MAX\nread .*\n';
	assert.match(
		await renderCalls(rows, TIMED),
		new RegExp(
			`^\n${table}in progress: futex 3 \\(>3.00 s\\), read 2 \\(>2.00 s\\), wait4 1 \\(>1.00 s\\)\n` +
				'1 call, 0 failed, 6 in progress in all\n$',
		),
	);
	assert.match(
		await renderCalls(rows, { ...TIMED, byProcess: true, top: 1 }),
		/^in progress: futex\[4194303\] 3 \(>3.00 s\), 2 more; --top 0 shows them$/m,
	);
	assert.match(await renderCalls(rows.slice(1), TIMED), /^\nin progress: futex/);
	const often = { ...call('poll', 0, 0, 9), longest_in_progress_ns: 5e6 };
	assert.match(
		await renderCalls([often, ...rows.slice(2)], TIMED),
		/^\nin progress: wait4 .*, poll 9/,
	);
});

test('lines fit 80 columns: long names, long times, many in progress', async () => {
	const rows = [
		call('rt_sigtimedwait_time64 (32-bit)', 123_456, 999_000, 40),
		call('clock_nanosleep_time64 (32-bit)', 1, 99e9),
		...Array.from({ length: 20 }, (_, n) => call(`in_progress_${n}`, 0, 0, 1 + n)),
	];
	for (const milliseconds of [false, true]) {
		for (const byProcess of [false, true]) {
			const unit = milliseconds ? MILLISECONDS : MICROSECONDS;
			const text = await renderCalls(rows, { ...TIMED, byProcess, milliseconds, unit });
			for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
		}
	}
	// What is in progress has all the width that there is.
	const wide = await renderCalls(rows, { ...TIMED, style: { colour: false, width: 200 } });
	const longest = Math.max(...wide.split('\n').map(({ length }) => length));
	assert.ok(longest > 150 && longest <= 200, `${longest}`);
});

test('errors that are normal are called so, where they are normal', async () => {
	const failed = (syscall: string, error: string) => ({ ...call(syscall, 1, 0), errors: 1, error });
	const below = async (...rows: readonly ShownCall[]) => {
		const text = await renderCalls(rows, { ...TIMED, timed: false, byErrno: true });
		return text.slice(text.indexOf('in all\n') + 'in all\n'.length);
	};
	assert.equal(await below(failed('openat', 'ENOENT'), failed('connect', 'ETIMEDOUT')), '');
	assert.match(await below(failed('futex', 'ETIMEDOUT')), /^ETIMEDOUT: .* normal for futex\n$/);
	const two = await below(failed('read', 'EAGAIN'), failed('connect', 'EINPROGRESS'));
	assert.match(two, /^EAGAIN: .*\nEINPROGRESS: .*\n$/);
	for (const line of two.split('\n')) assert.ok(line.length <= 80, line);
});
