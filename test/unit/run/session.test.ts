/** One run: when its results come and what of each they are, what ends it, and what is said beside them. */
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import tty from 'node:tty';
import type { RowFindings, TableFindings } from '../../../src/aggregate/report.js';
import type { StackFindings } from '../../../src/aggregate/stack-rows.js';
import type { RawValues } from '../../../src/options/typed-option.js';
import { commOf } from '../../../src/proc/threads.js';
import type { Reader } from '../../../src/reader.js';
import { objectsIn, Time, traced } from './traced.js';

const JSON_RESULT = { json: true };
/** More than any process's number (PID_MAX_LIMIT). */
const NOBODY = 4_194_304;
const table = (rows: readonly object[] = []) =>
	({ kind: 'table', about: {}, rows }) as TableFindings;
const rows = (...n: number[]): RowFindings => ({
	kind: 'rows',
	rows: n.map((each) => ({ n: each })),
});
const reading =
	(more: Partial<Reader<TableFindings>> = {}) =>
	(): Reader<TableFindings> => ({
		read: async () => table([{ n: 1 }]),
		...more,
	});
/** As somebody at the terminal. */
const interrupt = () => void process.emit('SIGINT', 'SIGINT');

test('each interval has its own beginning, losses and cost; the end of tracing is not in it', async (t) => {
	const time = new Time(t);
	const shares = [0.02, 0.04, 0.01];
	let reads = 0;
	const reader = () => {
		[time.ownShare = 0] = shares;
		return {
			read: async () => {
				time.ownShare = shares[++reads] ?? 0;
				return table([{ n: reads }]);
			},
			lost: () => ({ samples_lost: 10 * reads }),
			// It takes long.
			end: () => time.pass(5000),
		};
	};
	const run = { reader, raw: JSON_RESULT, interval_s: 2, count: 3, times: 5 };
	const found = await traced(t, time, run);
	assert.equal(found.status, 0);
	assert.deepEqual(
		objectsIn(found).map(({ rows, start, duration_s, lost, cost, ended }) => [
			...[rows[0].n, start.slice(17, 19), duration_s, lost.samples_lost],
			...[cost.own_pct, ended],
		]),
		[
			[1, '07', 2, 10, 2, undefined],
			[2, '09', 2, 20, 4, undefined],
			[3, '11', 2, 30, 1, undefined],
		],
	);
	// Of all three.
	assert.match(found.said, /cost: 2\.33 % of one CPU for tstrace itself/);
	assert.match(found.said, /lost: 30 samples/);
});

test('JSON of events: an object for each second, or a little less, as long as was asked for', async (t) => {
	const time = new Time(t);
	for (const [interval_s, durations] of [
		[3, [1, 1, 1]],
		[2.5, [0.85, 0.85, 0.8]],
		[0.5, [0.5]],
	] as const) {
		const reader = () => ({ stream: assert.fail, read: async () => rows(1) });
		const run = { reader, kind: 'events', raw: JSON_RESULT, interval_s, count: 1 } as const;
		const objects = objectsIn(await traced(t, time, run));
		assert.deepEqual(
			objects.map(({ duration_s }) => duration_s),
			durations,
		);
	}
});

test('JSON of events without an end: an object each second until somebody ends it', async (t) => {
	const time = new Time(t);
	let reads = 0;
	const read = async () => {
		if (++reads === 3) interrupt();
		return rows(reads);
	};
	const reader = () => ({ stream: assert.fail, read });
	const found = await traced(t, time, { reader, kind: 'events', raw: JSON_RESULT, count: 1 });
	const seconds = objectsIn(found).map(({ rows: [row], duration_s }) => [row.n, duration_s]);
	assert.deepEqual(seconds, [
		[1, 1],
		[2, 1],
		[3, 1],
		[4, 0],
	]);
	assert.match(found.said, /^Tracing what there is\.\.\. Hit Ctrl-C to end\.$/m);
});

