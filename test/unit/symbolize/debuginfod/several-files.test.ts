/** Several files from several servers: who is asked for which, and what is told meanwhile. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { humanBytes } from '../../../../src/render/units.js';
import { DebugFileCache, PartialFile } from '../../../../src/symbolize/debuginfod/cache.js';
import { fetchDebugFiles } from '../../../../src/symbolize/debuginfod/fetch.js';
import {
	type DebuginfodSettings,
	debuginfodSettings,
} from '../../../../src/symbolize/debuginfod/settings.js';
import { temporaryFolder } from '../support.js';
import { type SplitProgram, serve, splitProgram, Waiting } from './support.js';

const folder = temporaryFolder();
const app = splitProgram(folder, 'app');
const other = splitProgram(folder, 'other', 5);

/** Has the symbols of these programs. */
const serverOf = (...programs: readonly SplitProgram[]) =>
	serve((request, response) => {
		const found = programs.find(({ buildId }) => request.url?.includes(buildId));
		response.writeHead(found ? 200 : 404).end(found?.debug);
	});

async function fetched(
	servers: readonly { readonly url: string }[],
	more: Partial<DebuginfodSettings> = {},
	waiting = new Waiting(),
	files: readonly SplitProgram[] = [app, other],
) {
	const urls = servers.map(({ url }) => url).join(' ');
	const settings = { ...debuginfodSettings({ DEBUGINFOD_URLS: urls }), ...more };
	const cache = new DebugFileCache(join(temporaryFolder(), 'cache'));
	const outcomes = await fetchDebugFiles(files, settings, cache, waiting);
	return { outcomes, told: waiting.told };
}

test('a server that lacks one file is asked for the next one; it is told which of how many that is', async () => {
	const [first, second] = [await serverOf(other), await serverOf(app)];
	const { outcomes, told } = await fetched([first, second]);
	assert.deepEqual(
		outcomes.map((each) => 'host' in each && [each.of, each.host, each.bytes]),
		[
			[app, second.host, app.debug.length],
			[other, first.host, other.debug.length],
		],
	);
	assert.deepEqual([first.asked.length, second.asked.length], [2, 1]);
	const begun = told.filter((line) => / \(\d of \d\)$/.test(line));
	assert.deepEqual(
		begun.map((line) => line.slice(line.indexOf(': ', 30) + 2)),
		[
			`app from ${first.host} (1 of 2)`,
			`app from ${second.host} (1 of 2)`,
			`other from ${first.host} (2 of 2)`,
		],
	);
});

test('what a server has sent in vain is no part of what the next one sends; it is asked for other files', async () => {
	const first = await serve((request, response) => {
		const isOther = request.url?.includes(other.buildId);
		response.writeHead(200).end(isOther ? other.debug : 'no ELF file');
	});
	const second = await serverOf(app);
	const { outcomes } = await fetched([first, second]);
	assert.deepEqual(
		outcomes.map((each) => 'host' in each && [each.host, each.bytes]),
		[
			[second.host, app.debug.length],
			[first.host, other.debug.length],
		],
	);
});

test('a download may take no more than half of what is free; what is interrupted before it began asks nobody', async (t) => {
	const server = await serverOf(app);
	const room = t.mock.method(PartialFile.prototype, 'room_bytes', () => app.debug.length - 1);
	const { outcomes } = await fetched([server], {}, new Waiting(), [app]);
	const [only = assert.fail()] = outcomes;
	assert.match('why' in only ? only.why : '', /has more than .* to send for it$/);
	room.mock.restore();
	const waiting = new Waiting();
	waiting.interrupt();
	const { outcomes: none } = await fetched([server], {}, waiting, [app]);
	assert.deepEqual(
		none.map((each) => 'why' in each && each.why),
		['a signal ended that'],
	);
	assert.equal(server.asked.length, 1);
});

test('how much of a file has come, of how much, is told now and then', async (t) => {
	const { now } = performance;
	t.after(() => {
		performance.now = now;
	});
	const clock = (step_ms: number) => {
		let now_ms = 0;
		performance.now = () => {
			now_ms += step_ms;
			return now_ms;
		};
	};
	const waiting = new Waiting();
	const half = app.debug.length >> 1;
	const server = await serve((_request, response) => {
		const told = waiting.told.length;
		response.writeHead(200, { 'Content-Length': `${app.debug.length}` });
		response.write(app.debug.subarray(0, half));
		const rest = setInterval(() => {
			if (waiting.told.length === told) return;
			clearInterval(rest);
			response.end(app.debug.subarray(half));
		}, 1);
	});
	clock(250);
	await fetched([server], {}, waiting, [app]);
	const all = humanBytes(app.debug.length);
	const lines = waiting.told.filter((line) => line.endsWith('B'));
	assert.ok(lines[0]?.endsWith(`(1 of 1) ${humanBytes(half)} of ${all}`), lines[0]);
	assert.ok(lines.at(-1)?.endsWith(`(1 of 1) ${all} of ${all}`), lines.at(-1));
	// Once: from the first part on the clock stands still.
	let stands_ms = 0;
	performance.now = () => stands_ms;
	const once = new Waiting();
	const ofOnce = () => once.told.filter((line) => line.endsWith('B'));
	const parts = await serve((_request, response) => {
		stands_ms = 1000;
		response.writeHead(200, { 'Content-Length': `${app.debug.length}` });
		response.write(app.debug.subarray(0, half));
		const rest = setInterval(() => {
			if (ofOnce().length === 0) return;
			clearInterval(rest);
			response.end(app.debug.subarray(half));
		}, 1);
	});
	await fetched([parts], {}, once, [app]);
	assert.equal(ofOnce().length, 1);
	clock(0);
	const { told } = await fetched([await serverOf(app, other)]);
	assert.deepEqual(
		told.filter((line) => line.endsWith('B')),
		[],
	);
});

test('a file of as many bytes as all together may have is the last one', async () => {
	const server = await serverOf(app, other);
	const both = app.debug.length + other.debug.length;
	const cameWith = async (maxTotal_bytes: number) =>
		(await fetched([server], { maxTotal_bytes })).outcomes.map((each) => 'host' in each);
	assert.deepEqual(await cameWith(both), [true, true]);
	assert.deepEqual(await cameWith(both - 1), [true, false]);
});
