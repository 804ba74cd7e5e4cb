/** diff of two recordings of a workload that knows how it changed. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { near } from './stacks.js';
import { tstrace, Workload } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
after(() => rmSync(folder, { recursive: true }));

/** Records a run of burns in JSON; returns the shares of CPU time it had in its two functions. */
async function record(file: string, kind: string, seconds: string): Promise<[number, number]> {
	const workload = await Workload.start('burns', kind);
	workload.begin();
	const options = ['-e', 'cpu-clock', '-F', '997', '--json', '-o', file];
	const { status, stderr } = tstrace(['profile', '-p', `${workload.pid}`, ...options, seconds]);
	assert.equal(status, 0, stderr);
	const [more_ns = 0, less_ns = 0] = await workload.end();
	return [more_ns / (more_ns + less_ns), less_ns / (more_ns + less_ns)];
}

interface Row {
	readonly name: string;
	readonly self: { readonly before: number; readonly after: number; readonly change: number };
}

test('two functions that swap their shares: the changes are those that the workload measured', async () => {
	const [before, after] = [join(folder, 'before.json'), join(folder, 'after.json')];
	const [moreBefore, lessBefore] = await record(before, 'user', '2');
	const [moreAfter, lessAfter] = await record(after, 'swapped', '1');
	near(moreAfter - moreBefore, -0.4, 0.1, 'of what it burns');

	const said = tstrace(['diff', '--format', 'json', before, after]);
	assert.equal(said.status, 0, said.stderr);
	assert.match(said.stderr, /durations differ: 2(\.\d+)? s before, 1(\.\d+)? s after/);
	assert.match(said.stderr, /filters differ: pids \d+ before, pids \d+ after/);
	const result = JSON.parse(said.stdout);
	assert.equal(result.factor, result.after.total / result.before.total);
	const rows = (result.functions as Row[]).slice(0, 2);
	assert.deepEqual(rows.map(({ name }) => name).sort(), ['burn_less', 'burn_more']);
	for (const { name, self } of rows) {
		const change = name === 'burn_more' ? moreAfter - moreBefore : lessAfter - lessBefore;
		assert.equal(Math.sign(self.change), Math.sign(change));
		// Four standard deviations of a share of 2000 samples less one of 1000, and 2 % as elsewhere.
		const deviation = Math.sqrt(
			(0.7 * 0.3) / result.before.total + (0.7 * 0.3) / result.after.total,
		);
		near(self.change / result.after.total, change, 4 * deviation + 0.02, `share of ${name}`);
	}

	const svg = join(folder, 'diff.svg');
	const text = tstrace(['diff', '-q', before, after, '-o', svg, '--format', 'svg']);
	assert.deepEqual(text, { status: 0, stdout: '', stderr: '' });
	assert.match(readFileSync(svg, 'utf8'), /<title>burn_more \(before \d/);
});

test('off-CPU time is not compared with samples', async () => {
	const [cpu, waits] = [join(folder, 'cpu.json'), join(folder, 'waits.json')];
	await record(cpu, 'user', '0.5');
	const { status } = tstrace(['offcputime', '--json', '-o', waits, '--', 'sleep', '0.1']);
	assert.equal(status, 0);
	const refused = tstrace(['diff', waits, cpu]);
	assert.equal(refused.status, 1);
	assert.equal(refused.stdout, '');
	assert.match(refused.stderr, /^tstrace diff: cannot compare ns with samples: [^\n]*\n$/);
});
