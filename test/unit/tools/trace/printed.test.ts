/** What trace prints of calls, as lines, as a table and for programs: from the ring to the last field. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { trace as layout } from '../../../../src/generated/trace.js';
import { possibleCpus } from '../../../../src/loader/map.js';
import { trace } from '../../../../src/tools/trace/trace.js';
import { ringFile } from '../../loader/ring-file.js';
import { structs } from '../structs.js';
import { callNumber as nr } from './lines.js';
import { type Given, recordBytes } from './records.js';

type Raw = Readonly<Record<string, unknown>>;
const { CAPTURED_PARENT, CAPTURED_RESULT } = layout.enums.capture_limit;
const {
	RECORD_BEGAN_BEFORE: BEFORE,
	RECORD_UNFINISHED: UNFINISHED,
	RECORD_LAST_THREAD: LAST,
} = layout.enums.call_record_flag;
const {
	RECORD_EXIT: EXIT,
	RECORD_SIGNAL: SIGNAL,
	RECORD_FILE: FILE,
} = layout.enums.call_record_type;

interface Written {
	readonly records: readonly Given[];
	/** Calls that have not returned as tracing ends. */
	readonly open?: readonly Given[];
	/** On each CPU: lost behind its last record. */
	readonly lost?: number;
}

function readerOf(t: TestContext, raw: Raw, { records, open = [], lost = 0 }: Written) {
	const { settings } = askedOf(trace, { raw, interval_s: 1, count: undefined, command: [] });
	const ring = ringFile(records.map((given) => ({ bytes: recordBytes(given) })));
	t.after(() => ring.close());
	const still = Buffer.concat(open.map(recordBytes));
	const plans = { maxEntries: 1, update: () => undefined };
	const losses = new DataView(new BigUint64Array(possibleCpus()).fill(BigInt(lost)).buffer);
	const object = {
		map: (name: string) => {
			if (name === 'call_plans') return plans;
			return name === 'records_lost' ? { lookupPerCpu: () => losses } : ring.map;
		},
		runIterator: () => new DataView(still.buffer, still.byteOffset, still.byteLength),
	};
	const none = { filter: {} } as never;
	const reader = trace.reader(object as never, settings, none, () => undefined, undefined);
	t.after(() => reader.close?.());
	return { reader, view: trace.text(settings) };
}

const PATIENCE = { tell: () => undefined, during: async () => undefined } as never;

/** Lines without the time of day, and the table below them. */
async function printed(t: TestContext, raw: Raw, written: Written) {
	const { reader, view } = readerOf(t, raw, written);
	let text = '';
	reader.stream?.(
		async (bytes) => {
			text += Buffer.from(bytes as Uint8Array).toString('latin1');
		},
		(error) => {
			throw error;
		},
	);
	const { totals } = await reader.read(PATIENCE);
	const lines = text.split('\n').slice(0, -1);
	return {
		lines: lines.map((line) => line.replace(/^\d\d:\d\d:\d\d\.\d{6} /, '')),
		table: totals && view.totals?.(totals, { colour: false, width: 120 }),
	};
}

/** For programs, without the time of day. */
async function rows(t: TestContext, written: Written, raw: Raw = {}) {
	const { reader } = readerOf(t, raw, written);
	const found = await reader.read(PATIENCE);
	return (found.rows as readonly Record<string, unknown>[]).map(({ time, ...row }) => {
		assert.match(`${time}`, /^\d{4}-\d\d-\d\dT.*Z$/);
		return row;
	});
}

const NOW = 9_000_000_000;
const THREAD = { tgid: 812, tid: 813, comm: 'worker' };
const OPEN: Given = {
	...{ ...THREAD, nr: nr('chdir'), args: [0x5000], captures: [{ argument: 0, text: '/srv' }] },
	...{ result: 0, end_ns: NOW, duration_ns: 2_500 },
};
const WHO = { pid: 812, tid: 813, comm: 'worker' };

test('a call: when it began, who made it, what of, what came of it, and how long it took', async (t) => {
	const [call, failed, ...none] = await rows(t, {
		records: [OPEN, { ...OPEN, result: -2, lost: 7, end_ns: NOW + 10 }],
	});
	assert.deepEqual(none, []);
	const same = { event: 'call', ...WHO, syscall: 'chdir', args: '"/srv"', duration_ns: 2_500 };
	assert.deepEqual(call, { ...same, time_ns: NOW - 2_500, result: 0 });
	assert.deepEqual(failed, {
		...{ ...same, time_ns: NOW + 10 - 2_500, result: -1, error: 'ENOENT', lost_before: 7 },
	});
});

