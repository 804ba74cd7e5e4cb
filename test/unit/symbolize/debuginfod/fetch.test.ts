/** Against servers that are broken or mean harm. */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DebugFileCache } from '../../../../src/symbolize/debuginfod/cache.js';
import {
	fetchDebugFiles,
	type Outcome,
	type WantedFile,
} from '../../../../src/symbolize/debuginfod/fetch.js';
import {
	type DebuginfodSettings,
	debuginfodSettings,
} from '../../../../src/symbolize/debuginfod/settings.js';
import { temporaryFolder } from '../support.js';
import { type Answer, filesIn, notFound, serve, splitProgram, Waiting } from './support.js';

const folder = temporaryFolder();
const program = splitProgram(folder, 'app');
const other = splitProgram(folder, 'other', 5);
const wanted = [program];

interface Fetched {
	readonly outcomes: readonly Outcome[];
	readonly cache: string;
	readonly waiting: Waiting;
}

/** Into a cache of its own, or one that there is already. */
async function fetchFrom(
	urls: readonly string[],
	{
		files = wanted,
		cache = join(temporaryFolder(), 'cache'),
		waiting = new Waiting(),
		...more
	}: Partial<DebuginfodSettings> & {
		readonly files?: readonly WantedFile[];
		readonly cache?: string;
		readonly waiting?: Waiting;
	} = {},
): Promise<Fetched> {
	const settings = { ...debuginfodSettings({ DEBUGINFOD_URLS: urls.join(' ') }), ...more };
	const outcomes = await fetchDebugFiles(files, settings, new DebugFileCache(cache), waiting);
	return { outcomes, cache, waiting };
}

const whyOf = ({ outcomes: [first] }: Fetched): string =>
	first && 'why' in first ? first.why : assert.fail('it was fetched');

/** Neither a file nor a miss. */
const assertNothingLeft = ({ cache }: Fetched) => assert.deepEqual(filesIn(cache), []);

const sends =
	(body: Buffer, headers: Record<string, string> = {}): Answer =>
	(_request, response) => {
		response.writeHead(200, headers);
		response.end(body);
	};

test('from a good server: at its place in the cache, and told meanwhile', async () => {
	let headers: Record<string, unknown> = {};
	const server = await serve((request, response) => {
		headers = request.headers;
		response.writeHead(200).end(program.debug);
	});
	const { outcomes, cache, waiting } = await fetchFrom([server.url]);
	assert.deepEqual(server.asked, [`/buildid/${program.buildId}/debuginfo`]);
	assert.deepEqual(outcomes, [{ of: program, bytes: program.debug.length, host: server.host }]);
	const file = `${program.buildId}/debuginfo`;
	assert.deepEqual(filesIn(cache), [file]);
	assert.deepEqual(readFileSync(join(cache, file)), program.debug);
	assert.match(waiting.told.join(), new RegExp(`Ctrl-C.* app from ${server.host} \\(1 of 1\\)`));
	assert.equal(headers['accept-encoding'], 'identity');
	assert.equal(headers['x-debuginfod-maxsize'], String(2 ** 30));
});

test('a section may say that it is larger than the file, if the file has nothing of it: code of a large program', async () => {
	const NOBITS = 8;
	const debug = Buffer.from(program.debug);
	const [headers, count] = [Number(debug.readBigUInt64LE(40)), debug.readUInt16LE(60)];
	const places = Array.from({ length: count }, (_, i) => headers + 64 * i);
	const code = places.filter((at) => debug.readUInt32LE(at + 4) === NOBITS);
	assert.ok(code.length > 0);
	for (const at of code) debug.writeBigUInt64LE(2n ** 32n, at + 32);
	const server = await serve(sends(debug));
	const { outcomes } = await fetchFrom([server.url]);
	assert.deepEqual(outcomes, [{ of: program, bytes: debug.length, host: server.host }]);
});

test('no server has it: a miss, after which nobody is asked for a while', async () => {
	const servers = [await serve(notFound), await serve(notFound)];
	const urls = servers.map(({ url }) => url);
	const first = await fetchFrom(urls);
	assert.equal(whyOf(first), 'no server has it');
	assert.equal(readFileSync(join(first.cache, program.buildId, 'debuginfo')).length, 0);
	const again = await fetchFrom(urls, { cache: first.cache });
	assert.match(whyOf(again), /no server had it .* a few minutes ago/);
	assert.deepEqual(
		servers.map(({ asked }) => asked.length),
		[1, 1],
	);
});

