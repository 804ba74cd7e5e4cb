import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import v8 from 'node:v8';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import { MAX_STACK_FRAMES } from '../../../src/aggregate/stack-table.js';
import { refusalOf, remarksOf } from '../../../src/converters/diff/comparable.js';
import { TstraceError } from '../../../src/errors.js';
import { FrameBudget } from '../../../src/input/bounds.js';
import { readJson } from '../../../src/input/json-files.js';
import { readProfiles } from '../../../src/input/read-files.js';
import { tstraceProfile } from '../../../src/input/tstrace-json.js';
import { ALL_MARKS } from '../../../src/render/folded.js';
import { suitableLook } from '../../../src/render/picture-look.js';
import { renderPprof } from '../../../src/render/pprof.js';
import { renderSpeedscope } from '../../../src/render/speedscope.js';
import { renderStackFormat, STACK_FORMATS } from '../../../src/render/stack-formats.js';
import { READING, toFolded } from '../profiles.js';
import { bytesOf, profileOfText, profilesOf, unpacked } from './formats.js';

const BEGINS_PPROF = Buffer.from([0x0a, 4, 8, 1, 16, 2]);
const EXAMPLE = 'sh;main;read_[k] 5\nsh;main;jit_[j];in_[i] 7\nsh 1\n';

/** Reads, or ends in a TstraceError of one line: nothing else may come of strangers' files. */
async function readsOrRefuses(content: Uint8Array | string): Promise<void> {
	try {
		await profilesOf(content);
	} catch (error) {
		assert.ok(error instanceof TstraceError, `${(error as Error).stack}`);
		assert.doesNotMatch(error.message, /\n/);
	}
}

const samples = async (): Promise<Buffer[]> => {
	const profile = await profileOfText(EXAMPLE);
	return [await unpacked(renderPprof(profile)), await bytesOf(renderSpeedscope(profile))];
};

test('files cut off anywhere', async () => {
	for (const bytes of await samples()) {
		for (let end = 0; end < bytes.length; end++) await readsOrRefuses(bytes.subarray(0, end));
	}
});

test('files with any bytes changed', async () => {
	for (const bytes of await samples()) {
		const changes = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 4 });
		const property = fc.asyncProperty(changes, async (all) => {
			const damaged = Buffer.from(bytes);
			for (const [at, byte] of all) damaged[at] = byte;
			await readsOrRefuses(damaged);
		});
		await fc.assert(property, { numRuns: 600 });
	}
});

test('any bytes that begin like pprof', async () => {
	const property = fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), (bytes) =>
		readsOrRefuses(Buffer.concat([BEGINS_PPROF, bytes])),
	);
	await fc.assert(property, { numRuns: 600 });
});

test('any JSON in the place of any value of a speedscope file', async () => {
	const text = (await bytesOf(renderSpeedscope(await profileOfText(EXAMPLE)))).toString();
	const values = [...text.matchAll(/"[^"]*"|\d+|\[|\{/g)].map(({ index, 0: { length } }) => ({
		index,
		length,
	}));
	const anything = fc.oneof(
		fc.json(),
		fc.constantFrom('1e999', '-1', '0.5', 'null', '{"toString":0,"valueOf":0}', '[]', '1e300'),
	);
	const property = fc.asyncProperty(fc.constantFrom(...values), anything, (place, json) =>
		readsOrRefuses(text.slice(0, place.index) + json + text.slice(place.index + place.length)),
	);
	await fc.assert(property, { numRuns: 600 });
});