test('results are exact: as numbers where these are, else as text; of 32 bits only those', async (t) => {
	const result = async (given: Given) =>
		(await rows(t, { records: [{ ...OPEN, captures: [], ...given }] }))[0]?.result;
	assert.equal(
		await result({ nr: nr('lseek'), args: [1, 0, 0], result: 2n ** 53n - 1n }),
		2 ** 53 - 1,
	);
	assert.equal(await result({ nr: nr('lseek'), args: [1, 0, 0], result: 2n ** 53n }), `${2 ** 53}`);
	assert.equal(await result({ nr: nr('lseek'), args: [1, 0, 0], result: -5000n }), -5000);
	if (process.arch !== 'x64') return;
	// mmap2 of 32-bit programs: the upper half of the register says nothing.
	const mmap2 = { nr: 192, abi: 1, args: [0, 1, 2, 3, 4, 5] };
	assert.equal(await result({ ...mmap2, result: 0xffff_fff0_8000_1000n }), 0x8000_1000);
});

test('a call whose result has 32 bits has failed where these are an error, in each form', async (t) => {
	if (process.arch !== 'x64') return t.skip('modify_ldt is of x86');
	const EINVAL = 0xffff_ffean;
	const modify = { ...OPEN, nr: nr('modify_ldt'), args: [1, 0, 16], captures: [], result: EINVAL };
	const { lines, table } = await printed(t, { totals: true }, { records: [modify] });
	assert.match(lines[0] ?? '', / = -1 EINVAL <0\.000002500>$/);
	assert.match(table ?? '', /^1 call, 1 failed, /m);
	const [row] = await rows(t, { records: [modify] });
	assert.deepEqual([row?.result, row?.error], [-1, 'EINVAL']);
});

test('what began before tracing has no duration, and what has not returned no result', async (t) => {
	const [before, open, both] = await rows(t, {
		records: [{ ...OPEN, flags: BEFORE }],
		open: [
			{ ...OPEN, flags: UNFINISHED, duration_ns: 70 },
			{ ...OPEN, flags: UNFINISHED | BEFORE, comm: 'longer' },
		],
	});
	assert.deepEqual(
		[before?.duration_ns, before?.unfinished, before?.result],
		[undefined, undefined, 0],
	);
	assert.deepEqual([open?.duration_ns, open?.unfinished, open?.result], [70, 1, undefined]);
	assert.deepEqual([both?.comm, both?.unfinished, both?.duration_ns], ['longer', 1, undefined]);
});

test('ends of threads and signals: each with what it says, and who was its parent', async (t) => {
	const parent = Buffer.alloc(20);
	parent.writeUInt32LE(700, 0);
	parent.write('shell', 4);
	const captures = [{ argument: CAPTURED_PARENT, text: parent }];
	const signal = { ...THREAD, type: SIGNAL, end_ns: NOW };
	const [end, killed, sent, fault] = await rows(t, {
		records: [
			{ ...THREAD, type: EXIT, result: 0x300, duration_ns: 5_000, end_ns: NOW, captures },
			{ ...THREAD, type: EXIT, result: 0x8b, duration_ns: 6_000, end_ns: NOW },
			{ ...signal, result: 15, args: [0, 4711] },
			{ ...signal, result: 11, args: [1, 0xdead_0000n] },
		],
	});
	const at = { ...WHO, time_ns: NOW };
	assert.deepEqual(end, {
		...{ event: 'exit', ...at, end: 'exited with 3', lifetime_ns: 5_000 },
		...{ parent_pid: 700, parent_comm: 'shell' },
	});
	assert.deepEqual(killed, {
		...{ event: 'exit', ...at, end: 'killed by SIGSEGV (core dumped)', lifetime_ns: 6_000 },
	});
	assert.deepEqual(sent, {
		...{ event: 'signal', ...at, signal: 'SIGTERM', code: 'SI_USER', sender_pid: 4711 },
	});
	assert.deepEqual(fault, { event: 'signal', ...at, signal: 'SIGSEGV', code: '1' });
});