test('lines come as they are read; what was lost meanwhile is said at the end', async (t) => {
	const time = new Time(t);
	let hand: ((n: number) => Promise<void>) | undefined;
	let lost = 0;
	const reader = (): Reader<RowFindings> => ({
		stream: (sink) => {
			hand = (n) => sink([{ n }]);
		},
		drain: assert.fail,
		read: async () => {
			await hand?.(7);
			return rows(8);
		},
		lost: () => {
			lost++;
			return { events_dropped: lost };
		},
	});
	const view = { header: 'N', row: ({ n }: { n?: unknown }) => `row ${n}\n` };
	const run = { reader, view, kind: 'events', raw: { format: 'text' }, interval_s: 4 } as const;
	const found = await traced(t, time, { ...run, count: 1 });
	assert.equal(found.written, 'N\nrow 7\nrow 8\n');
	// Asked for each second, and with the result.
	const all = (lost * (lost + 1)) / 2;
	assert.ok(lost >= 4);
	assert.match(found.said, new RegExp(`^lost: ${all} events: `, 'm'));
});

test('maps are emptied each second, or as often as the reader says; not once tracing has ended', async (t) => {
	for (const [drainPeriod_ms, drains] of [
		[undefined, 3],
		[250, 12],
	]) {
		const time = new Time(t);
		let [drained, ended] = [0, false];
		const drain = () => {
			assert.ok(!ended);
			drained++;
		};
		const read = async () => {
			ended = true;
			time.pass(3000);
			return table();
		};
		const reader = reading({ drain, drainPeriod_ms, read });
		const { error } = await traced(t, time, { reader, interval_s: 3.01, count: 1 });
		assert.deepEqual([drained, error], [drains, undefined]);
		t.mock.reset();
	}
});

test('it ends with the last of the chosen processes, and says so once and in JSON', async (t) => {
	const time = new Time(t);
	const raw = { ...JSON_RESULT, pid: [NOBODY] };
	// The second is at a result while that happens.
	for (const [interval_s, results] of [
		[100, ['nobody_left']],
		[0.1, [undefined, 'nobody_left']],
	] as const) {
		const began_ms = time.passed_ms;
		const read = async () => {
			time.pass(1000);
			return table();
		};
		const found = await traced(t, time, { reader: reading({ read }), raw, interval_s });
		assert.deepEqual(
			objectsIn(found).map(({ ended }) => ended),
			results,
		);
		assert.equal(found.said.match(/all chosen processes and threads have ended/g)?.length, 1);
		assert.ok(time.passed_ms - began_ms < 10_000);
	}
});

test('what takes more than --max-overhead traces less, and then stops', async (t) => {
	const time = new Time(t);
	time.ownShare = 1000;
	const slower = ['half as much'];
	const reader = reading({ slowDown: () => slower.shift() });
	const raw = { ...JSON_RESULT, maxOverhead: 1 };
	const found = await traced(t, time, { reader, raw });
	assert.match(
		found.said,
		/--max-overhead 1 .*:\s+half as much\n.*--max-overhead 1 .*:\s+tracing\s+stops\n/s,
	);
	assert.equal(objectsIn(found)[0].ended, 'max_overhead');
	// Without a limit that is only said.
	const without = await traced(t, time, { reader, raw: JSON_RESULT, interval_s: 5, count: 1 });
	assert.equal(objectsIn(without)[0].ended, undefined);
	assert.match(without.said, /use\s+--max-overhead PCT/);
	// Nor is what the result takes a cost of tracing.
	time.ownShare = 0;
	const read = async () => {
		time.ownShare = 1000;
		time.pass(5000);
		return table();
	};
	const after = await traced(t, time, { reader: reading({ read }), interval_s: 1, count: 1 });
	assert.doesNotMatch(after.said, /overhead/);
});

test('what fails meanwhile ends the run: first the result so far, then its error', async (t) => {
	const time = new Time(t);
	const drain = () => {
		throw new Error('drain');
	};
	const found = await traced(t, time, { reader: reading({ drain }), raw: JSON_RESULT });
	assert.equal(objectsIn(found)[0].ended, 'failed');
	assert.equal((found.error as Error).message, 'drain');
	assert.doesNotMatch(found.said, /^cost/m);
	// What follows from it is not told instead.
	const read = () => Promise.reject(new Error('read'));
	const twice = await traced(t, time, { reader: reading({ drain, read }) });
	assert.equal((twice.error as Error).message, 'drain');
});

