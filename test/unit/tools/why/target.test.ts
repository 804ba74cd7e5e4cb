/** The threads that were chosen, as words for the next command. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import type { Subjects } from '../../../../src/bpf/filter.js';
import { targetOf } from '../../../../src/tools/why/target.js';
import { HOSTILE } from '../../support.js';

type Chosen = Partial<Pick<Subjects['filter'], 'pids' | 'tids' | 'comms' | 'cgroups' | 'follow'>>;

function target(chosen: Chosen, words: readonly string[] = []): string {
	const none = { pids: [], tids: [], comms: [], cgroups: [], follow: false };
	return targetOf({ filter: { ...none, ...chosen } as unknown as Subjects['filter'], words });
}

test('each option that chooses threads, in words', () => {
	assert.equal(target({}), '');
	assert.equal(target({ pids: [12, 13] }), '-p 12,13');
	assert.equal(target({ tids: [14] }), '-t 14');
	assert.equal(
		target({ comms: ['nginx', 'my app'], cgroups: ['/a.slice'] }),
		"--comm nginx --comm 'my app' --cgroup /a.slice",
	);
	assert.equal(target({ pids: [5], follow: true }), '-p 5 --follow');
	assert.equal(target({ follow: true }, ['make', '-j8']), '--follow -- make -j8');
});

test('a shell takes each word for one, whatever is in it', () => {
	const strange = [...HOSTILE, "it's", '', '$(id)', '`id`', '*', '~', 'a b', '!x', '#y', '--'];
	const words = strange.map((word) => word.replaceAll('\u0000', ''));
	const command = target({}, words).replace('-- ', "printf '%s\\0' ");
	const told = execFileSync('sh', ['-c', command], { encoding: 'utf8' });
	assert.deepEqual(told.split('\0').slice(0, -1), words);
	for (const comm of words) {
		const alone = execFileSync('sh', ['-c', `printf '%s\\0' ${target({ comms: [comm] })}`], {
			encoding: 'utf8',
		});
		assert.equal(alone, `--comm\0${comm}\0`);
	}
});