test('servers are asked in order, until one has it', async () => {
	const order: string[] = [];
	const first = await serve((_request, response) => {
		order.push('first');
		response.writeHead(404).end();
	});
	const second = await serve((_request, response) => {
		order.push('second');
		response.writeHead(200).end(program.debug);
	});
	const third = await serve(() => order.push('third'));
	const { outcomes } = await fetchFrom([first.url, second.url, third.url]);
	assert.deepEqual(order, ['first', 'second']);
	assert.deepEqual(
		outcomes.map((each) => 'host' in each && each.host),
		[second.host],
	);
});

test('one that fails is no miss, and is asked once only; the next one is asked', async () => {
	const broken = await serve((_request, response) => response.writeHead(503).end());
	const good = await serve((request, response) => {
		const found = [program, other].find(({ buildId }) => request.url?.includes(buildId));
		response.writeHead(200).end(found?.debug);
	});
	const { outcomes } = await fetchFrom([broken.url, good.url], { files: [program, other] });
	assert.deepEqual(
		outcomes.map((each) => 'host' in each && each.host),
		[good.host, good.host],
	);
	assert.deepEqual([broken.asked.length, good.asked.length], [1, 2]);
	const fetched = await fetchFrom([broken.url, (await serve(notFound)).url]);
	assert.match(whyOf(fetched), /^127\.0\.0\.1:\d+ answers 503; 127\.0\.0\.1:\d+ does not have it$/);
	assertNothingLeft(fetched);
});

test('one that is not there, one that never answers, one that sends a drop at a time', async () => {
	const gone = await fetchFrom(['http://127.0.0.1:1/']);
	assert.match(whyOf(gone), /^127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)$/);
	assertNothingLeft(gone);

	const silent = await serve(() => {});
	const given = await fetchFrom([silent.url], { files: [program, other], timeout_ms: 500 });
	// On a busy machine even the connection may come too late.
	const TOO_SLOW = /sends less than 102,400 B in 0\.5 s \(DEBUGINFOD_TIMEOUT\)|within 0\.5 s/;
	assert.match(whyOf(given), TOO_SLOW);
	assert.equal(given.outcomes.length, 2);
	assert.ok(silent.asked.length <= 1, 'the second file is not asked for');
	assertNothingLeft(given);

	const drops = await serve((_request, response) => {
		response.writeHead(200);
		const timer = setInterval(() => response.write('x'), 10);
		response.on('close', () => clearInterval(timer));
	});
	const late = await fetchFrom([drops.url], { timeout_ms: 500 });
	assert.match(whyOf(late), TOO_SLOW);
	assertNothingLeft(late);
});

test('a body without an end, and one that is too large by what is said of it', async () => {
	const endless = await serve((_request, response) => {
		response.writeHead(200);
		const more = () => {
			while (!response.destroyed && response.write(Buffer.alloc(65_536)));
		};
		response.on('drain', more);
		more();
	});
	const cut = await fetchFrom([endless.url], { maxFile_bytes: 1e6 });
	assert.match(whyOf(cut), /has more than 977 KiB to send for it$/);
	assertNothingLeft(cut);

	let sent = false;
	const large = await serve((_request, response) => {
		response.on('close', () => {
			sent = response.writableFinished;
		});
		response.writeHead(200, { 'Content-Length': '5000000' });
		response.flushHeaders();
	});
	assert.match(whyOf(await fetchFrom([large.url], { maxFile_bytes: 4_999_999 })), /has more than/);
	assert.equal(sent, false);
	const refusing = await serve((_request, response) => response.writeHead(406).end());
	assert.match(whyOf(await fetchFrom([refusing.url])), /it is too large$/);
});

test('all files together are bounded too', async () => {
	const server = await serve((request, response) => {
		const found = [program, other].find(({ buildId }) => request.url?.includes(buildId));
		response.writeHead(200).end(found?.debug);
	});
	const maxTotal_bytes = program.debug.length + other.debug.length - 1;
	const { outcomes } = await fetchFrom([server.url], { files: [program, other], maxTotal_bytes });
	assert.deepEqual(
		outcomes.map((each) => 'host' in each),
		[true, false],
	);
});

test('what is not the file that was asked for is refused', async () => {
	const badly = async (answer: Answer, why: RegExp) => {
		const fetched = await fetchFrom([(await serve(answer)).url]);
		assert.match(whyOf(fetched), why);
		assertNothingLeft(fetched);
	};
	await badly(sends(other.debug), /its build-id is not the one asked for$/);
	await badly(sends(Buffer.from('<html>log in</html>'.repeat(9))), /no debug file \(not ELF\)$/);
	await badly(sends(Buffer.alloc(0)), /no debug file/);
	// The connection ends as if that were all.
	await badly(
		sends(program.debug.subarray(0, -100), { Connection: 'close' }),
		/no debug file|part/,
	);
	await badly((_request, response) => {
		response.writeHead(200, { 'Content-Length': String(program.debug.length) });
		response.write(program.debug.subarray(0, 500), () => response.destroy());
	}, /ended the transfer early/);
	await badly(sends(program.debug, { 'Content-Encoding': 'gzip' }), /sends it compressed$/);
});