test('-q: nothing beside the result; -v: what is done, too', async (t) => {
	const time = new Time(t);
	const reader = (note: (text: string) => void): Reader<TableFindings> => ({
		read: async (patience) => {
			note('done so');
			patience?.tell('reading', '5 %');
			patience?.tell('reading', '9 %');
			return table([{ n: 1 }]);
		},
	});
	const saying = async (raw: RawValues) =>
		(await traced(t, time, { reader, raw, interval_s: 1, count: 1 })).said;
	assert.equal(await saying({ quiet: true }), '');
	const usual = await saying({});
	assert.match(usual, /^Tracing what there is\.\.\.\nreading\ncost: .*\n/);
	assert.doesNotMatch(usual, /done so|nothing is asked/);
	const verbose = await saying({ verbose: true });
	assert.match(verbose, /^counter: without BPF: nothing is asked$/m);
	assert.match(verbose, /^counter: done so$/m);
});

test('on a terminal, how far it is goes before anything else is said', async (t) => {
	const time = new Time(t);
	const mock = t.mock.method(tty, 'isatty', (fd: number) => fd === 2);
	syncBuiltinESMExports();
	const read: Reader<TableFindings>['read'] = async (patience) => {
		await patience?.during(async () => patience.tell('reading', '5 %'));
		return table([{ n: 1 }]);
	};
	const { said } = await traced(t, time, { reader: reading({ read }), interval_s: 1, count: 1 });
	mock.mock.restore();
	syncBuiltinESMExports();
	assert.ok(said.includes('\n\r5 % reading\x1b[K\r\x1b[Kcost: '), said);
});

test('only the last result may be waited for, and a signal ends that alone', async (t) => {
	const time = new Time(t);
	const patient: boolean[] = [];
	const read: Reader<TableFindings>['read'] = async (patience) => {
		patient.push(patience !== undefined);
		const aborted = await patience?.during(async (signal) => {
			interrupt();
			return signal.aborted;
		});
		return table([{ aborted }]);
	};
	const run = { reader: reading({ read }), raw: JSON_RESULT, interval_s: 1, count: 2 };
	const found = await traced(t, time, run);
	assert.deepEqual(patient, [false, true]);
	assert.equal(objectsIn(found)[1].rows[0].aborted, true);
});

test('a name of --comm that no thread has is told where nothing was found', async (t) => {
	const time = new Time(t);
	const stacks = (n: number): StackFindings => ({
		...{ kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', parts: ['blocked'], notices: [] },
		stacks: Array.from({ length: n }, () => ({
			...{ key: { pid: 7, comm: 'app' }, frames: [{ name: 'f', kind: 'user' as const }] },
			...{ parts: [1], value: 1, count: 1, variance: 0 },
		})),
	});
	const saying = async (n: number, comm = 'no-such-thread') => {
		const reader = () => ({ read: async () => stacks(n) });
		const raw = { comm: [comm], format: 'text' };
		return (await traced(t, time, { reader, kind: 'stacks', raw, interval_s: 1, count: 1 })).said;
	};
	assert.match(await saying(0), /^no thread has the name no-such-thread/m);
	assert.doesNotMatch(await saying(1), /^no thread/m);
	assert.doesNotMatch(await saying(0, commOf(process.pid)), /^no thread/m);
	assert.match(
		await saying(1),
		/^Tracing what there is, only threads named no-such-thread\.\.\.$/m,
	);
});

test('how it ends is said where nobody has said it', async (t) => {
	const time = new Time(t);
	const banner = async (more: object) => {
		const ending = [interrupt];
		const read = async () => {
			ending.pop()?.();
			return table();
		};
		const reader = reading({ read });
		const { said } = await traced(t, time, { reader, raw: { pid: [process.pid] }, ...more });
		return said.split('\n')[0];
	};
	const of = `Tracing what there is of process ${process.pid}...`;
	assert.equal(await banner({ interval_s: 1 }), `${of} Hit Ctrl-C to end.`);
	assert.equal(await banner({ interval_s: 1, count: 2 }), of);
});
