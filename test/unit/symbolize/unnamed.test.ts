/** What has no name: of which files and processes there are notices, and with which shares. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RuntimeFile } from '../../../src/runtimes/recognise.js';
import { Place } from '../../../src/symbolize/code-place.js';
import type { AddressSpace } from '../../../src/symbolize/mappings/address-space.js';
import { MappedFile } from '../../../src/symbolize/mappings/mapped-file.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import type { FileNames } from '../../../src/symbolize/symbols/object-file.js';
import { Account, filesLackingNames } from '../../../src/symbolize/unnamed.js';
import { stackOf, temporaryFolder } from './support.js';

/** Numbers that no process has. */
const PID = 5_000_000;

const fileOf = (path: string) => new MappedFile(path, 1, 0, 0);
const namesOf = (complete: boolean, buildId?: string): FileNames => {
	return { names: [], known: [], buildId, complete };
};

function placeOf(lacks: Place['lacks'], file?: MappedFile, name = '[anon]'): Place {
	const place = new Place({ name, kind: 'user' }, file);
	place.lacks = lacks;
	return place;
}

/** A stack of so much, whose user frames are these. */
function add(account: Account, value: number, places: readonly Place[], pid = PID): void {
	account.add(stackOf([], { pid, parts: [value], at_ns: 10 }), places);
}

/** Processes of these programs. */
function historyOf(programs: Readonly<Record<number, string>>): ProcessHistory {
	const history = new ProcessHistory();
	for (const [pid, path] of Object.entries(programs)) {
		const of = { pid: Number(pid), tid: Number(pid), time_ns: 1 };
		history.add({ ...of, type: 'comm', comm: `p${pid}`, exec: true });
		const where = { start: 0x1000, end: 0x2000, fileOffset: 0, major: 0, minor: 0, inode: 0 };
		history.add({ ...of, type: 'mmap', ...where, path });
	}
	return history;
}

const kindsOf = (account: Account) => account.notices().map(({ kind }) => kind);

test('files that lack names, the largest share first, three at most, and none of hardly anything', () => {
	const account = new Account(new ProcessHistory(), 'unset');
	const files = ['a', 'b', 'c', 'd', 'e'].map((name) => fileOf(`/none/${name}`));
	for (const [i, file] of files.entries()) {
		account.addFile(file, i === 1 ? undefined : namesOf(false, `id${i}`));
		add(account, [3, 50, 20, 25, 2][i] ?? 0, [placeOf('symbols', file), placeOf('symbols', file)]);
	}
	assert.deepEqual(
		account.notices().map(
			(notice) =>
				notice.kind === 'symbols-missing' && {
					path: notice.path,
					reason: notice.reason,
					buildId: notice.buildId,
					share: notice.share,
					debuginfod: notice.debuginfod,
				},
		),
		[
			{
				path: '/none/b',
				reason: 'unreadable',
				buildId: undefined,
				share: 0.5,
				debuginfod: 'unset',
			},
			{ path: '/none/d', reason: 'stripped', buildId: 'id3', share: 0.25, debuginfod: 'unset' },
			{ path: '/none/c', reason: 'stripped', buildId: 'id2', share: 0.2, debuginfod: 'unset' },
		],
	);
	const [a = assert.fail(), b = assert.fail()] = files;
	assert.deepEqual([account.lackingBuildId(a), account.lackingBuildId(b)], ['id0', undefined]);
	assert.deepEqual([account.has(a), account.has(fileOf('/other'))], [true, false]);
});