test('a file whose sections are not all in it is refused', async () => {
	// The first section with contents, moved behind the end.
	const damaged = Buffer.from(program.debug);
	const sections = Number(damaged.readBigUInt64LE(40));
	for (let at = sections + 64; ; at += 64) {
		if (damaged.readUInt32LE(at + 4) !== 2) continue;
		damaged.writeBigUInt64LE(BigInt(damaged.length), at + 24);
		break;
	}
	const fetched = await fetchFrom([(await serve(sends(damaged))).url]);
	assert.match(whyOf(fetched), /sends only a part of the file$/);
	assertNothingLeft(fetched);
});

test('redirects: followed, but not for ever, and not to other protocols', async () => {
	const good = await serve(sends(program.debug));
	const to = (where: string) =>
		serve((_request, response) => response.writeHead(302, { Location: where }).end());
	const once = await fetchFrom([(await to(`${good.url}elsewhere?x=1`)).url]);
	assert.deepEqual(good.asked, ['/elsewhere?x=1']);
	assert.equal('host' in (once.outcomes[0] ?? {}), true);

	const loop = await to('/again');
	assert.match(whyOf(await fetchFrom([loop.url])), /redirects more than 5 times$/);
	assert.equal(loop.asked.length, 6);
	for (const where of ['file:///etc/shadow', 'http://[', ''])
		assert.match(whyOf(await fetchFrom([(await to(where)).url])), /redirects/);
});

test('a name and password in a URL go to that server only, and are not told', async () => {
	const credentials: (string | undefined)[] = [];
	const good = await serve((request, response) => {
		credentials.push(request.headers.authorization);
		response.writeHead(200).end(program.debug);
	});
	const first = await serve((request, response) => {
		credentials.push(request.headers.authorization);
		response.writeHead(302, { Location: good.url }).end();
	});
	const { waiting } = await fetchFrom([`http://user:secret@${first.host}/`]);
	assert.deepEqual(credentials, [`Basic ${btoa('user:secret')}`, undefined]);
	assert.doesNotMatch(waiting.told.join(), /secret/);
});

test('a signal ends it: no miss, nothing half, and the rest is not asked for', async () => {
	const waiting = new Waiting();
	const server = await serve((_request, response) => {
		response.writeHead(200, { 'Content-Length': '100000' });
		response.write(Buffer.alloc(1000), () => waiting.interrupt());
	});
	const fetched = await fetchFrom([server.url], { files: [program, other], waiting });
	assert.deepEqual(
		fetched.outcomes.map((each) => 'why' in each && each.why),
		['a signal ended that', 'a signal ended that'],
	);
	assert.equal(server.asked.length, 1);
	assertNothingLeft(fetched);
});

test('the time for one file, and for all', async () => {
	const silent = await serve(() => {});
	const one = await fetchFrom([silent.url], { files: [program, other], maxTime_ms: 50 });
	// The next file has its own time.
	for (const each of one.outcomes)
		assert.match('why' in each ? each.why : '', /more than 0\.05 s \(DEBUGINFOD_MAXTIME\)/);
	const all = await fetchFrom([silent.url], { files: [program, other], maxTotal_ms: 50 });
	for (const each of all.outcomes)
		assert.match('why' in each ? each.why : '', /more than 0\.05 s for all files/);
	assertNothingLeft(one);
	assertNothingLeft(all);
});

test('a cache that cannot be written to: nobody is asked, and it is said', async () => {
	const server = await serve(sends(program.debug));
	const fetched = await fetchFrom([server.url], { cache: join(program.path, 'cache') });
	assert.match(whyOf(fetched), /app is no folder$/);
	assert.deepEqual(server.asked, []);
});

test('a file that is there, and does not help, is not fetched each time; a damaged one is', async () => {
	const server = await serve(sends(program.debug));
	const { cache } = await fetchFrom([server.url]);
	const again = await fetchFrom([server.url], { cache });
	assert.match(whyOf(again), /the cache has the file .* does not name these functions$/);
	assert.equal(server.asked.length, 1);
	const path = join(cache, program.buildId, 'debuginfo');
	chmodSync(path, 0o600);
	writeFileSync(path, 'damaged');
	const { outcomes } = await fetchFrom([server.url], { cache });
	assert.equal('host' in (outcomes[0] ?? {}), true);
	assert.deepEqual(readFileSync(path), program.debug);
});
