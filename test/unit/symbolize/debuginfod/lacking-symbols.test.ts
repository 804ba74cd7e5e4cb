/** Names that are fetched once it is known that they lack: when, of which files, and what is said. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CapturedStack } from '../../../../src/aggregate/stack.js';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf, SEGMENT_TYPE } from '../../../../src/elf/elf.js';
import { Place } from '../../../../src/symbolize/code-place.js';
import { DebugFileCache } from '../../../../src/symbolize/debuginfod/cache.js';
import { Debuginfod, filesByLack } from '../../../../src/symbolize/debuginfod/lacking-symbols.js';
import { MappedFile } from '../../../../src/symbolize/mappings/mapped-file.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';
import { noticeText } from '../../../../src/symbolize/notices.js';
import { Symbolizer } from '../../../../src/symbolize/symbolizer.js';
import { functionsOf, stackOf, temporaryFolder } from '../support.js';
import { filesIn, type SplitProgram, serve, splitProgram, Waiting } from './support.js';

const PID = 5_000_000;
const folder = temporaryFolder();
const app = splitProgram(folder, 'app');
const library = splitProgram(folder, 'library', 5);
const PROGRAMS = [app, library];
const BASE = 0x10_0000_0000;
const SIZE = 0x1000_0000;

/** A process that has them mapped as they lie in the file. */
function history(): ProcessHistory {
	const processes = new ProcessHistory();
	for (const [i, { path }] of PROGRAMS.entries()) {
		const { dev, ino } = statSync(path);
		processes.add({
			type: 'mmap',
			pid: PID,
			tid: PID,
			// Once its file was as it is.
			time_ns: Number(process.hrtime.bigint()),
			start: BASE + i * SIZE,
			end: BASE + (i + 1) * SIZE,
			fileOffset: 0,
			major: (dev >>> 8) & 0xfff,
			minor: (dev & 0xff) | ((dev >>> 12) & 0xfff00),
			inode: ino,
			path,
		});
	}
	return processes;
}

/** A stack of one frame in work1 of that program, of that value. */
function inWork(program: SplitProgram, value: number): CapturedStack {
	const { address } =
		functionsOf(program.debugPath).find(({ name }) => name === 'work1') ?? assert.fail();
	const start = BASE + PROGRAMS.indexOf(program) * SIZE;
	const at_ns = Number(process.hrtime.bigint()) + 1e9;
	return stackOf([start + offsetOf(program, address)], { pid: PID, at_ns, parts: [value] });
}

/** The place in the file of what is linked for this address. */
function offsetOf({ path }: SplitProgram, address: number): number {
	const { segments } = new Elf(new MemoryBytes(readFileSync(path)));
	const segment = segments.find(
		(each) =>
			each.type === SEGMENT_TYPE.load &&
			address >= each.address &&
			address < each.address + each.size_bytes,
	);
	if (!segment) assert.fail('in no segment');
	return address - segment.address + segment.offset;
}

async function named(stacks: readonly CapturedStack[], debuginfod: Debuginfod) {
	const processes = history();
	const symbolizer = new Symbolizer(processes, debuginfod);
	const found = await symbolizer.resolve(stacks);
	processes.close();
	return {
		names: found.map(({ user }) => user[0]?.name ?? ''),
		notices: symbolizer.notices().map(noticeText),
	};
}

async function goodServer() {
	return serve((request, response) => {
		const found = PROGRAMS.find(({ buildId }) => request.url?.includes(buildId));
		response.writeHead(found ? 200 : 404).end(found?.debug);
	});
}

test('symbols that are installed where the process sees them need not be fetched', async (t) => {
	const root = temporaryFolder();
	const place = join(root, 'usr/lib/debug/.build-id', app.buildId.slice(0, 2));
	mkdirSync(place, { recursive: true });
	writeFileSync(join(place, `${app.buildId.slice(2)}.debug`), app.debug);
	t.mock.method(MappedFile.prototype, 'roots', () => [root, '']);
	const server = await goodServer();
	const env = { DEBUGINFOD_URLS: server.url, DEBUGINFOD_CACHE_PATH: temporaryFolder() };
	const { names } = await named([inWork(app, 10)], new Debuginfod(true, new Waiting(), env));
	assert.deepEqual([names, server.asked], [['work1'], []]);
});

