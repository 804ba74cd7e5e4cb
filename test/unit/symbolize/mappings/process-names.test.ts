/** What is known of a process besides what it has mapped: its name and user at a time; /proc says what the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { MmapRecord } from '../../../../src/perf/records.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';
import { fakeProc, NOBODY, statText } from '../../proc/fake-proc.js';

/** A process that runs for this user, under this name; undefined: it has ended. */
function runsAs(user: number | undefined, comm = 'asked') {
	if (user === undefined) return {};
	const folder = `/proc/${NOBODY}`;
	const files = {
		[`${folder}/status`]: `Name:\t${comm}\nUid:\t0\t${user}\t0\t0\n`,
		[`${folder}/stat`]: statText({}),
		[`${folder}/comm`]: `${comm}\n`,
		[`${folder}/maps`]: '1000-2000 r-xp 00000000 00:00 0 \n',
	};
	return { files, links: { [`${folder}/ns/mnt`]: 'mnt:[1]' } };
}

const of = { pid: NOBODY, tid: NOBODY };
const named = (time_ns: number, comm: string, exec = false) =>
	({ ...of, type: 'comm', time_ns, comm, exec }) as const;
const forked = (time_ns: number) =>
	({ ...of, type: 'fork', time_ns, parentPid: NOBODY + 1 }) as const;

function mapped(time_ns: number, path: string): MmapRecord {
	const where = { start: 0x1000, end: 0x2000, fileOffset: 0, major: 0, minor: 0 };
	return { ...of, type: 'mmap', time_ns, ...where, inode: path.startsWith('//') ? 0 : 7, path };
}

function world(t: TestContext, user: number | undefined) {
	const history = new ProcessHistory();
	const say = fakeProc(t, runsAs(user));
	t.after(() => history.close());
	return { history, say: (next: number | undefined, comm?: string) => say(runsAs(next, comm)) };
}

const now_ns = () => Number(process.hrtime.bigint());

test('the name that a process had then: the latest, in whatever order they are told', (t) => {
	const { history } = world(t, undefined);
	for (const record of [named(30, 'third'), named(10, 'first'), named(20, 'second')])
		history.add(record);
	assert.deepEqual(
		[5, 10, 19, 20, 25, 99].map((time_ns) => history.comm(NOBODY, time_ns)),
		[undefined, 'first', 'first', 'second', 'second', 'third'],
	);
	history.add({ ...named(40, 'of a thread'), tid: NOBODY + 1 });
	assert.equal(history.comm(NOBODY, 50), 'third');
});

test('a process that has the number of another one does not have its name', (t) => {
	const { history, say } = world(t, undefined);
	history.add(named(10, 'before', true));
	history.add({ ...of, type: 'exit', time_ns: 20 });
	history.add(forked(30));
	assert.equal(history.comm(NOBODY, 15), 'before');
	assert.equal(history.comm(NOBODY, 40), undefined);
	say(7, 'child');
	assert.equal(history.comm(NOBODY, 40), 'child');
	history.add(named(50, 'after', true));
	assert.equal(history.comm(NOBODY, 50), 'after');
});

test('whose a process is stays known when it has ended, and is asked anew when it runs another program', (t) => {
	const { history, say } = world(t, 7);
	history.snapshot(NOBODY);
	assert.equal(history.comm(NOBODY, now_ns()), 'asked');
	say(undefined);
	assert.equal(history.facts(NOBODY, now_ns())?.uid, 7);
	const executed_ns = now_ns();
	history.add(named(executed_ns, 'next', true));
	assert.equal(history.facts(NOBODY, now_ns()), undefined);
	say(8);
	assert.equal(history.facts(NOBODY, now_ns())?.uid, 8);
	assert.equal(history.facts(NOBODY, executed_ns - 1)?.uid, 7);
	say(9);
	assert.equal(history.facts(NOBODY, now_ns())?.uid, 8, 'it is known');
});

test('whose a process is that makes code is asked as soon as it does, once; of others when somebody wants it', (t) => {
	const { history, say } = world(t, 7);
	history.add(named(now_ns(), 'vm', true));
	history.add(mapped(now_ns(), '//anon'));
	say(8);
	history.add(mapped(now_ns(), '//anon'));
	assert.equal(history.facts(NOBODY, now_ns())?.uid, 7);
	history.add(named(now_ns(), 'app', true));
	history.add(mapped(now_ns(), '/no-such-file'));
	say(undefined);
	assert.equal(history.facts(NOBODY, now_ns()), undefined);
	say(9);
	assert.equal(history.facts(NOBODY, now_ns())?.uid, 9);
});

test('names out of records are one line of bounded length', (t) => {
	const { history } = world(t, undefined);
	history.add(named(10, 'a\nb'));
	history.add(mapped(10, `//${'x\n'.repeat(5000)}`));
	assert.equal(history.comm(NOBODY, 20), 'a b');
	const path = history.at(NOBODY, 20)?.find(0x1800)?.path ?? assert.fail();
	assert.ok(path.length <= 4096 && !path.includes('\n'));
});

test('of a process that maps without end half is kept, the latest; what is left out is counted', (t) => {
	const { history } = world(t, undefined);
	const most = 16_384;
	for (let i = 0; i < most; i++)
		history.add({ ...mapped(i, '//anon'), start: i * 0x1000, end: (i + 1) * 0x1000 });
	assert.equal(history.dropped, 0);
	history.add({ ...mapped(most, '//anon'), start: most * 0x1000, end: (most + 1) * 0x1000 });
	assert.equal(history.dropped, most / 2);
	const found = [0, most / 2 - 1, most / 2, most].map(
		(i) => history.at(NOBODY, most)?.find(i * 0x1000) !== undefined,
	);
	assert.deepEqual(found, [false, false, true, true]);
});
