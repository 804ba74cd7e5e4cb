/** uWSGI, which loads CPython as a plugin, with an application whose functions wait and compute. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { Command } from '../../bench/shared/children.js';
import { begin, childOf, until, written } from '../../bench/shared/servers.js';
import { runToEnd, TSTRACE } from '../live/support.js';
import { askAll, assertComputes, assertWaits, WORK } from './python-session.js';
import { assertWhy, OFF, serverFolder } from './support.js';

const folder = serverFolder();
const THREADS = 4;

/** At "/interpreter" it says which one it is in. */
const APPLICATION = `${WORK}
import _xxsubinterpreters
def page(path):
    return str(int(_xxsubinterpreters.get_current())) if path == '/interpreter' else answer(path)
def application(environ, start_response):
    body = page(environ['PATH_INFO']).encode()
    start_response('200 OK', [('Content-Length', str(len(body)))])
    return [body]
`;
const SHOP = written(folder, 'shop.py', APPLICATION);
const BANK = written(folder, 'bank.py', APPLICATION);

/** The process that answers, at a socket of this name, once it does. */
async function worker(socket: string, path: string, ...applications: Command): Promise<number> {
	const server = begin(
		[
			...[
				'uwsgi',
				'--plugin',
				'python3',
				'--master',
				'--processes',
				'1',
				'--threads',
				`${THREADS}`,
			],
			...['--http-socket', socket, '--need-app', '--disable-logging', ...applications],
		],
		folder,
	);
	const pid = await childOf(server, /uwsgi/);
	await until(['curl', '-sf', '--unix-socket', socket, `http://uwsgi${path}/wait`], folder);
	return pid;
}

const at = (socket: string, path: string) => ({ socketPath: join(folder, socket), path });
const ONE = at('one', '');
let pid = 0;
before(async () => {
	pid = await worker('one', '', '--wsgi-file', SHOP);
});

const callers = ['page', 'application'];

test('uWSGI: functions that wait, by name, and for how long', () =>
	assertWaits({ pid, options: ONE, callers }));

test('uWSGI: functions that compute, by name, and for how long', () =>
	assertComputes({ pid, options: ONE, callers }));

test('uWSGI: why names the function that all requests wait in', async () => {
	const work = async () => {
		const began = performance.now();
		const waited_ns = await askAll({ ...ONE, path: '/wait' }, 300, 4 * THREADS);
		return { waited_ns, there_ns: THREADS * (performance.now() - began) * 1e6 };
	};
	await assertWhy(
		() => ({ pid, work }),
		({ done: { waited_ns, there_ns }, run_ns, delay_ns }) => [
			{
				place: 'waiting',
				kinds: ['sleep'],
				// Threads without a request wait for each other, or for one.
				share: [waited_ns / there_ns - OFF, waited_ns / (waited_ns + run_ns + delay_ns) + OFF],
				function: 'wait_for_partner (shop.py:3)',
			},
		],
	);
});

test('uWSGI: doctor says that its functions have names', () => {
	const { stdout } = runToEnd(TSTRACE, ['doctor', '--json', '-p', `${pid}`]);
	const { checks } = JSON.parse(stdout);
	const found = checks.find(({ name }: { name: string }) => name === 'Python');
	assert.match(found?.found ?? '', /^CPython 3\.11\.\d+: its functions have names$/);
});

test('uWSGI: two applications, each in an interpreter of its own', async () => {
	const mounts = ['--manage-script-name', '--mount', `/shop=${SHOP}`, '--mount', `/bank=${BANK}`];
	const both = await worker('two', '/bank', ...mounts);
	const interpreters = new Set<number>();
	for (const path of ['/shop', '/bank']) {
		const options = at('two', path);
		interpreters.add(await askAll({ ...options, path: `${path}/interpreter` }, 1, 1));
		await assertWaits({ pid: both, options, callers });
		await assertComputes({ pid: both, options, callers });
	}
	assert.equal(interpreters.size, 2);
});
