/** flamegraph as it is called: files, standard input, options, errors. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { inProcess, type Said } from '../../in-process.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-flamegraph-'));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
	const path = join(folder, name);
	writeFileSync(path, content);
	return path;
}

const flamegraph = (args: readonly string[], input: string | Uint8Array = ''): Promise<Said> =>
	inProcess(['flamegraph', ...args], input);

const FOLDED = 'a;b 3\na;c 5\n';
const RESULT = {
	tool: 'offcputime',
	schema: 1,
	command: ['tstrace', 'offcputime', '5'],
	host: 'web1',
	unit: 'ns',
	duration_s: 5,
	stacks: [
		{
			frames: ['main', 'read', 'vfs_read'],
			kinds: 'uuk',
			value: 2e9,
			key: { pid: 1, comm: 'app' },
		},
		{ frames: [], kinds: '', value: 1e9, key: { comm: '[others]' } },
	],
};
const JSON_TEXT = `${JSON.stringify(RESULT)}\n`;

const totalIn = (svg: string): string | undefined => /<title>all \((.*?)\)<\/title>/.exec(svg)?.[1];

test('standard input, a file, two files, -, gzip: the same stacks', async () => {
	const path = file('a.folded', FOLDED);
	const packed = file('a.gz', gzipSync(FOLDED));
	for (const [args, input, total] of [
		[[], FOLDED, '8'],
		[['-'], FOLDED, '8'],
		[[path], '', '8'],
		[[path, '-'], FOLDED, '16'],
		[[packed, path], '', '16'],
		[['-'], gzipSync(FOLDED), '8'],
	] as const) {
		const { stdout, stderr, status } = await flamegraph(args, input);
		assert.deepEqual([status, stderr], [0, '']);
		assert.equal(totalIn(stdout), `${total}, 100.0 %`);
	}
});

test('as a command of its own, and of tstrace: the same', async () => {
	const { stdout } = await flamegraph(['--inverted'], FOLDED);
	for (const [command, words] of [
		['flamegraph', ['--inverted']],
		['tstrace', ['flamegraph', '--inverted']],
	] as const) {
		const said = spawnSync(resolve('bin', command), words, {
			input: FOLDED,
			encoding: 'utf8',
		});
		assert.deepEqual([said.status, said.stdout, said.stderr], [0, stdout, '']);
	}
});

test('a result of tstrace says title, unit and colours by itself; two of them add up', async () => {
	assert.match((await flamegraph([], JSON_TEXT)).stdout, /tstrace offcputime 5 · web1 · 5 s</);
	const { stdout, stderr } = await flamegraph([], JSON_TEXT + JSON_TEXT);
	assert.equal(stderr, '');
	assert.match(stdout, /<title>Off-CPU Time Flame Graph<\/title>/);
	assert.match(stdout, /tstrace offcputime 5 · web1</);
	assert.equal(totalIn(stdout), '6.00 s, 100.0 %');
	assert.match(stdout, /<title>vfs_read \(4\.00 s, 66\.7 %\)/);
});

test('options: what they change can be seen', async () => {
	const { stdout } = await flamegraph(
		['--title', 'T<', '--subtitle', 'S', '--countname', 'us', '--width', '500', '--inverted'],
		FOLDED,
	);
	assert.match(stdout, /width="500"/);
	assert.match(stdout, /<text class="title"[^>]*>T&lt;</);
	assert.match(stdout, /<text class="subtitle"[^>]*>S</);
	assert.match(stdout, /data-root="top"/);
	assert.equal(totalIn(stdout), '8.00 us, 100.0 %');
	const colours = new Set<string | undefined>();
	for (const palette of ['hot', 'io', 'mem', 'kind']) {
		const picture = (await flamegraph(['--colors', palette], FOLDED)).stdout;
		colours.add(/<title>a \(.*?fill="(#\w+)"/.exec(picture)?.[1]);
	}
	assert.equal(colours.size, 4);
	assert.match(
		(await flamegraph(['--reverse'], FOLDED)).stdout,
		/data-depth="1" data-value="5"><title>c /,
	);
	assert.doesNotMatch((await flamegraph(['--minwidth', '500'], FOLDED)).stdout, /<title>b /);
});

test('folded stacks that end in the scheduler are taken for what offcputime printed', async () => {
	const { stdout, stderr } = await flamegraph(
		[],
		'app;read;vfs_read;schedule 1500\napp;main 100\n',
	);
	assert.match(stderr, /drawn as off-CPU time in us/);
	assert.match(stdout, /<title>Off-CPU Time Flame Graph<\/title>/);
	assert.equal(totalIn(stdout), '1.60 ms, 100.0 %');
	assert.equal(
		(await flamegraph([], 'app;read;schedule 1\napp;main 1\n')).stderr,
		'',
		'most, not some',
	);
});

test('so are those that end in what calls the scheduler: the call itself need not be in a stack', async () => {
	for (const leaf of [
		'do_nanosleep',
		'futex_do_wait',
		'futex_wait_queue_me',
		'anon_pipe_write',
		'ep_poll',
		'schedule_hrtimeout_range',
		'__schedule_[k]',
		'rcu_gp_fqs_loop',
		'worker_thread',
		'exit_to_user_mode_loop',
		'wait_woken.isra.0',
	]) {
		const { stdout } = await flamegraph(
			[],
			`sleep;main;entry_SYSCALL_64_after_hwframe;${leaf} 503369\n`,
		);
		assert.match(stdout, /<title>Off-CPU Time Flame Graph</, leaf);
		assert.equal(totalIn(stdout), '503 ms, 100.0 %', leaf);
	}
	for (const leaf of ['main', 'scheduler_run', 'do_nanosleeper', 'epoll', 'reschedule', 'memcpy']) {
		assert.match((await flamegraph([], `app;${leaf} 1\n`)).stdout, /<title>Flame Graph</, leaf);
	}
});

test('what is chosen and turned around is said below the title', async () => {
	const { stdout } = await flamegraph(
		['--grep', 'B', '--exclude', 'x', '--reverse'],
		'a;B 3\na;c 5\n',
	);
	assert.match(stdout, /only \/B\/, without \/x\/ · 37\.5 % of all · merged from the leaf</);
});

test('--grep and --exclude choose stacks; capitals matter if there are any; folded out', async () => {
	const folded = async (...args: string[]) =>
		(await flamegraph(['--format', 'folded', ...args], FOLDED)).stdout;
	assert.equal(await folded(), FOLDED);
	assert.equal(await folded('--grep', '^c$'), 'a;c 5\n');
	assert.equal(
		(await flamegraph(['--format', 'folded', '--grep', 'sort'], 'a;MapSort 1\n')).stdout,
		'a;MapSort 1\n',
	);
	assert.equal((await flamegraph(['--grep', 'Sort'], 'a;mapsort 1\n')).status, 1);
	assert.equal(await folded('--exclude', 'c|x'), 'a;b 3\n');
});

test('-o FILE: what its name ends with is what it gets; left as it was after an error', async () => {
	const path = join(folder, 'out.folded');
	assert.equal((await flamegraph(['-o', path], FOLDED)).status, 0);
	assert.equal(readFileSync(path, 'utf8'), FOLDED);
	assert.equal((await flamegraph(['-o', path], 'nothing')).status, 1);
	assert.equal(readFileSync(path, 'utf8'), FOLDED);
});

test('after an error there is no file that was not there before', async () => {
	const path = join(folder, 'new.svg');
	assert.equal((await flamegraph(['-o', path], 'nothing')).status, 1);
	assert.equal(existsSync(path), false);
});

test('what follows -- is a file, whatever its name begins with', async (t) => {
	file('-x.folded', FOLDED);
	const before = process.cwd();
	t.after(() => process.chdir(before));
	process.chdir(folder);
	assert.equal(totalIn((await flamegraph(['--', '-x.folded'])).stdout), '8, 100.0 %');
});

test('of recordings that are added up is said what all of them say; marks stay', async () => {
	const result = file('host.json', JSON.stringify({ ...RESULT, host: 'web2' }));
	const pprof = join(folder, 'host.pprof');
	assert.equal((await flamegraph(['-o', pprof, file('one.json', JSON_TEXT)])).status, 0);
	const picture = (await flamegraph([join(folder, 'one.json'), result])).stdout;
	assert.doesNotMatch(picture, /web[12]/);
	assert.match(picture, /<title>Off-CPU Time Flame Graph</);
	const { stdout } = await flamegraph(['--format', 'folded', join(folder, 'one.json'), pprof]);
	assert.match(stdout, /vfs_read_\[k\] 4000000000/);
});

test('fold --addrs is not said to be without effect for pprof, which has addresses', async () => {
	const pprof = join(folder, 'addrs.pprof');
	assert.equal((await flamegraph(['-o', pprof], FOLDED)).status, 0);
	assert.equal((await inProcess(['fold', '--addrs', pprof])).stderr, '');
});

test('small counts are written without an exponent', async () => {
	const { stdout } = await flamegraph(['--format', 'folded'], 'a 0.00000012\nb 5e-7\n');
	assert.equal(stdout, 'a 0.00000012\nb 0.0000005\n');
});

const REFUSED: ReadonlyArray<
	readonly [status: number, args: readonly string[], input: string | Uint8Array, said: RegExp]
> = [
	[1, [], '', /standard input: .*the input is empty: it has no stacks; was anything recorded\?/],
	[1, [], '<?xml version="1.0"?><svg/>', /this is already a picture or a page/],
	[2, ['--countname', 'us'], JSON_TEXT, /counts are in ns, not us/],
	[1, [], 'hello\n', /standard input: no line of it ends with a count/],
	[1, [], 'a -3\n', /line 1 is negative/],
	[1, [], Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0]), /it is not text/],
	[1, [], 'PERFILE2xxxx', /perf script -i/],
	[1, [], '{"tool":"runqlat","groups":[]}\n', /runqlat has no stacks/],
	[1, [], '{"tool":"profile","stacks":[{"frames"', /it begins like JSON but is not valid/],
	[1, [], '{"tool":"profile","stacks":[{"frames":3}]}', /stack 1 of the JSON is damaged/],
	[1, [], gzipSync(FOLDED).subarray(0, 20), /gzip data was cut off/],
	[1, [], `${JSON_TEXT.replace('2000000000', '1e308')}`, /its counts add up to 10\^21 or more/],
	[1, [], `a 1 1.0: ${'9'.repeat(400)} cycles: \n\tabc f+0x1 (/x)\n`, /add up to 10\^21/],
	[2, ['--countname', 'us'], JSON_TEXT, /counts are in ns, not us/],
	[2, ['-o', join(folder, 'out.json')], FOLDED, /cannot write plain JSON/],
	[1, ['absent.folded'], '', /cannot read absent\.folded: there is no such file/],
	[1, ['.'], '', /cannot read \.: it is a folder/],
	[1, ['--grep', 'zzz'], FOLDED, /nothing to draw/],
	[1, ['-o', 'absent/out.svg'], FOLDED, /its folder does not exist/],
	[2, ['--grep', '('], FOLDED, /--grep <pattern> '\(': give a regular expression/],
	[2, ['--colors', 'blue'], FOLDED, /Allowed choices are hot, io, mem, kind/],
	[2, ['--width', '-5'], FOLDED, /--width <px> '-5': give pixels from 100/],
	[2, ['--minwidth', 'x'], FOLDED, /give pixels from 0/],
	[2, ['--nonsense'], FOLDED, /unknown option '--nonsense'/],
];

for (const [expected, args, input, said] of REFUSED) {
	test(`refused: ${args.join(' ')} < ${JSON.stringify(Buffer.from(input).toString('latin1')).slice(0, 40)}`, async () => {
		const { status, stdout, stderr } = await flamegraph(args, input);
		assert.match(stderr, said);
		assert.deepEqual([status, stdout], [expected, '']);
		assert.equal(stderr.trimEnd().split('\n').length, 1, 'one line');
		assert.match(stderr, /^tstrace flamegraph: /);
	});
}

test('a stray line of another form does not make it another recording', async () => {
	const { stdout, stderr } = await flamegraph(
		['--format', 'folded'],
		'note 5 warning: x\na;b 3\na;c 2\n',
	);
	assert.equal(stdout, 'a;b 3\na;c 2\n');
	assert.match(stderr, /left out 1 of 3 lines/);
});

test('names that are markup are names', async () => {
	assert.equal(
		(await flamegraph(['--format', 'folded'], '<script>;b 1\n')).stdout,
		'<script>;b 1\n',
	);
});

test('a mark that editors put in front is not part of it', async () => {
	assert.equal((await flamegraph(['--format', 'folded'], `\ufeff${FOLDED}`)).stdout, FOLDED);
	assert.equal((await flamegraph([], `\ufeff${JSON_TEXT}`)).status, 0);
});

test('after an error it does not wait for a writer that says nothing more', async () => {
	const child = spawn(resolve('bin/flamegraph'), { stdio: ['pipe', 'ignore', 'ignore'] });
	child.stdin.write(Buffer.alloc(70_000));
	const [status] = await once(child, 'exit');
	assert.equal(status, 1);
	child.stdin.destroy();
});

test('mixed units are not added up', async () => {
	const folded = file('x.folded', FOLDED);
	const result = file('x.json', JSON_TEXT);
	const { status, stderr } = await flamegraph([folded, result]);
	assert.equal(status, 1);
	assert.match(
		stderr,
		/x\.folded \(unknown kind\) and .*x\.json \(offcputime in ns\) cannot be added up/,
	);
});

test('a reader that goes away ends it quietly', () => {
	const command = `printf 'a;b 3\\n' | ${resolve('bin/flamegraph')} | true; echo $?`;
	const { stderr, stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
	assert.deepEqual([stderr, stdout], ['', '0\n']);
});
