import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exeOf, readFacts, readMaps } from '../../../src/proc/process-facts.js';
import { questions } from './asked.js';
import { fakeProc, NOBODY, statText } from './fake-proc.js';

const childrenOf = (pid: number) =>
	readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

test('of a long list of mappings so much as was asked for, in whole lines', () => {
	const whole = readFileSync('/proc/self/maps', 'utf8');
	const part = readMaps('self', 1) ?? '';
	assert.ok(part.length > 0 && part.length < whole.length, `${part.length} of ${whole.length}`);
	assert.match(part, /^([0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps] .*\n)+$/);
	assert.ok((readMaps('self') ?? '').length > part.length);
});

test('in a PID namespace of its own a process has another number', async () => {
	const script = 'echo $(cut -d" " -f1 /proc/self/stat); read -r line';
	const words = ['--pid', '--fork', '--kill-child', 'sh', '-c', `${script}; exit`];
	const child = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'inherit'] });
	try {
		await once(child.stdout, 'data');
		const [own] = childrenOf(child.pid as number);
		assert.equal(readFacts(own ?? assert.fail())?.nspid, 1);
		assert.equal(readFacts(process.pid)?.nspid, process.pid);
	} finally {
		child.stdin.end();
		await once(child, 'exit');
	}
});

test('a process that is gone has none', () => {
	assert.equal(readMaps(2 ** 22 + 1), undefined);
});

test('whose a process is, its own number, its name as it is, and since when it runs', (t) => {
	const folder = `/proc/${NOBODY}`;
	const status = (nspid: string) =>
		`Name:\tg\\\\n\u00e9\nPid:\t${NOBODY}\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n${nspid}Threads:\t1\n`;
	const said = (nspid: string) => ({
		files: {
			[`${folder}/status`]: status(nspid),
			[`${folder}/comm`]: 'g\\n\u00e9\n',
			[`${folder}/stat`]: statText({ 19: 12_345 }),
			'/proc/uptime': '1000.25 3999.75\n',
		},
		links: { [`${folder}/ns/mnt`]: 'mnt:[7]' },
	});
	t.mock.method(Date, 'now', () => 1_700_000_000_000);
	const say = fakeProc(t, said(`NSpid:\t${NOBODY}\t90\t5\n`));
	assert.deepEqual(readFacts(NOBODY), {
		// Of the user it acts for, not of the one who started it.
		uid: 2,
		nspid: 5,
		mountNamespace: 'mnt:[7]',
		comm: 'g\\n\u00e9',
		started_s: 1_700_000_000 - 1000.25 + 123.45,
		started_ticks: 12_345,
	});
	// A kernel without PID namespaces does not say.
	say(said(''));
	assert.equal(readFacts(NOBODY)?.nspid, NOBODY);
	say({});
	assert.equal(readFacts(NOBODY), undefined);
});

test('the program of a process, also one that was deleted since; kernel threads have none', (t) => {
	const exe = `/proc/${NOBODY}/exe`;
	const say = fakeProc(t, { links: { [exe]: '/usr/bin/app (deleted)' } });
	assert.equal(exeOf(NOBODY), '/usr/bin/app');
	say({ links: { [exe]: '/srv/a (deleted)/app' } });
	assert.equal(exeOf(NOBODY), '/srv/a (deleted)/app');
	say({});
	assert.equal(exeOf(NOBODY), '');
});

test('a list of mappings that comes in many parts is whole, and nothing stays open', () => {
	const descriptors = () => readdirSync('/proc/self/fd').length;
	const before = descriptors();
	const text = readMaps('self') ?? '';
	assert.ok(text.length > 2 ** 13, 'several pages');
	const lines = new Set(readFileSync('/proc/self/maps', 'utf8').split('\n'));
	const known = text.split('\n').filter((line) => lines.has(line));
	// What has grown meanwhile is another line.
	assert.ok(known.length > 0.9 * lines.size, `${known.length} of ${lines.size}`);
	assert.equal(descriptors(), before);
});

test('mappings of a process whose memory does not answer are not read; paths are as they are', async (t) => {
	const folder = `/proc/${NOBODY}`;
	const maps = '1000-2000 r-xp 00000000 08:01 7    /usr/lib/gr\u00fc\u00dfe.so\n';
	const ask = questions(t);
	fakeProc(t, {
		folders: { [`${folder}/task`]: [`${NOBODY}`] },
		files: {
			[`${folder}/task/${NOBODY}/stat`]: statText({ 0: 'D', 17: 1, 19: 77 }),
			[`${folder}/maps`]: maps,
		},
	});
	ask.silence();
	assert.equal(readMaps(NOBODY), undefined);
	await ask.speak();
	assert.equal(readMaps(NOBODY), maps);
});
