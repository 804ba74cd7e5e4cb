/** why, of PostgreSQL: a row lock of a session that is idle in its transaction, and a disk that each commit waits for. */
import { after, before, test } from 'node:test';
import { postgresServer } from '../../bench/shared/servers.js';
import { PORT, Session } from './postgresql-session.js';
import { around, assertWhy, bySize, preferred, runs, serverFolder } from './support.js';

const folder = serverFolder();
let [waiter, holder, clock]: Session[] = [];

before(async () => {
	await postgresServer(folder, PORT);
	const sessions = [
		await Session.begin(folder),
		await Session.begin(folder),
		await Session.begin(folder),
	];
	[waiter, holder, clock] = sessions;
	for (const { pid } of sessions) preferred(pid);
	await holder?.ask('create table t (id int primary key, n int); insert into t values (1, 0);');
});
after(async () => {
	for (const session of [waiter, holder, clock]) await session?.end();
});

test('a row lock: who waits for it, and the session that holds it, idle in its transaction', async () => {
	const [one, two, three] = [waiter, holder, clock] as [Session, Session, Session];
	await assertWhy(
		() => ({
			pid: Number(one.pid),
			work: async () => {
				await two.ask('begin; update t set n = 1 where id = 1;');
				const began = performance.now();
				const updated = one.ask('update t set n = 2 where id = 1;');
				await three.ask('select pg_sleep(2.5);');
				await two.ask('commit;');
				await updated;
				return (performance.now() - began) * 1e6;
			},
		}),
		({ done: all_ns, run_ns, delay_ns }) => [
			{
				place: 'waiting',
				kinds: ['lock'],
				share: around((all_ns - run_ns - delay_ns) / all_ns),
				function: 'XactLockTableWait',
				culprit: { comm: 'postgres', pid: Number(two.pid), function: 'secure_read' },
			},
		],
	);
});

test('a row lock that nobody gives back: it is named all the same', async () => {
	const [one, two, three] = [waiter, holder, clock] as [Session, Session, Session];
	await two.ask('begin; update t set n = 1 where id = 1;');
	const updated = one.ask('update t set n = 2 where id = 1;');
	await assertWhy(
		() => ({ pid: Number(one.pid), work: () => three.ask('select pg_sleep(2);') }),
		() => [
			{
				place: 'waiting',
				kinds: ['lock'],
				share: [0.99, 1],
				function: 'XactLockTableWait',
			},
		],
	);
	await two.ask('commit;');
	await updated;
});

test('many small commits: each waits until the disk has written the log', async () => {
	const [one] = [waiter] as [Session];
	await assertWhy(
		() => ({
			pid: Number(one.pid),
			work: async () => {
				const began = performance.now();
				await one.ask(
					'do $$ begin for i in 1..2000 loop update t set n = i where id = 1; commit; end loop; end $$;',
				);
				return (performance.now() - began) * 1e6;
			},
		}),
		// A disk that is fast takes no longer than what it is asked by.
		({ done: all_ns, run_ns, delay_ns }) =>
			bySize(runs(around(run_ns / all_ns)), {
				place: 'waiting',
				kinds: ['disk_write'],
				object: /pg_wal\/[0-9A-F]{24}$/,
				share: around((all_ns - run_ns - delay_ns) / all_ns),
				function: 'XLogFlush',
			}),
	);
});