test('each file gets the command of its own package, and one that cannot be read gets none', () => {
	const root = temporaryFolder();
	mkdirSync(join(root, 'etc'));
	writeFileSync(join(root, 'etc/os-release'), 'ID=debian\n');
	mkdirSync(join(root, 'var/lib/dpkg/info'), { recursive: true });
	for (const name of ['a', 'b', 'c'])
		writeFileSync(join(root, `var/lib/dpkg/info/p${name}.list`), `/.\n/usr/bin/${name}\n`);
	const account = new Account(new ProcessHistory(), 'unset');
	for (const [name, value] of [
		['a', 3],
		['b', 2],
		['c', 1],
	] as const) {
		const file = fileOf(`/usr/bin/${name}`);
		file.roots = () => [root, ''];
		account.addFile(file, name === 'a' ? undefined : namesOf(false));
		add(account, value, [placeOf('symbols', file)]);
	}
	const installs = account.notices().map((notice) => 'install' in notice && notice.install);
	assert.deepEqual(installs, [
		undefined,
		'apt-get install pb-dbgsym (or pb-dbg)',
		'apt-get install pc-dbgsym (or pc-dbg)',
	]);
});

test('a file with all its symbols lacks none; what was counted stays when its names come later', () => {
	const account = new Account(new ProcessHistory(), 'on');
	const file = fileOf('/none/lib.so');
	account.addFile(file, namesOf(true, 'id'));
	add(account, 5, [placeOf('symbols', file)]);
	assert.deepEqual(account.notices(), []);
	assert.equal(account.lackingBuildId(file), undefined);
	account.addFile(file, namesOf(false, 'id'));
	add(account, 5, [placeOf(undefined, file)]);
	const shares = () => account.notices().map((notice) => 'share' in notice && notice.share);
	assert.deepEqual(shares(), [0.5]);
	add(account, 10, [placeOf('symbols', file)]);
	assert.deepEqual(shares(), [0.75]);
	// Of a file that nobody told of there is nothing to say.
	const other = new Account(new ProcessHistory(), 'on');
	add(other, 5, [placeOf('symbols', file)]);
	assert.deepEqual(other.notices(), []);
});

test('which files lack names: those of places that lack symbols, each once', () => {
	const [one, two] = [fileOf('/one'), fileOf('/two')];
	const places = [
		placeOf('symbols', one),
		placeOf('symbols', one),
		placeOf('symbols'),
		placeOf('mapping', two),
		placeOf('perf-map', two),
		placeOf(undefined, two),
	];
	assert.deepEqual([...filesLackingNames(places)], [one]);
});

test('processes that compile at run time, and have no perf map', () => {
	const programs = {
		1: '/usr/bin/node',
		2: '/lib/libjvm.so',
		3: '/usr/bin/python3.12',
		4: '/bin/vm',
	};
	const account = new Account(historyOf(programs), 'on');
	add(account, 10, [placeOf('perf-map')], 1);
	add(account, 20, [placeOf('perf-map')], 2);
	add(account, 30, [placeOf(undefined, undefined, '_PyEval_EvalFrameDefault')], 3);
	add(account, 25, [placeOf('perf-map')], 4);
	add(account, 15, [placeOf(undefined)], 1);
	assert.deepEqual(account.notices(), [
		{ kind: 'perf-map-missing', runtime: 'python', pid: 3, comm: 'p3', share: 0.3 },
		{ kind: 'perf-map-missing', runtime: 'jvm', pid: 2, comm: 'p2', share: 0.2 },
		{ kind: 'perf-map-missing', runtime: 'node', pid: 1, comm: 'p1', share: 0.1 },
	]);
});

test('perf maps that are there: what is not in them is said, and what was not read', () => {
	const history = historyOf({ 1: '/usr/bin/node', 2: '/lib/libjvm.so', 4: '/bin/vm' });
	const account = new Account(history, 'on');
	for (const pid of [1, 2]) {
		const { life } = history.at(pid, 10) ?? assert.fail();
		account.addPerfMap(life, pid === 2);
	}
	add(account, 60, [placeOf('perf-map-line'), placeOf('perf-map-line')], 1);
	add(account, 10, [placeOf('perf-map')], 1);
	add(account, 30, [placeOf('perf-map-line')], 4);
	assert.deepEqual(account.notices(), [
		{ kind: 'perf-map-incomplete', runtime: 'node', pid: 1, comm: 'p1', share: 0.6 },
		{ kind: 'perf-map-incomplete', runtime: undefined, pid: 4, comm: 'p4', share: 0.3 },
		{ kind: 'perf-map-cut', pid: 2, comm: 'p2' },
	]);
});