test('files that lack names are fetched, the greatest share first, and named', async () => {
	const server = await goodServer();
	const waiting = new Waiting();
	const env = { DEBUGINFOD_URLS: server.url, DEBUGINFOD_CACHE_PATH: temporaryFolder() };
	const stacks = [inWork(app, 10), inWork(library, 80)];
	const { names, notices } = await named(stacks, new Debuginfod(true, waiting, env));
	assert.deepEqual(names, ['work1', 'work1']);
	assert.deepEqual(server.asked, [
		`/buildid/${library.buildId}/debuginfo`,
		`/buildid/${app.buildId}/debuginfo`,
	]);
	assert.equal(notices.length, 1, notices.join('\n'));
	assert.match(notices[0] ?? '', /^tstrace fetched the symbols of library, app \(.* B\) from 127/);

	// From now on they are there: nobody is asked, without the variable and with it.
	const later = new Waiting();
	for (const urls of ['', server.url]) {
		const again = new Debuginfod(true, later, { ...env, DEBUGINFOD_URLS: urls });
		assert.deepEqual((await named(stacks, again)).names, ['work1', 'work1']);
	}
	assert.equal(server.asked.length, 2);
	assert.equal(later.begun, 0, 'the result does not wait');
	const off = new Debuginfod(false, later, env);
	assert.match((await named(stacks, off)).names.join(' '), /^app\+0x\w+ library\+0x\w+$/);
});

test('nobody is asked: without the variable, with --no-debuginfod, while tracing goes on', async () => {
	const server = await goodServer();
	const cache = temporaryFolder();
	const env = { DEBUGINFOD_URLS: server.url, DEBUGINFOD_CACHE_PATH: cache };
	const waiting = new Waiting();
	const without = new Debuginfod(true, waiting, { DEBUGINFOD_CACHE_PATH: cache });
	const off = new Debuginfod(false, waiting, env);
	const early = new Debuginfod(true, undefined, env);
	const advice: string[] = [];
	for (const debuginfod of [without, off, early]) {
		const { names, notices } = await named([inWork(app, 1)], debuginfod);
		assert.match(names[0] ?? '', /^app\+0x/);
		advice.push(notices.join('\n'));
	}
	// To leave out the option alone would not help.
	assert.equal(new Debuginfod(false, waiting, {}).use, 'unset');
	assert.deepEqual(server.asked, []);
	assert.equal(waiting.begun, 0);
	assert.deepEqual(filesIn(cache), []);
	assert.match(advice[0] ?? '', /, or set DEBUGINFOD_URLS\.$/);
	assert.match(advice[1] ?? '', /, or leave out --no-debuginfod\.$/);
	assert.match(advice[2] ?? '', /To get them: install its debug symbols\.$/);
});

test('a file that lacks names in hardly anything is not waited for', async () => {
	const server = await goodServer();
	const env = { DEBUGINFOD_URLS: server.url, DEBUGINFOD_CACHE_PATH: temporaryFolder() };
	const stacks = [inWork(app, 1), inWork(library, 1000)];
	const { names } = await named(stacks, new Debuginfod(true, new Waiting(), env));
	assert.match(names.join(' '), /^app\+0x\w+ work1$/);
	assert.deepEqual(server.asked, [`/buildid/${library.buildId}/debuginfo`]);
});

