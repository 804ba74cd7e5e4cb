/** Symbols that this machine lacks, from Debian's debuginfod, and from servers that keep one waiting. */
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { debuginfod, secured, strippedWorkloads, temporaryFolder } from './debuginfod.js';
import { type StackReport, stackReport, withFrame } from './stacks.js';
import { runToEnd, Tracing, Workload } from './support.js';

const folder = temporaryFolder();
const { programs, packages } = strippedWorkloads(folder, ['waits', 'burns', 'leaks']);
const programOf = (name: string) => programs.get(name) ?? assert.fail(name);
const url = await debuginfod(packages, programOf('waits').buildId);
const SOMEBODY = 12_345;
/** Without BPF: tstrace reads samples one by one. */
const ORDINARY = ['setpriv', '--bounding-set=-all'];

interface Case {
	readonly name: string;
	readonly args: readonly string[];
	/** A workload, with arguments. */
	readonly program: readonly [name: string, ...args: string[]];
	/** It works until tracing has ended. */
	readonly endless?: boolean;
	/** Of the workload, and in none but its symbols. */
	readonly frame: string;
	/** Programs by which both are started. */
	readonly by?: readonly string[];
}

const CASES: readonly Case[] = [
	{
		name: 'offcputime',
		args: ['offcputime', '--exact'],
		program: ['waits', '5', '1000'],
		frame: 'wait_in_nanosleep',
	},
	{
		name: 'profile',
		args: ['profile'],
		program: ['burns', 'user'],
		endless: true,
		frame: 'burn_more',
	},
	{
		name: 'profile without BPF',
		args: ['profile'],
		program: ['burns', 'user'],
		endless: true,
		frame: 'burn_more',
		by: ORDINARY,
	},
	{ name: 'memleak', args: ['memleak'], program: ['leaks', 'many', '100'], frame: 'leak_many' },
	{
		name: 'memleak --growth',
		args: ['memleak', '--growth'],
		program: ['leaks', 'many', '100000'],
		frame: 'leak_many',
	},
];

type Environment = Readonly<Record<string, string>>;

/** Starts tracing, has the workload work, and ends tracing by a signal. */
async function begin(
	{ args, program: [name, ...words], endless, by }: Case,
	env: Environment,
	more: readonly string[] = [],
): Promise<{ tracing: Tracing; workload: Workload }> {
	const [file = '', ...rest] = [...(by ?? []), programOf(name).path, ...words];
	const workload = await Workload.startBy(file, ...rest);
	const all = [...args, ...more, '-p', `${workload.pid}`, '--json', ...(endless ? ['1'] : [])];
	const tracing = await Tracing.start(all, env, by);
	if (endless) workload.begin();
	else {
		await workload.work();
		tracing.signal('SIGINT');
	}
	return { tracing, workload };
}

async function run(of: Case, env: Environment, more: readonly string[] = []) {
	const { tracing, workload } = await begin(of, env, more);
	const finished = await tracing.end();
	await workload.end();
	return { report: stackReport(finished), stderr: finished.stderr };
}

const offcputime = CASES[0] as Case;
const lacks = ({ stacks }: StackReport, { program: [name], frame }: Case) => {
	assert.equal(withFrame(stacks, frame).length, 0);
	assert.ok(withFrame(stacks, new RegExp(`^${name}\\+0x`)).length > 0);
};
const namesIn = (cache: string) => readdirSync(cache, { recursive: true, encoding: 'utf8' }).sort();

for (const each of CASES) {
	test(`${each.name}: symbols are fetched once, into the cache of gdb and perf`, async () => {
		const cache = join(temporaryFolder(), 'cache');
		const env = { DEBUGINFOD_URLS: url, DEBUGINFOD_CACHE_PATH: cache };
		const program = each.program[0];
		const { buildId } = programOf(program);

		const without = await run(each, { DEBUGINFOD_CACHE_PATH: cache });
		lacks(without.report, each);
		assert.match(without.report.notices.join('\n'), /, or set DEBUGINFOD_URLS\./);
		const off = await run(each, env, ['--no-debuginfod']);
		lacks(off.report, each);
		assert.equal(existsSync(cache), false, 'nothing was asked');

		const first = await run(each, env);
		assert.ok(withFrame(first.report.stacks, each.frame).length > 0, first.stderr);
		const fetched = new RegExp(`fetched the symbols of .*${program}.* from 127\\.0\\.0\\.1:`);
		assert.match(first.report.notices.join('\n'), fetched);
		assert.match(first.stderr, new RegExp(`fetching symbols .*: ${program} from 127\\.0\\.0\\.1:`));
		assert.ok(namesIn(cache).includes(`${buildId}/debuginfo`));

		const later = await run(each, { DEBUGINFOD_CACHE_PATH: cache });
		assert.ok(withFrame(later.report.stacks, each.frame).length > 0);
		assert.doesNotMatch(later.report.notices.join('\n'), new RegExp(`symbols of .*${program}`));
	});
}