test('a stack that lacks both a map and a line of it counts for both', () => {
	const account = new Account(historyOf({ 1: '/usr/bin/python3.12' }), 'on');
	const both = [
		placeOf('perf-map-line'),
		placeOf(undefined, undefined, '_PyEval_EvalFrameDefault'),
	];
	add(account, 10, both, 1);
	add(account, 30, [placeOf(undefined)], 1);
	const shares = account
		.notices()
		.map((notice) => [notice.kind, 'share' in notice && notice.share]);
	assert.deepEqual(shares, [
		['perf-map-missing', 0.25],
		['perf-map-incomplete', 0.25],
	]);
});

test('of processes five get a notice, and none of whom nothing is known', () => {
	const programs = Object.fromEntries(
		Array.from({ length: 7 }, (_, i) => [i + 1, '/usr/bin/node']),
	);
	const account = new Account(historyOf(programs), 'on');
	for (let pid = 1; pid <= 7; pid++) add(account, 10 * pid, [placeOf('perf-map')], pid);
	add(account, 1000, [placeOf('perf-map')], 99);
	const notices = account.notices();
	assert.deepEqual(
		notices.map((notice) => 'pid' in notice && notice.pid),
		[7, 6, 5, 4, 3],
	);
});

test('hardly anything is not worth a notice; that time ran out is said first', () => {
	const history = historyOf({ 1: '/usr/bin/node' });
	const account = new Account(history, 'on');
	const file = fileOf('/none/lib.so');
	account.addFile(file, namesOf(false));
	add(account, 0.9, [placeOf('symbols', file), placeOf('perf-map')], 1);
	add(account, 99.1, [placeOf(undefined)], 1);
	assert.deepEqual(account.notices(), []);
	add(account, 20, [placeOf('symbols', file), placeOf('perf-map')], 1);
	account.ranOutOfTime = true;
	assert.deepEqual(kindsOf(account), ['out-of-time', 'perf-map-missing', 'symbols-missing']);
	assert.deepEqual(kindsOf(new Account(history, 'on')), []);
});

test('of ever new files and processes those with the largest shares are kept, and a bounded number', () => {
	const history = historyOf({ [PID]: '/usr/bin/node' });
	const account = new Account(history, 'unset');
	const large = fileOf('/none/large');
	account.addFile(large, namesOf(false, 'large'));
	add(account, 1e6, [placeOf('symbols', large)]);
	const files = Array.from({ length: 40_000 }, (_, i) => fileOf(`/none/${i}`));
	for (const file of files) {
		account.addFile(file, namesOf(false, 'small'));
		add(account, 1, [placeOf('symbols', file)]);
	}
	const kept = files.filter((file) => account.has(file));
	assert.ok(kept.length > 5000 && kept.length < 20_000, `${kept.length}`);
	assert.ok(account.has(files.at(-1) as MappedFile), 'the latest');
	assert.equal(account.lackingBuildId(large), 'large');
	const [notice] = account.notices();
	assert.ok(notice?.kind === 'symbols-missing' && notice.path === '/none/large');
	assert.ok(
		Math.abs(notice.share - 1e6 / (1e6 + 40_000)) < 1e-9,
		'a share of all, not of what is kept',
	);
});

/** The runtime whose functions walks take, or would, in the processes that have one. */
const runtimesOf = (files: Readonly<Record<number, Partial<RuntimeFile>>>) => ({
	runtimeOf: ({ life }: AddressSpace) => files[life.pid] as RuntimeFile | undefined,
});