test('why a signal was sent, by the number of the kernel', async (t) => {
	const codes: Readonly<Record<number, string>> = {
		...{ [-1]: 'SI_QUEUE', [-2]: 'SI_TIMER', [-3]: 'SI_MESGQ', [-4]: 'SI_ASYNCIO' },
		...{ [-6]: 'SI_TKILL', 128: 'SI_KERNEL' },
	};
	const child = ['', 'EXITED', 'KILLED', 'DUMPED', 'TRAPPED', 'STOPPED', 'CONTINUED'];
	const records = [
		...Object.keys(codes).map((code) => ({ type: SIGNAL, result: 10, args: [Number(code), 5] })),
		...[1, 2, 3, 4, 5, 6].map((code) => ({ type: SIGNAL, result: 17, args: [code, 5] })),
		// Nobody knows who sent it.
		{ type: SIGNAL, result: 9, args: [0, 0] },
	];
	const found = await rows(t, { records });
	assert.deepEqual(
		found.map(({ code }) => code),
		[...Object.values(codes), ...child.slice(1).map((word) => `CLD_${word}`), undefined],
	);
	const { lines } = await printed(t, {}, { records: records.slice(-2) });
	assert.deepEqual(lines, [
		'worker[812] --- SIGCHLD {si_code=CLD_CONTINUED, si_pid=5} ---',
		'worker[812] --- SIGKILL ---',
	]);
});

const { object_type: TYPE, object_flag: FLAG } = layout.enums;
const ADDRESS = (last: number) => Uint8Array.of(10, 0, 0, last, ...Array(12).fill(0));
const SOCKET = {
	...{ type: TYPE.OBJECT_INET, family: 2, protocol: 6, local: ADDRESS(1), local_port: 80 },
	...{ remote: ADDRESS(2), remote_port: 443 },
};
/** Leaf first, with a 0 behind each. */
const path = (text: string) => ({ text, text_bytes: Buffer.byteLength(text) });

test('a file that a call has opened is told beside its number, in rows and in lines', async (t) => {
	const number = 0x10_2345_6789_abcd;
	const id = Buffer.alloc(8);
	// Of the upper bits programs tell more than a number holds.
	id.writeBigUInt64LE(BigInt(number) + 2n ** 60n);
	const { OBJECT_DELETED: DELETED, OBJECT_WITHOUT_ROOT: NO_ROOT } = FLAG;
	for (const [object, told, written = told] of [
		[{ type: TYPE.OBJECT_PIPE, flags: NO_ROOT, inode: 77 }, 'pipe:[77]'],
		[{ type: TYPE.OBJECT_FILE, ...path('b\0srv\0') }, '/srv/b'],
		[{ type: TYPE.OBJECT_FILE, flags: DELETED, ...path('b\0srv\0') }, '/srv/b (deleted)'],
		[{ type: TYPE.OBJECT_FILE, ...path('\x7f~\0') }, '/\x7f~', '/\\177~'],
		[SOCKET, 'tcp:10.0.0.1:80->10.0.0.2:443'],
		[{ ...SOCKET, remote_port: 0 }, 'tcp:10.0.0.1:80'],
	] as const) {
		const body = new Uint8Array(structs(layout.structs.wait_object, [object]).buffer);
		const records = [
			{ type: FILE, duration_ns: number, body },
			{ ...OPEN, captures: [{ argument: CAPTURED_RESULT, text: id }], result: 3 },
		];
		const [call, ...none] = await rows(t, { records });
		assert.deepEqual(none, []);
		assert.deepEqual([call?.result, call?.result_file], [3, told]);
		const { lines } = await printed(t, {}, { records });
		assert.deepEqual(lines, [`worker[813/812] chdir(0x5000) = 3<${written}> <0.000002500>`]);
	}
});