test("elfutils' own client finds what tstrace fetched, and tstrace what that did", async () => {
	const { buildId } = programOf('waits');
	const cache = join(temporaryFolder(), 'cache');
	const dead = 'http://127.0.0.1:1';
	const find = (urls: string, id: string) =>
		runToEnd('debuginfod-find', ['debuginfo', id], {
			DEBUGINFOD_URLS: urls,
			DEBUGINFOD_CACHE_PATH: cache,
		});
	await run(offcputime, { DEBUGINFOD_URLS: url, DEBUGINFOD_CACHE_PATH: cache });
	const found = find(dead, buildId);
	assert.equal(found.stdout.trim(), join(cache, buildId, 'debuginfo'), found.stderr);

	const burns = CASES[1] as Case;
	assert.equal(find(url, programOf('burns').buildId).status, 0);
	const { report, stderr } = await run(burns, {
		DEBUGINFOD_URLS: dead,
		DEBUGINFOD_CACHE_PATH: cache,
	});
	assert.ok(withFrame(report.stacks, burns.frame).length > 0);
	assert.doesNotMatch(stderr, /symbols of .*burns/);
});

test('by https, from a server whose certificate is trusted, and from no other', async () => {
	const cache = join(temporaryFolder(), 'cache');
	const server = await secured(url);
	const env = { DEBUGINFOD_URLS: server.url, DEBUGINFOD_CACHE_PATH: cache };
	const refused = await run(offcputime, env);
	lacks(refused.report, offcputime);
	assert.match(
		refused.report.notices.join('\n'),
		/could not fetch the symbols of waits: 127\.0\.0\.1:\d+ shows a certificate that is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
	);
	assert.deepEqual(namesIn(cache), [], 'no miss');
	const trusted = await run(offcputime, { ...env, NODE_EXTRA_CA_CERTS: server.certificate });
	assert.ok(withFrame(trusted.report.stacks, offcputime.frame).length > 0, trusted.stderr);
	assert.match(
		trusted.report.notices.join('\n'),
		/fetched the symbols of .*waits.* from 127\.0\.0\.1:/,
	);
});

test('memleak: names come with the last result only', async () => {
	const env = { DEBUGINFOD_URLS: url, DEBUGINFOD_CACHE_PATH: join(temporaryFolder(), 'cache') };
	const workload = await Workload.startBy(programOf('leaks').path, 'many', '100');
	const args = ['memleak', '-p', `${workload.pid}`, '--json', '0.5', '3'];
	const tracing = await Tracing.start(args, env);
	await workload.work();
	const { stdout } = await tracing.end();
	await workload.end();
	const reports: StackReport[] = stdout
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line));
	assert.deepEqual(
		reports.map(({ stacks }) => withFrame(stacks, 'leak_many').length > 0),
		[false, false, true],
	);
});

