/** --follow lets in whom COMMAND starts, and nobody else. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { runToEnd, TSTRACE } from './support.js';

test('COMMAND --follow: another process that executes a program meanwhile is not traced', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-others-'));
	const [begun, done] = [join(folder, 'begun'), join(folder, 'done')];
	runToEnd('mkfifo', [begun, done]);
	// Once COMMAND runs, it executes a program, which lets COMMAND end.
	const other = spawn('sh', ['-c', 'read -r _ < "$1"; exec sh -c "echo > $2"', 'sh', begun, done]);
	try {
		const ended = once(other, 'exit');
		const command = ['sh', '-c', `echo > ${begun}; read -r _ < ${done}; exit 3`];
		const trace = ['timeout', '20', TSTRACE, 'syscount', '-P', '--follow', '--json', '--'];
		const { status, stdout } = runToEnd('setsid', ['-w', ...trace, ...command]);
		await ended;
		assert.equal(status, 3);
		const comms = reportsOf(stdout).flatMap(({ rows }) => rows.map(({ pid, comm }) => [pid, comm]));
		assert.equal(comms.length, 1, JSON.stringify(comms));
		assert.notEqual(comms[0]?.[0], other.pid);
	} finally {
		other.kill();
		rmSync(folder, { recursive: true });
	}
});