test('lines: what is missing, what ended, what has not returned, and what was lost behind the last', async (t) => {
	const { lines } = await printed(
		t,
		{},
		{
			records: [
				OPEN,
				{ ...OPEN, lost: 1 },
				{ ...OPEN, lost: 2_000 },
				{ ...OPEN, flags: BEFORE },
				{ ...THREAD, type: EXIT, result: 0, duration_ns: 1.5e9, end_ns: NOW },
				{ ...THREAD, type: EXIT, flags: LAST, result: 9, duration_ns: 2e9, end_ns: NOW },
			],
			open: [
				{ ...OPEN, flags: UNFINISHED, duration_ns: 70 },
				{ ...OPEN, flags: UNFINISHED | BEFORE, duration_ns: 0 },
				{ ...OPEN, flags: UNFINISHED, duration_ns: 0 },
			],
			lost: 3,
		},
	);
	const who = 'worker[813/812]';
	const call = `${who} chdir("/srv")`;
	assert.deepEqual(lines, [
		`${call} = 0 <0.000002500>`,
		'--- 1 call is missing here: tstrace did not read it in time',
		`${call} = 0 <0.000002500>`,
		'--- 2000 calls are missing here: tstrace did not read them in time',
		`${call} = 0 <0.000002500>`,
		`${call} = 0 <began before tracing>`,
		`${who} +++ thread exited with 0 after 1.50 s +++`,
		`${who} +++ killed by SIGKILL after 2.00 s +++`,
		`${call} <unfinished ...>`,
		`${call} <unfinished ...>`,
		`${call} = ?`,
		`--- ${3 * possibleCpus()} calls are missing here: tstrace did not read them in time`,
	]);
	const { lines: none } = await printed(t, {}, { records: [OPEN] });
	assert.equal(none.length, 1);
});

test('a list of strings ends with its record, whatever the next one begins with', async (t) => {
	const list = {
		...{ ...THREAD, nr: nr('execve'), args: [0x1000, 0x2000, 0x3000], flags: UNFINISHED },
		captures: ['a', 'b'].map((text) => ({ argument: 1, text })),
	};
	// Its first byte is the number of that argument.
	const next = { ...OPEN, flags: UNFINISHED, end_ns: 0x1_0000_0001 };
	const { lines } = await printed(t, {}, { records: [], open: [list, next] });
	assert.equal(lines[0], 'worker[813/812] execve(0x1000, ["a", "b"], 0x3000) <unfinished ...>');
});

test('when a line is of: a call began then; a thread ended, or got its signal, then', async (t) => {
	const { reader } = readerOf(
		t,
		{},
		{
			records: [
				{ ...OPEN, end_ns: NOW, duration_ns: 3_000_000_000 },
				{ ...THREAD, type: EXIT, end_ns: NOW, duration_ns: 3_000_000_000 },
			],
		},
	);
	let text = '';
	reader.stream?.(
		async (bytes) => {
			text += Buffer.from(bytes as Uint8Array).toString('latin1');
		},
		() => undefined,
	);
	await reader.read(PATIENCE);
	const seconds = text
		.split('\n')
		.slice(0, 2)
		.map((line) => line.slice(0, 15).split(':').map(Number))
		.map(([h = 0, m = 0, s = 0]) => h * 3600 + m * 60 + s);
	const [call = 0, end = 0] = seconds;
	assert.ok(Math.abs(((end - call + 86_400) % 86_400) - 3) < 1e-3, text);
});

test('the table: all calls, how many failed, and times of those whose time is known', async (t) => {
	const chdir = { ...OPEN, duration_ns: 4_000 };
	const { lines, table } = await printed(
		t,
		{ totalsOnly: true },
		{
			records: [
				{ ...chdir, duration_ns: 20_000 },
				chdir,
				{ ...chdir, result: -2, duration_ns: 6_000 },
				{ ...chdir, flags: BEFORE, duration_ns: 900_000 },
				{ ...OPEN, nr: nr('close'), args: [3], captures: [], duration_ns: 1_000 },
				{ ...THREAD, type: EXIT, duration_ns: 1e9 },
			],
			lost: 5,
		},
	);
	assert.deepEqual(lines, []);
	assert.deepEqual(
		table
			?.split('\n')
			.filter((line) => line !== '')
			.map((line) => line.split(/ {2,}/)),
		[
			['SYSCALL', 'CALLS', 'ERRORS', 'TOTAL', 'MEAN', 'MAX'],
			['chdir', '4', '1', '30.0 us', '10.0 us', '20.0 us'],
			['close', '1', '0', '1.00 us', '1.00 us', '1.00 us'],
			['5 calls, 1 failed, 31.0 us in all'],
		],
	);
	const both = await printed(t, { totals: true }, { records: [chdir] });
	assert.equal(both.lines.length, 1);
	assert.match(both.table ?? '', /^1 call, 0 failed, 4\.00 us in all$/m);
	assert.equal((await printed(t, {}, { records: [chdir] })).table, undefined);
});

