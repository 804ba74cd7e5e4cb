import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readFacts, readMaps } from '../../../src/proc/process-facts.js';

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