test('any JSON in the place of any value of a result of tstrace', async () => {
	const result = {
		tool: 'profile',
		command: ['a'],
		unit: 'samples',
		stacks: [{ frames: ['a', 'b'], kinds: 'uk', value: 5, key: { comm: 'sh' } }],
	};
	const text = JSON.stringify(result);
	const values = [...text.matchAll(/(?<=[[:,])("[^"]*"|\d+)/g)];
	const anything = fc.oneof(fc.json(), fc.constant('{"toString":0,"valueOf":0}'));
	const property = fc.asyncProperty(fc.constantFrom(...values), anything, (place, json) =>
		readsOrRefuses(text.slice(0, place.index) + json + text.slice(place.index + place[0].length)),
	);
	await fc.assert(property, { numRuns: 300 });
});

/** What every object has without being asked, and what is no text. */
const NAMES = [...Object.getOwnPropertyNames(Object.prototype), '{"toString":0,"valueOf":0}'];

test('whatever a result calls its tool, unit, host, …: it is drawn, and compared with another', async () => {
	const result = {
		tool: 'profile',
		event: 'cycles',
		unit: 'samples',
		start: '2026-01-31T12:00:00.000Z',
		host: 'web1',
		kernel: '6.1',
		command: ['a'],
		filters: { pids: [1], comms: 'x', follow: true },
		stacks: [{ frames: ['a', 'b'], kinds: 'uk', value: 5, key: { comm: 'sh' } }],
	};
	const text = JSON.stringify(result);
	const other = await profileOfText(text);
	const values = [...text.matchAll(/(?<=[[:,])("[^"]*"|true|\d+)(?!")/g)];
	assert.ok(values.length > 15);
	for (const place of values) {
		for (const name of NAMES) {
			const json = name.startsWith('{') ? name : JSON.stringify(name);
			const changed = text.slice(0, place.index) + json + text.slice(place.index + place[0].length);
			await drawnOrRefused(changed, other);
		}
	}
});

/** Draws a result in all formats and compares it. Only reading may refuse it. */
async function drawnOrRefused(text: string, other: StackProfile): Promise<void> {
	let profile: StackProfile;
	try {
		profile = await profileOfText(text);
	} catch (error) {
		assert.ok(error instanceof TstraceError, `${(error as Error).stack}`);
		return;
	}
	const look = suitableLook(profile);
	for (const value of Object.values(look)) {
		assert.ok(['string', 'number', 'boolean'].includes(typeof value), `${text}: ${value}`);
	}
	for (const format of STACK_FORMATS) {
		const options = { look, marks: ALL_MARKS, divisor: 1, sorted: false };
		assert.ok((await bytesOf(await renderStackFormat(format, profile, options))).length > 0);
	}
	const [speedscope] = await profilesOf(await bytesOf(renderSpeedscope(profile)));
	assert.equal(toFolded(speedscope as StackProfile), toFolded({ ...profile, marked: true }));
	const origins = { before: profile.origin, after: other.origin };
	for (const said of [refusalOf(origins, 'total') ?? '', ...remarksOf(origins)]) {
		assert.equal(typeof said, 'string');
	}
}

test('what a start says is as long as it likes', async () => {
	const start = 'T'.repeat(4 << 20);
	const profile = await profileOfText(JSON.stringify({ tool: 'profile', start, stacks: [] }));
	assert.equal(suitableLook(profile).subtitle, start);
});

test('a stack of a result is as deep as any may be, and no deeper; all together are bounded', async () => {
	const resultOf = (depth: number, stacks = 1) => ({
		tool: 'profile',
		stacks: Array.from({ length: stacks }, () => ({
			frames: new Array(depth).fill('f'),
			value: 1,
		})),
	});
	const deepest = MAX_STACK_FRAMES - 4;
	assert.equal(
		(await profilesOf(JSON.stringify(resultOf(deepest))))[0]?.stacks.depth(0),
		deepest + 1,
	);
	await assert.rejects(profilesOf(JSON.stringify(resultOf(MAX_STACK_FRAMES))), {
		name: 'TstraceError',
		message: /a stack has more than 65536 frames/,
	});
	const budget = new FrameBudget(100);
	tstraceProfile(resultOf(10, 3), budget);
	assert.throws(() => tstraceProfile(resultOf(10, 8), budget), /more than 100 frames together/);
	// What stacks are apart by stands in front of them.
	const key = { kind: 'a', object: 'b', waker: 'c', comm: 'd' };
	const apart = { stacks: new Array(10).fill({ frames: ['f'], value: 1, key }) };
	tstraceProfile(apart, new FrameBudget(70));
	assert.throws(() => tstraceProfile(apart, new FrameBudget(69)), /more than 69 frames/);
});

/** A field with a length. */
const field = (number: number, ...bytes: number[]): number[] => [
	(number << 3) | 2,
	bytes.length,
	...bytes,
];

test('a small pprof file that unfolds to more frames than memory holds', async () => {
	const lines = Array.from({ length: 10_000 }, () => field(4, 8, 1)).flat();
	const varint = (value: number) => [
		(value & 0x7f) | 0x80,
		((value >> 7) & 0x7f) | 0x80,
		value >> 14,
	];
	const location = [8, 1, ...lines];
	const sample = [...field(1, 1, 1, 1, 1, 1), ...field(2, 1)];
	const head = [
		...field(1, 8, 1, 16, 2),
		...[0x22, ...varint(location.length), ...location],
		...field(5, 8, 1, 16, 3),
		...['', 'value', 'count', 'f'].flatMap((text) => field(6, ...Buffer.from(text))),
	];
	const samples = Array.from({ length: 10_000 }, () => field(2, ...sample)).flat();
	await assert.rejects(profilesOf(Uint8Array.from([...head, ...samples])), {
		name: 'TstraceError',
		message: /more than 134217728 frames together/,
	});
});

test('a small speedscope file whose events unfold to as many', async () => {
	const depth = 60_000;
	// All at the same time, so that two stacks are all there are: frames count each time, not only once.
	const opened = Array.from({ length: depth }, () => ({ type: 'O', frame: 0, at: depth }));
	const more = Array.from({ length: 10_000 }, (_, i) => ({
		type: i % 2 === 0 ? 'C' : 'O',
		frame: 0,
		at: depth + i,
	}));
	const profile = { type: 'evented', name: '', unit: 'none', startValue: 0, endValue: 1e6 };
	const file = {
		shared: { frames: [{ name: 'f' }] },
		profiles: [{ ...profile, events: [...opened, ...more] }],
	};
	await assert.rejects(profilesOf(JSON.stringify(file)), {
		name: 'TstraceError',
		message: /frames together/,
	});
});

test('JSON that would take more memory than there is is refused before it is parsed', async (t) => {
	const objects = Buffer.alloc(3 << 18, '{},');
	const json = Buffer.concat([Buffer.from('{"profiles":['), objects, Buffer.from('{}]}')]);
	// Half of what V8 has; an object and its comma take 80 bytes, and three in the text.
	const enough_bytes = 2 * (83 << 18);
	const limit = t.mock.method(v8, 'getHeapStatistics', () => ({ heap_size_limit }));
	let heap_size_limit = enough_bytes;
	syncBuiltinESMExports();
	try {
		await assert.rejects(profilesOf(json), {
			name: 'TstraceError',
			message: /too much memory as JSON/,
		});
		heap_size_limit += 1 << 10;
		await assert.rejects(profilesOf(json), { message: /has no stacks/ });
		assert.equal(limit.mock.callCount(), 2);
	} finally {
		limit.mock.restore();
		syncBuiltinESMExports();
	}
});

test('a gzip file that unpacks to more than memory holds', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-bomb-'));
	after(() => rmSync(folder, { recursive: true, force: true }));
	const path = join(folder, 'pprof');
	// A file may be several in a row, as gzip writes with >>.
	const [begins, goesOn] = [BEGINS_PPROF, Buffer.alloc(1 << 20, '2\0')].map((part) =>
		gzipSync(part),
	);
	writeFileSync(path, Buffer.concat([begins as Buffer, ...Array(257).fill(goesOn)]));
	await assert.rejects(readProfiles([path], READING, assert.fail), {
		name: 'TstraceError',
		message: /pprof: it is more than 256 MiB of pprof/,
	});
});

test('JSON, however it came, is read up to 500 MiB', async () => {
	let handedOver = 0;
	const chunks = async function* () {
		yield Buffer.from('{\n');
		// The same memory each time: that of 500 MiB takes seconds to fill.
		for (const line = Buffer.alloc(1 << 20, '\n'); handedOver < 520; handedOver++) yield line;
	};
	await assert.rejects(readJson(chunks(), READING, assert.fail), {
		name: 'TstraceError',
		message: /^it is more than 500 MiB of JSON/,
	});
	assert.equal(handedOver, 499);
});