test('options: what programs are told of them', () => {
	const told = (raw: Raw) => {
		let constants: Raw = {};
		const bytes: Record<string, DataView> = {};
		const room: Record<string, number> = {};
		const { settings } = askedOf(trace, { raw, interval_s: 1, count: undefined, command: [] });
		const object = {
			setConstants: (more: Raw) => {
				constants = { ...constants, ...more };
			},
			constantBytes: (name: string) => {
				bytes[name] ??= new DataView(new ArrayBuffer(8192));
				return bytes[name];
			},
			map: (name: string) => ({
				setMaxEntries: (entries: number) => {
					room[name] = entries;
				},
			}),
		};
		const subjects = { filter: { pids: [], tids: [] } } as never;
		const plan = trace.plan(object as never, settings, subjects, () => undefined);
		const wanted = bytes.wanted_calls as DataView;
		const isWanted = (name: string) => {
			const index = nr(name);
			return (wanted.getUint8(Math.floor(index / 8)) & (1 << (index % 8))) !== 0;
		};
		const min_ns = bytes.min_duration_ns?.getBigUint64(0, true);
		return { ...constants, min_ns, room, isWanted, plan } as Raw & {
			room: typeof room;
			isWanted: typeof isWanted;
			plan: typeof plan;
		};
	};
	const usual = told({});
	const of = (each: Raw) => [
		...[each.only_failed, each.only_successful, each.by_descriptor, each.only_descriptor],
		...[each.with_ends, each.filter_calls, each.min_ns],
	];
	assert.deepEqual(of(usual), [false, false, false, 0, true, false, 0n]);
	assert.equal(usual.filter_but_tgid, process.pid);
	assert.ok(usual.plan.attach.includes('trace_signal'));
	assert.deepEqual(of(told({ unsuccessful: true })).slice(0, 5), [true, false, false, 0, false]);
	assert.deepEqual(of(told({ successful: true })).slice(0, 5), [false, true, false, 0, false]);
	const slow = told({ minDuration: 250 });
	assert.deepEqual([slow.min_ns, slow.with_ends], [250_000n, false]);
	assert.ok(!slow.plan.attach.includes('trace_signal'));
	// The first descriptor is one, too.
	const first = told({ fd: 0 });
	assert.deepEqual(of(first).slice(2, 6), [true, 0, false, true]);
	assert.deepEqual(['read', 'getpid', 'chdir'].map(first.isWanted), [true, false, false]);
	const paths = told({ path: ['/etc/*'] });
	assert.deepEqual(['read', 'getpid', 'chdir'].map(paths.isWanted), [false, false, true]);
	assert.equal(paths.by_path, true);
	const some = told({ calls: [nr('read'), nr('getpid')], fd: 3 });
	assert.deepEqual(['read', 'write', 'getpid'].map(some.isWanted), [true, false, false]);
	assert.equal(some.with_ends, false);
	assert.equal(told({ calls: [nr('exit_group')] }).with_ends, true);
	assert.equal(told({ totalsOnly: true }).with_ends, false);
	assert.equal(told({ calls: [nr('read')] }).with_ends, false);
	assert.deepEqual(told({ buffer: 1 << 16 }).room.records, 1 << 16);
	const described = told({ descriptors: true });
	assert.ok((described.room.files_told ?? 0) > 1);
	assert.equal(usual.room.files_told, undefined);
});

test('only a table is wanted: of no call anything is taken', () => {
	const captures = (raw: Raw) => {
		const { settings } = askedOf(trace, { raw, interval_s: 1, count: undefined, command: [] });
		return settings.planner.plan({ nr: nr('chdir'), abi: 'native' }).captures.length;
	};
	assert.ok(captures({}) > 0);
	assert.equal(captures({ totalsOnly: true }), 0);
});

test('options that are given several times add up; the largest descriptor is one', () => {
	const { path: glob, fd, calls } = trace.options();
	type Parse = (text: string, before: unknown) => unknown;
	assert.deepEqual((glob.parseArg as Parse)('/b*', ['/a*']), ['/a*', '/b*']);
	assert.equal((fd.parseArg as Parse)('2147483647', undefined), 2 ** 31 - 1);
	assert.throws(() => (fd.parseArg as Parse)('2147483648', undefined), { message: /descriptor/ });
	const one = (text: string) => (calls.parseArg as Parse)(text, undefined);
	assert.deepEqual(one('t=read'), one('read'));
	assert.deepEqual(one('trace=read'), one('read'));
});
