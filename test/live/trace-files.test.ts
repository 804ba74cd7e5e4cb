/** trace -y: what is said of a file that has no name any more. */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tstrace } from './support.js';

const DELETED = `
import os
file = os.open("gone", os.O_RDONLY)
os.unlink("gone")
os.read(file, 4242)
`;

test('a file that is deleted already is said to be', () => {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trace-files-')));
	try {
		writeFileSync(join(folder, 'gone'), 'text');
		const command = ['env', '-C', folder, 'python3', '-c', DELETED];
		const { stdout } = tstrace(['trace', '-y', '-e', 'read', '--', ...command]);
		const [, path] = /read\(\d+<([^>]+)>, "text", 4242\)/.exec(stdout) ?? [];
		assert.equal(path, `${join(folder, 'gone')} (deleted)`);
	} finally {
		rmSync(folder, { recursive: true });
	}
});
