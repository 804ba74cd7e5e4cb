/** PostgreSQL: a backend that sleeps, one that waits for a row that another one holds, and a sort. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { postgresServer } from '../../bench/shared/servers.js';
import { reportsOf } from '../live/reports.js';
import { sumOf, withFrame } from '../live/stacks.js';
import { Tracing } from '../live/support.js';
import { switches } from '../live/times.js';
import { PORT, Session } from './postgresql-session.js';
import { during, serverFolder, totalOf } from './support.js';

const folder = serverFolder();

let [one, other]: Session[] = [];

before(async () => {
	await postgresServer(folder, PORT);
	[one, other] = [await Session.begin(folder), await Session.begin(folder)];
	await one.ask('create table t (id int primary key, n int); insert into t values (1, 0);');
});
after(async () => {
	await one?.end();
	await other?.end();
});

test('pg_sleep: offcputime has the function, and as long as it slept', async () => {
	assert.ok(one);
	const session = one;
	const { report, seconds } = await during(['offcputime', '-p', session.pid], () =>
		session.ask('select pg_sleep(0.5);'),
	);
	const blocked_s = sumOf(withFrame(report.stacks, 'pg_sleep'), 'blocked') / 1e9;
	// Its clock and the kernel's are not read at the same moment.
	assert.ok(blocked_s >= 0.49 && blocked_s <= seconds, `${blocked_s} s of ${seconds} s`);
});

test('a row that another transaction holds: the wait is where it waits for a transaction', async () => {
	assert.ok(one && other);
	const [holder, waiter] = [one, other];
	await holder.ask('begin; update t set n = 1 where id = 1;');
	const { report, done } = await during(['offcputime', '-p', waiter.pid], async () => {
		const updated = waiter.ask('update t set n = 2 where id = 1;');
		const waits = `select wait_event_type = 'Lock' from pg_stat_activity where pid = ${waiter.pid};`;
		let began = 0;
		while (began === 0) if ((await holder.ask(waits)) === 't') began = performance.now();
		await holder.ask('select pg_sleep(0.3);');
		const waited_s = (performance.now() - began) / 1000;
		await holder.ask('commit;');
		await updated;
		return waited_s;
	});
	const blocked_s = sumOf(withFrame(report.stacks, 'XactLockTableWait'), 'blocked') / 1e9;
	assert.ok(blocked_s >= done, `${blocked_s} s of ${done} s`);
	assert.equal(await holder.ask('select n from t;'), '2');
});

test('offwaketime --hops: who waits for a row waits for the session that holds it, idle in its transaction', async () => {
	assert.ok(one);
	const holder = one;
	// A new one: an alarm that an earlier wait has set would interrupt this one (timeout.c lets it come).
	const waiter = await Session.begin(folder);
	const clock = await Session.begin(folder);
	await holder.ask('begin; update t set n = 3 where id = 1;');
	const args = ['offwaketime', '--hops', '4', '-p', waiter.pid];
	const { report, done } = await during(args, async () => {
		const updated = waiter.ask('update t set n = 4 where id = 1;');
		const waits = `select wait_event_type = 'Lock' from pg_stat_activity where pid = ${waiter.pid};`;
		while ((await clock.ask(waits)) !== 't');
		// Nobody asks the holder for anything meanwhile.
		const began = performance.now();
		await clock.ask('select pg_sleep(0.5);');
		const idle_s = (performance.now() - began) / 1000;
		await holder.ask('commit;');
		await updated;
		return idle_s;
	});
	await clock.end();
	await waiter.end();
	const locked = withFrame(report.stacks, 'XactLockTableWait');
	const byHolder = locked.filter(({ wait }) => wait?.waker?.pid === Number(holder.pid));
	// It waits for its client to say something.
	const idle = byHolder.filter(
		({ wait: { waker } = {} }) =>
			waker?.did === 'blocked' &&
			waker.frames?.some((name) => /^(secure_read|pq_recvbuf)$/.test(name)),
	);
	const idle_s = sumOf(idle) / 1e9;
	assert.ok(idle_s >= 0.97 * done, `${idle_s} s of ${done} s`);
	assert.ok(sumOf(idle) >= 0.9 * sumOf(locked), `${sumOf(idle)} of ${sumOf(locked)}`);
	// The client is psql, which waits for us.
	for (const { wait } of idle)
		assert.equal(wait?.waker?.wait?.waker?.comm, 'psql', JSON.stringify(wait));
});

test('a query that computes: profile has it in nearly all samples', async () => {
	assert.ok(one);
	const session = one;
	const query = 'select sum(sqrt(i)) from generate_series(1, 2000000) i;';
	const { report } = await during(['profile', '-p', session.pid], () => session.ask(query));
	const [all, executing] = [sumOf(report.stacks), sumOf(withFrame(report.stacks, 'PortalRun'))];
	assert.ok(all > 0 && executing >= 0.8 * all, `${executing} of ${all} samples`);
});

test('50 short sleeps: syscount has as many waits, and schedlat as many switches as the kernel', async () => {
	assert.ok(one);
	const session = one;
	const naps = () => session.ask(Array(50).fill('select pg_sleep(0.001);').join(' '));
	const calls = await during(['syscount', '--latency', '-p', session.pid], naps);
	const [waits] = calls.report.rows.filter(({ syscall }) => syscall === 'epoll_wait');
	assert.ok(Number(waits?.calls) >= 50, `${waits?.calls}`);
	assert.ok(Number(waits?.total_ns) >= 50 * 1e6, `${waits?.total_ns}`);
	const tracing = await Tracing.start(['schedlat', '--json', '-p', session.pid]);
	const before = switches(Number(session.pid));
	await naps();
	const after = switches(Number(session.pid));
	const [{ rows = [] } = {}] = reportsOf((await tracing.end('SIGINT')).stdout);
	const counted = totalOf(rows, 'switches');
	assert.ok(counted >= after - before && counted >= 50, `${counted} of ${after - before}`);
});
