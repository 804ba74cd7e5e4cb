/** What others may have put where a result is to be written. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
	chmodSync,
	chownSync,
	closeSync,
	existsSync,
	fstatSync,
	lchownSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openOutput, whyRefused } from '../../../src/run/output-file.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-output-'));
after(() => rmSync(folder, { recursive: true }));
const [SOMEBODY, OTHER] = [65_531, 65_532];

/** A folder of somebody's with this mode, in which there is a file, and links to it. */
function folderOf(mode: number, { owner = SOMEBODY } = {}): string {
	const path = mkdtempSync(join(folder, 'x'));
	const file = join(path, 'file');
	writeFileSync(file, 'text');
	mkdirSync(join(path, 'elsewhere'));
	writeFileSync(join(path, 'elsewhere', 'target'), 'text');
	symlinkSync('elsewhere/target', join(path, 'link'));
	linkSync(join(path, 'elsewhere', 'target'), join(path, 'hard'));
	chownSync(path, owner, owner);
	chmodSync(path, mode);
	return path;
}

/** '' where it is opened, else why it is not. */
function refusal(path: string): string {
	try {
		const { fd } = openOutput(path);
		if (fd !== undefined) closeSync(fd);
		return '';
	} catch (error) {
		return whyRefused(error);
	}
}

/** Only root can give a file to somebody else. */
const AS_ROOT = process.getuid?.() === 0 ? {} : { skip: 'needs root, to give files to others' };

test(
	'a named pipe of another user in such a folder: who has it would read the result',
	AS_ROOT,
	() => {
		const path = join(folderOf(0o1777), 'pipe');
		execFileSync('mkfifo', [path]);
		chownSync(path, OTHER, OTHER);
		assert.match(refusal(path), /of user 65532, in a folder that every user may write to/);
	},
);

test(
	"where every user may create files, another user's file is refused, whatever the folder is besides",
	AS_ROOT,
	() => {
		for (const mode of [0o1777, 0o777, 0o757, 0o1707, 0o702]) {
			const path = join(folderOf(mode), 'file');
			chownSync(path, OTHER, OTHER);
			assert.match(
				refusal(path),
				/^it is a file of user 65532, in a folder that every user may write to/,
			);
			// Our own, and that of whom the folder is.
			chownSync(path, SOMEBODY, SOMEBODY);
			assert.equal(refusal(path), '', mode.toString(8));
			chownSync(path, process.getuid?.() ?? 0, OTHER);
			assert.equal(refusal(path), '', mode.toString(8));
		}
	},
);

test('elsewhere it is written to: a group shares its folder on purpose', AS_ROOT, () => {
	for (const mode of [0o755, 0o775, 0o1770, 0o700, 0o2775]) {
		const path = join(folderOf(mode), 'file');
		chownSync(path, OTHER, OTHER);
		assert.equal(refusal(path), '', mode.toString(8));
		assert.equal(refusal(join(path, '..', 'hard')), '', mode.toString(8));
		assert.equal(refusal(join(path, '..', 'link')), '', mode.toString(8));
	}
});

test('links: a second name of a file, and the way to one', AS_ROOT, () => {
	const open = folderOf(0o1777);
	assert.match(refusal(join(open, 'hard')), /^it is a hard link, in a folder that every user may/);
	assert.equal(refusal(join(open, 'link')), '', 'our own');
	// By way of another one, which counts from where it is.
	symlinkSync('second', join(open, 'elsewhere', 'first'));
	symlinkSync('new', join(open, 'elsewhere', 'second'));
	symlinkSync('elsewhere/first', join(open, 'far'));
	assert.equal(refusal(join(open, 'far')), '');
	assert.ok(existsSync(join(open, 'elsewhere', 'new')));
	const theirs = join(open, 'theirs');
	symlinkSync('elsewhere/target', theirs);
	lchownSync(theirs, OTHER, OTHER);
	assert.match(refusal(theirs), /^it is a link of user 65532, in a folder that every user may/);
});

test(
	'a folder is none, a loop ends, and a file that is not there is made for its owner only',
	AS_ROOT,
	() => {
		const open = folderOf(0o755);
		assert.match(refusal(`${join(open, 'new')}/`), /it is a folder/);
		assert.match(refusal(open), /it is a folder/);
		symlinkSync('loop', join(open, 'loop'));
		assert.equal(refusal(join(open, 'loop')), 'ELOOP');
		const { fd = assert.fail(), isNew, isOurs } = openOutput(join(open, 'new'));
		const { mode, size } = fstatSync(fd);
		closeSync(fd);
		assert.deepEqual([isNew, isOurs, mode & 0o777, size], [true, true, 0o600, 0]);
		const again = openOutput(join(open, 'new'));
		closeSync(again.fd ?? assert.fail());
		assert.equal(again.isNew, false);
	},
);
