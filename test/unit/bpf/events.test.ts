/** Events out of a ring: as rows, or as lines by the thousand. */
import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { EventRow } from '../../../src/aggregate/report.js';
import { EventBatches, type EventFormatter, EventRows } from '../../../src/bpf/events.js';
import { PAGE_BYTES, ringFile } from '../loader/ring-file.js';

const EVENT_BYTES = 16;
const DISCARD = 2 ** 30;

/** Of a number, which comes first, and a time. */
function event(time: number, number: number): Uint8Array {
	return new Uint8Array(BigUint64Array.of(BigInt(number), BigInt(time)).buffer);
}

const numberOf = (record: DataView) => Number(record.getBigUint64(0, true));
const rowOf = (record: DataView): EventRow => ({ number: numberOf(record) });

function ringOf(t: TestContext, events: readonly Uint8Array[], pages = 16) {
	const records = events.map((bytes) => ({ bytes }));
	const { map, close } = ringFile(records, 0, pages * PAGE_BYTES);
	t.after(close);
	return map;
}

test('rows come in the order of the ring, each once, without those that have none', async (t) => {
	const map = ringOf(t, [event(1, 10), event(2, 20), event(3, 30)]);
	let epochs_ms = new Set<number>();
	const reader = new EventRows(map, (record, epoch_ms) => {
		epochs_ms = epochs_ms.add(epoch_ms);
		return numberOf(record) === 20 ? undefined : rowOf(record);
	});
	t.after(() => reader.close());
	assert.deepEqual(await reader.read(), { kind: 'rows', rows: [{ number: 10 }, { number: 30 }] });
	assert.deepEqual(await reader.read(), { kind: 'rows', rows: [] });
	assert.equal(epochs_ms.size, 1);
	const zero_ms = Date.now() - Number(process.hrtime.bigint()) / 1e6;
	for (const epoch_ms of epochs_ms) assert.ok(Math.abs(epoch_ms - zero_ms) < 1000);
});

test('more rows than one object can have are dropped, and said once', async (t) => {
	class Filled extends EventRows {
		fill(count: number): void {
			const record = new DataView(event(1, 1).buffer);
			for (let i = 0; i < count; i++) this.keep(record, 0);
		}
	}
	const reader = new Filled(ringOf(t, []), rowOf);
	t.after(() => reader.close());
	reader.fill(100_000);
	assert.deepEqual(reader.lost(), {});
	reader.fill(7);
	assert.deepEqual([reader.lost(), reader.lost()], [{ events_dropped: 7 }, {}]);
	assert.equal((await reader.read()).rows.length, 100_000);
	reader.fill(1);
	assert.deepEqual(reader.lost(), {});
});

/** Lines are "number;", with the number as wide as is said; what it was asked to prepare. */
function formatter(width = 1) {
	const prepared: number[] = [];
	const made: EventFormatter = {
		timeAt: 2,
		bytes: EVENT_BYTES,
		row: rowOf,
		prepare: (_words, _places, count) => {
			prepared.push(count);
		},
		line: (words, at, lines) => {
			lines.room(32);
			lines.whole(words[at] as number, width);
			lines.byte(0x3b);
		},
		totals: () => [{ calls: 5 }],
	};
	return { made, prepared };
}

/** All that is written until tracing ends, as text; and what `read` returns then. */
async function streamed(reader: EventBatches) {
	const parts: string[] = [];
	reader.stream(
		async (bytes) => {
			parts.push(Buffer.from(bytes as Uint8Array).toString());
		},
		(error) => assert.fail(`${error}`),
	);
	const findings = await reader.read();
	return { text: parts.join(''), findings };
}

test('events of a batch are in the order of their times, and those of the same time in that of the ring', async (t) => {
	const events = [event(30, 1), event(10, 2), event(20, 3), event(10, 4), event(2 ** 40, 5)];
	const { made } = formatter();
	const reader = new EventBatches(ringOf(t, [...events, event(2 ** 33, 6)]), made);
	t.after(() => reader.close());
	const { text, findings } = await streamed(reader);
	assert.equal(text, '2;4;3;1;6;5;');
	assert.deepEqual(findings, { kind: 'rows', rows: [], totals: [{ calls: 5 }] });
	// What was read is gone.
	assert.equal((await streamed(reader)).text, '');
});