test('functions that could not be read are told by their language, the largest share first', () => {
	const history = historyOf({ 1: '/usr/bin/node', 2: '/usr/bin/python3.11', 3: '/usr/bin/node' });
	const layout = {} as never;
	const account = new Account(
		history,
		'on',
		runtimesOf({ 1: { runtime: 'v8', layout }, 2: { runtime: 'python', layout } }),
	);
	const addUnread = (pid: number, value: number, isUnread: boolean) =>
		account.add(stackOf([], { pid, parts: [value], at_ns: 10 }), [], isUnread);
	addUnread(1, 15, true);
	addUnread(2, 30, true);
	addUnread(1, 5, true);
	addUnread(1, 49, false);
	addUnread(3, 1, true);
	// What has no name where functions are read is no function.
	add(account, 0, [placeOf('perf-map')], 1);
	assert.deepEqual(account.notices(), [
		{ kind: 'functions-unread', language: 'Python', pid: 2, comm: 'p2', share: 0.3 },
		{ kind: 'functions-unread', language: 'JavaScript', pid: 1, comm: 'p1', share: 0.2 },
		{ kind: 'functions-unread', language: 'JavaScript', pid: 3, comm: 'p3', share: 0.01 },
	]);
});

test('why the functions of a runtime have no names: its file says so, or it wrote no perf map', () => {
	const node = '/usr/bin/node';
	const account = new Account(
		historyOf({ 1: node, 2: node, 3: node, 4: node, 5: node }),
		'on',
		runtimesOf({
			1: { runtime: 'v8', version: '9.9', problem: 'version', layout: undefined },
			2: { runtime: 'v8', version: '9.8', problem: undefined, layout: undefined },
			3: { runtime: 'v8', version: '9.7', problem: 'unwanted', layout: undefined },
			4: { runtime: 'v8', version: '9.6', problem: undefined, layout: {} as never },
		}),
	);
	for (const pid of [1, 2, 3, 4, 5]) add(account, 10 * pid, [placeOf('perf-map')], pid);
	const missing = { kind: 'perf-map-missing', runtime: 'node' };
	assert.deepEqual(account.notices(), [
		{ ...missing, pid: 5, comm: 'p5', share: 50 / 150 },
		{ ...missing, pid: 2, comm: 'p2', share: 20 / 150 },
		{
			...{ kind: 'runtime-unknown', runtime: 'v8', version: '9.9', problem: 'version' },
			...{ pid: 1, comm: 'p1', share: 10 / 150 },
		},
	]);
});

test('a perf map is of one program: the next one that the process runs has its own, or none', () => {
	const history = historyOf({ 1: '/usr/bin/node' });
	history.add({ type: 'comm', pid: 1, tid: 1, time_ns: 50, comm: 'next', exec: true });
	const where = { start: 0x1000, end: 0x2000, fileOffset: 0, major: 0, minor: 0, inode: 0 };
	const of = { type: 'mmap', pid: 1, tid: 1, time_ns: 51 } as const;
	history.add({ ...of, ...where, path: '/usr/bin/java' });
	const account = new Account(history, 'on');
	account.addPerfMap((history.at(1, 10) ?? assert.fail()).life, false);
	add(account, 30, [placeOf('perf-map')], 1);
	account.add(stackOf([], { pid: 1, parts: [10], at_ns: 60 }), [placeOf('perf-map')]);
	assert.deepEqual(account.notices(), [
		{ kind: 'perf-map-missing', runtime: 'jvm', pid: 1, comm: 'next', share: 0.25 },
	]);
});

test('records that were dropped are told, from the first one on', () => {
	const dropping = (dropped: number) => ({ dropped }) as unknown as ProcessHistory;
	assert.deepEqual(new Account(dropping(0), 'on').notices(), []);
	assert.deepEqual(new Account(dropping(1), 'on').notices(), [
		{ kind: 'records-dropped', count: 1 },
	]);
});
