/** How the very file that a process has mapped is opened, wherever it is. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	closeSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	statSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HeldFiles, MappedFile } from '../../../../src/symbolize/mappings/mapped-file.js';
import { NOBODY } from '../../proc/fake-proc.js';
import { temporaryFolder } from '../support.js';

/** How often a container's file is open here. */
const timesOpen = () =>
	readdirSync('/proc/self/fd').filter((fd) => {
		try {
			return readlinkSync(`/proc/self/fd/${fd}`).includes('library');
		} catch {
			return false; // of the folder that was read
		}
	}).length;

/** The file that is at `path` here, as a mapping at `as` has it. */
function mappedAt(path: string, as = path): MappedFile {
	const { ino, dev } = statSync(path);
	const minor = (dev & 0xff) | ((dev >>> 12) & 0xfff00);
	return new MappedFile(as, ino, (dev >>> 8) & 0xfff, minor);
}

function textOf(file: MappedFile): string | undefined {
	const open = file.open();
	if (!open) return undefined;
	const text = readFileSync(open.fd, 'utf8');
	closeSync(open.fd);
	return text;
}

test('debug files are looked for in the roots of who has it mapped, the latest first, and in ours', () => {
	const held = new HeldFiles();
	const file = new MappedFile('/no/such/file', 1, 0, 0);
	assert.deepEqual(file.roots(), ['']);
	for (let i = 0; i < 10; i++) {
		file.learn(NOBODY + i, held);
		file.learn(NOBODY + i, held);
	}
	const latest = [9, 8, 7, 6, 5, 4, 3, 2].map((i) => `/proc/${NOBODY + i}/root`);
	assert.deepEqual(file.roots(), [...latest, '']);
	assert.equal(file.open(), undefined);
	const own = mappedAt(process.execPath);
	own.learn(process.pid, held);
	assert.deepEqual(own.roots(), ['']);
	assert.equal(held.count, 0);
});

test('a file whose time is to come has the contents that it has', () => {
	const path = join(temporaryFolder(), 'library');
	writeFileSync(path, 'text');
	utimesSync(path, 4e9, 4e9);
	const file = mappedAt(path);
	file.learn(process.pid, new HeldFiles());
	assert.equal(file.changed_ns, -Infinity);
	assert.equal(textOf(file), 'text');
});

/** A process with a file that only it sees. */
async function container(t: TestContext, text: string) {
	const script = `mount -t tmpfs none /mnt && printf '%s' '${text}' > /mnt/library && echo; read -r x`;
	const child = spawn('unshare', ['--mount', 'sh', '-c', script], {
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	t.after(() => child.kill('SIGKILL'));
	await once(child.stdout, 'data');
	const pid = child.pid ?? assert.fail();
	const end = async () => {
		child.stdin.end();
		await once(child, 'exit');
	};
	return { pid, end, seen: `/proc/${pid}/root/mnt/library` };
}

const AS_ROOT = process.getuid?.() === 0 ? {} : { skip: 'needs root, to mount' };

test(
	'a file of a container is read from there, and stays open when that ends, until it is forgotten',
	AS_ROOT,
	async (t) => {
		const { pid, end, seen } = await container(t, 'theirs');
		const held = new HeldFiles();
		const file = mappedAt(seen, '/mnt/library');
		const unlearnt = mappedAt(seen, '/mnt/library');
		file.learn(pid, held);
		assert.deepEqual(file.roots(), [`/proc/${pid}/root`, '']);
		assert.equal(textOf(file), 'theirs');
		assert.equal(unlearnt.open(), undefined);
		assert.equal(held.count, 1);
		await end();
		assert.equal(textOf(file), 'theirs');
		file.forget(held);
		assert.equal(held.count, 0);
		assert.equal(file.open(), undefined);
		assert.equal(timesOpen(), 0);
	},
);

test(
	'when as many are held as may be, others are read as long as who has them mapped is there',
	AS_ROOT,
	async (t) => {
		const { pid, end, seen } = await container(t, 'theirs');
		const full = { count: 256, add: () => assert.fail('it is held') } as unknown as HeldFiles;
		const file = mappedAt(seen, '/mnt/library');
		file.learn(pid, full);
		assert.equal(textOf(file), 'theirs');
		writeFileSync(seen, 'others');
		assert.equal(file.open(), undefined, 'it has other contents by now');
		assert.equal(timesOpen(), 0);
		await end();
		assert.equal(file.open(), undefined);
	},
);