test('as rows, they are in that order as well', async (t) => {
	const { made } = formatter();
	const map = ringFile([
		{ bytes: event(30, 1) },
		{ bytes: event(20, 9), flags: DISCARD },
		{ bytes: event(10, 2) },
	]);
	t.after(map.close);
	const reader = new EventBatches(map.map, made);
	t.after(() => reader.close());
	assert.deepEqual(await reader.read(), { kind: 'rows', rows: [{ number: 2 }, { number: 1 }] });
});

test('more events than a batch has are all read, and all that is written is written once', async (t) => {
	const count = 16_500;
	const width = 16;
	const { made, prepared } = formatter(width);
	const events = Array.from({ length: count }, (_, i) => event(i, 1_000_000 + i));
	const reader = new EventBatches(ringOf(t, events, 256), made);
	t.after(() => reader.close());
	const { text } = await streamed(reader);
	const expected = events.map((_, i) => `${`${1_000_000 + i}`.padStart(width)};`).join('');
	assert.ok(text === expected, `${text.length} bytes, not ${expected.length}`);
	assert.deepEqual(prepared, [8192, 8192, count - 2 * 8192]);
});

test('what a reader waits for is there before its lines are made; after its end none is', async (t) => {
	const { made } = formatter();
	const order: string[] = [];
	const line: EventFormatter['line'] = (...all) => {
		order.push('line');
		made.line(...all);
	};
	const settle = async () => {
		order.push('settle');
		await undefined;
		order.push('settled');
	};
	const reader = new EventBatches(ringOf(t, [event(1, 1)]), { ...made, line, settle });
	await streamed(reader);
	assert.deepEqual(order, ['settle', 'settled', 'line']);
	const closes = new EventBatches(ringOf(t, [event(1, 1)]), {
		...made,
		line: () => assert.fail('its memory is gone'),
		settle: async () => closes.close(),
	});
	assert.equal((await streamed(closes)).text, '');
	reader.close();
});

test('what comes while lines are written is for the next time: a storm has an end', async (t) => {
	const pages = 256;
	const events = Array.from({ length: 8192 }, (_, i) => ({ bytes: event(i, i) }));
	const { map, path, at, close } = ringFile(events, 0, pages * PAGE_BYTES);
	t.after(close);
	const { made, prepared } = formatter();
	const storm = new EventBatches(map, {
		...made,
		prepare: (...all) => {
			made.prepare(...all);
			const header = Uint32Array.of(EVENT_BYTES, 0);
			const record = Buffer.concat([Buffer.from(header.buffer), event(9000, 7)]);
			const fd = openSync(path, 'r+');
			writeSync(fd, record, 0, record.length, 2 * PAGE_BYTES + at);
			writeSync(fd, BigUint64Array.of(BigInt(at + record.length)), 0, 8, PAGE_BYTES);
			closeSync(fd);
		},
	});
	t.after(() => storm.close());
	await streamed(storm);
	assert.deepEqual(prepared, [8192, 0]);
	assert.equal((await streamed(storm)).text, '7;');
});

test('a result waits for the lines that are being written; no line comes twice', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const { made } = formatter();
	const reader = new EventBatches(ringOf(t, [event(1, 1), event(2, 2)]), made);
	t.after(() => reader.close());
	const parts: string[] = [];
	let written: (() => void) | undefined;
	const sink = (bytes: unknown) => {
		parts.push(Buffer.from(bytes as Uint8Array).toString());
		return new Promise<void>((resolve) => {
			written = resolve;
		});
	};
	reader.stream(sink, (error) => assert.fail(`${error}`));
	t.mock.timers.tick(50);
	await nextLoop();
	const reading = reader.read();
	await nextLoop();
	written?.();
	await reading;
	assert.deepEqual(parts, ['1;2;']);
});

test('closed while it writes, it does not look again: its memory is gone', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const { made, prepared } = formatter();
	const reader = new EventBatches(ringOf(t, [event(1, 1)]), made);
	const sink = async () => reader.close();
	reader.stream(sink, (error) => assert.fail(`${error}`));
	for (let look = 0; look < 5; look++) {
		t.mock.timers.tick(50);
		await nextLoop();
	}
	assert.deepEqual(prepared, [1]);
});
