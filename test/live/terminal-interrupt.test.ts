/** Ctrl-C at a terminal: all its programs get it from the terminal, and COMMAND not once more from tstrace. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { TSTRACE, until } from './support.js';

const CTRL_C = '\x03';
/** Counts its interrupts; ends a while after the first, when a second would have come, too. */
const COUNTS =
	'n=0; trap "n=\\$((n+1))" INT; echo counting; while [ $n = 0 ]; do sleep 0.05; done; ' +
	'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; echo interrupts: $n; exit 5';

test('COMMAND gets Ctrl-C once; its status and the result come after it', async () => {
	const command = `exec ${TSTRACE} syscount -q -- sh -c '${COUNTS}'`;
	// A terminal of its own, of which what is written to it is the keyboard.
	const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
		env: { ...process.env, SHELL: '/bin/sh' },
	});
	let shown = '';
	terminal.stdout.on('data', (data) => {
		shown += data;
	});
	try {
		await until(
			() => shown.includes('counting') || terminal.exitCode !== null,
			() => shown,
		);
		terminal.stdin.write(CTRL_C);
		if (terminal.exitCode === null)
			await once(terminal, 'exit', { signal: AbortSignal.timeout(60_000) });
		assert.match(shown, /^interrupts: 1\r$/m, shown);
		assert.match(shown, /SYSCALL|CALLS/, shown);
		assert.equal(terminal.exitCode, 5, shown);
	} finally {
		terminal.kill('SIGKILL');
	}
});
