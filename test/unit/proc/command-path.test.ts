/** Where COMMAND's file is, and what is said where there is none. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TstraceError } from '../../../src/errors.js';
import { commandPath } from '../../../src/proc/command-path.js';
import { temporaryFolder } from '../symbolize/support.js';

const folder = temporaryFolder();
const [first, second] = ['first', 'second'].map((name) => join(folder, name)) as [string, string];
for (const each of [first, second]) mkdirSync(each);

function file(path: string, mode: number): string {
	writeFileSync(path, '');
	chmodSync(path, mode);
	return path;
}

const { PATH } = process.env;

/** Folders to look in, as PATH has them; undefined: it is not set. */
function look(t: TestContext, path: string | undefined): void {
	t.after(() => {
		process.env.PATH = PATH;
	});
	if (path === undefined) delete process.env.PATH;
	else process.env.PATH = path;
}

function refusal(name: string): string {
	try {
		return assert.fail(commandPath(name));
	} catch (error) {
		assert.ok(error instanceof TstraceError, `${error}`);
		return error.message;
	}
}

test('a name is looked for in the folders of PATH, in their order; what cannot be executed is passed over', (t) => {
	look(t, `/none:${first}:${second}`);
	for (const each of [first, second]) file(join(each, 'both'), 0o755);
	assert.equal(commandPath('both'), join(first, 'both'));
	file(join(second, 'later'), 0o755);
	assert.equal(commandPath('later'), join(second, 'later'));
	mkdirSync(join(first, 'folder'));
	file(join(second, 'folder'), 0o755);
	assert.equal(commandPath('folder'), join(second, 'folder'));
	file(join(first, 'other'), 0o644);
	file(join(second, 'other'), 0o755);
	assert.equal(commandPath('other'), join(second, 'other'));
});

test('a path is taken as it is, also one from the folder that we are in', (t) => {
	look(t, second);
	const path = file(join(first, 'command'), 0o755);
	assert.equal(commandPath(path), path);
	assert.equal(commandPath('bin/tstrace'), 'bin/tstrace');
});

test('without PATH in the usual folders; a folder without a name is the one that we are in', (t) => {
	look(t, undefined);
	assert.match(commandPath('sh'), /^\/(usr\/)?bin\/sh$/);
	look(t, '');
	assert.match(refusal('sh'), /there is no command sh/);
	look(t, `:${first}`);
	for (const each of [first, second]) file(join(each, 'here'), 0o755);
	const before = process.cwd();
	process.chdir(second);
	try {
		assert.equal(commandPath('here'), 'here');
	} finally {
		process.chdir(before);
	}
});

test('what is refused, and what to do', (t) => {
	look(t, `${first}:${second}`);
	const plain = file(join(first, 'plain'), 0o644);
	for (const name of ['plain', plain])
		assert.ok(refusal(name).startsWith(`cannot execute ${plain}: it is not executable; chmod +x`));
	assert.ok(refusal(first).startsWith(`cannot execute ${first}: it is a folder`));
	mkdirSync(join(second, 'only-folder'));
	for (const name of ['only-folder', 'no-such-command', `${first}/none`])
		assert.ok(refusal(name).startsWith(`there is no command ${name}: `), name);
});