test('what could not be had is said once for each reason, and how to get it otherwise', async () => {
	const server = await serve((_request, response) => response.writeHead(404).end());
	const env = {
		DEBUGINFOD_URLS: `ftp://x.example.org ${server.url}`,
		DEBUGINFOD_CACHE_PATH: join(temporaryFolder(), 'x'),
	};
	const stacks = [inWork(app, 10), inWork(library, 80)];
	const { names, notices } = await named(stacks, new Debuginfod(true, new Waiting(), env));
	assert.match(names.join(' '), /^app\+0x\w+ library\+0x\w+$/);
	assert.match(notices[0] ?? '', /DEBUGINFOD_URLS: ftp:\/\/x\.example\.org: not an http/);
	assert.equal(
		notices[1],
		'tstrace could not fetch the symbols of library, app: no server has it.',
	);
	assert.match(
		notices[2] ?? '',
		/library has functions .* To get them: install its debug symbols\.$/,
	);
	assert.equal(notices.length, 4);
});

/** What is fetched of these, from a server that has the programs' files. */
async function fetchMany(lacking: readonly (readonly [MappedFile, string])[], urls?: string) {
	const server = await serve((request, response) => {
		const found = PROGRAMS.find(({ buildId }) => request.url?.includes(buildId));
		response.writeHead(found ? 200 : 404).end(found?.debug);
	});
	const env = {
		DEBUGINFOD_URLS: urls ?? server.url,
		DEBUGINFOD_CACHE_PATH: join(temporaryFolder(), 'cache'),
	};
	const waiting = new Waiting();
	const debuginfod = new Debuginfod(true, waiting, env);
	const fetched = await debuginfod.fetch(lacking);
	return { fetched, asked: server.asked, begun: waiting.begun, notices: debuginfod.notices() };
}

const fileAt = (path: string) => new MappedFile(path, 1, 0, 0);

test('a file that is mapped from several places is fetched once, for all of them, and told by the first', async () => {
	const files = ['/a/app', '/b/app', '/none', '/library'].map(fileAt);
	const ids = [app.buildId, app.buildId, 'abcd', library.buildId];
	const lacking = files.map((file, i) => [file, ids[i] ?? ''] as const);
	const { fetched, asked, notices } = await fetchMany(lacking);
	assert.deepEqual(
		fetched.map(({ path }) => path),
		['/a/app', '/b/app', '/library'],
	);
	assert.equal(asked.length, 3);
	const [came, missing] = notices;
	assert.ok(came?.kind === 'symbols-fetched' && missing?.kind === 'symbols-not-fetched');
	assert.deepEqual(came.paths, ['/a/app', '/library']);
	assert.equal(came.bytes, app.debug.length + library.debug.length);
	assert.equal(came.hosts.length, 1, 'each server once');
	assert.deepEqual(missing.paths, ['/none']);
});

test('nobody waits for more than 32 files, nor where no server can be asked', async (t) => {
	// Nobody is asked for them, which takes a while.
	t.mock.method(DebugFileCache.prototype, 'isMiss', () => true);
	const lacking = Array.from({ length: 40 }, (_, i) => {
		return [fileAt(`/lib/${i}`), (0xa000 + i).toString(16)] as const;
	});
	const [missing] = (await fetchMany(lacking)).notices;
	assert.ok(missing?.kind === 'symbols-not-fetched');
	assert.deepEqual([missing.paths.length, missing.paths[31]], [32, '/lib/31']);
	const { begun, notices } = await fetchMany(lacking, 'ftp://x.example.org');
	assert.equal(begun, 0);
	assert.deepEqual(
		notices.map(({ kind }) => kind),
		['server-unusable'],
	);
});

test('files by what they lack in all stacks together; what lacks nothing, and hardly anything, is left out', () => {
	const [a, b, c, d] = ['/a', '/b', '/c', '/d'].map(fileAt) as [
		MappedFile,
		MappedFile,
		MappedFile,
		MappedFile,
	];
	const lacking = (file: MappedFile) => {
		const place = new Place({ name: 'x', kind: 'user' }, file);
		place.lacks = 'symbols';
		return place;
	};
	const stacks = [40, 30, 25, 1, 0].map((value) => stackOf([], { parts: [value] }));
	const places = [[a], [b, c], [b], [c, c], [d]].map((files) => files.map(lacking));
	assert.deepEqual(filesByLack(stacks, places), [b, a, c]);
	assert.deepEqual(filesByLack([stackOf([], { parts: [0] })], [[lacking(a)]]), []);
});