/** Begins to send, and never ends. */
async function stalling(): Promise<string> {
	const server = createServer((_request, response) => {
		response.writeHead(200, { 'Content-Length': '1000000' });
		response.write(Buffer.alloc(200_000));
	});
	await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
	after(() => {
		server.close();
		server.closeAllConnections();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const [what, of] of [
	['the second signal', offcputime],
	['the first signal, after the duration,', CASES[1] as Case],
] as const) {
	test(`${what} ends the fetch: the result is what there is`, async () => {
		const cache = join(temporaryFolder(), 'cache');
		const env = { DEBUGINFOD_URLS: await stalling(), DEBUGINFOD_CACHE_PATH: cache };
		const { tracing, workload } = await begin(of, env);
		await tracing.says(/fetching symbols/);
		assert.equal(tracing.stdout, '');
		const finished = await tracing.end('SIGINT');
		await workload.end();
		const report = stackReport(finished);
		lacks(report, of);
		assert.match(
			report.notices.join('\n'),
			/could not fetch the symbols of .*: a signal ended that/,
		);
		assert.deepEqual(namesIn(cache), [], 'no miss, nothing half');
	});
}

test('tstrace is killed meanwhile: what is left is neither a file nor a miss', async () => {
	const cache = join(temporaryFolder(), 'cache');
	const env = { DEBUGINFOD_URLS: await stalling(), DEBUGINFOD_CACHE_PATH: cache };
	const { tracing, workload } = await begin(offcputime, env);
	await tracing.says(/fetching symbols/);
	await tracing.end('SIGKILL');
	await workload.end();
	const { buildId } = programOf('waits');
	assert.match(namesIn(cache).join(), new RegExp(`^${buildId},${buildId}/debuginfo\\.\\w{10}$`));
});

test('limits: too large, too slow', async () => {
	const cache = join(temporaryFolder(), 'cache');
	const env = { DEBUGINFOD_URLS: url, DEBUGINFOD_CACHE_PATH: cache };
	const large = await run(offcputime, { ...env, DEBUGINFOD_MAXSIZE: '1000' });
	assert.match(
		large.report.notices.join('\n'),
		/could not fetch .*: 127\.0\.0\.1:\d+ has .*(large|1,000 B)/,
	);
	const stalled = { ...env, DEBUGINFOD_URLS: await stalling() };
	const slow = await run(offcputime, { ...stalled, DEBUGINFOD_TIMEOUT: '1' });
	assert.match(slow.report.notices.join('\n'), /sends less than .* in 1 s/);
	const late = await run(offcputime, { ...stalled, DEBUGINFOD_MAXTIME: '1' });
	assert.match(late.report.notices.join('\n'), /more than 1 s \(DEBUGINFOD_MAXTIME\)/);
	for (const { report } of [large, slow, late]) lacks(report, offcputime);
	assert.deepEqual(namesIn(cache), []);
});

test('another user: neither written to nor read from, nor by a link', async () => {
	const theirs = join(temporaryFolder(), 'theirs');
	mkdirSync(theirs);
	chownSync(theirs, SOMEBODY, SOMEBODY);
	const refused = await run(offcputime, { DEBUGINFOD_URLS: url, DEBUGINFOD_CACHE_PATH: theirs });
	lacks(refused.report, offcputime);
	assert.match(
		refused.report.notices.join('\n'),
		new RegExp(`could not fetch .*: ${theirs} belongs to user ${SOMEBODY}\\.`),
	);
	assert.deepEqual(namesIn(theirs), []);

	const ours = join(temporaryFolder(), 'ours');
	mkdirSync(ours);
	await run(offcputime, { DEBUGINFOD_URLS: url, DEBUGINFOD_CACHE_PATH: ours });
	assert.ok(namesIn(ours).length > 0);
	const link = join(temporaryFolder(), 'link');
	symlinkSync(ours, link);
	const linked = await run(offcputime, { DEBUGINFOD_CACHE_PATH: link });
	assert.ok(withFrame(linked.report.stacks, offcputime.frame).length > 0);
	runToEnd('chown', ['-h', `${SOMEBODY}`, link]);
	lacks((await run(offcputime, { DEBUGINFOD_CACHE_PATH: link })).report, offcputime);
	chownSync(join(ours, programOf('waits').buildId), SOMEBODY, SOMEBODY);
	lacks((await run(offcputime, { DEBUGINFOD_CACHE_PATH: ours })).report, offcputime);
});

test("sudo -E: root's own home, not the user's", async () => {
	const home = temporaryFolder();
	chownSync(home, SOMEBODY, SOMEBODY);
	mkdirSync(join(home, '.cache'));
	chownSync(join(home, '.cache'), SOMEBODY, SOMEBODY);
	const [root = ''] =
		/^root:.*?:0:0:.*?:(.*?):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.slice(1) ?? [];
	const buildId = programOf('waits').buildId;
	const place = join(root, '.cache/debuginfod_client', buildId);
	assert.equal(existsSync(place), false);
	try {
		const env = { DEBUGINFOD_URLS: url, HOME: home, XDG_CACHE_HOME: join(home, '.cache') };
		const { report } = await run(offcputime, env);
		assert.ok(withFrame(report.stacks, offcputime.frame).length > 0);
		assert.ok(existsSync(join(place, 'debuginfo')));
		assert.deepEqual(namesIn(home), ['.cache']);
	} finally {
		runToEnd('rm', ['-rf', place]);
	}
});
