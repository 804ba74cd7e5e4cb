/** Of which mounts files are read at once, and which are asked first whether they answer. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { answers, isLocalDevice, isOnLocalMount, silentMounts } from '../../../src/proc/answers.js';
import { temporaryFolder } from '../symbolize/support.js';
import { questions } from './asked.js';
import { fakeProc, NOBODY, statText } from './fake-proc.js';

const THEIRS = `/proc/${NOBODY}`;
let namespaces = 0;

/** How a process sees mounts, in a namespace that nobody has looked at before: they are known for a while. */
function viewOf(process: string, mounts: readonly string[], namespace = `mnt:[${++namespaces}]`) {
	return {
		files: { [`${process}/mounts`]: mounts.map((mount) => `${mount} 0 0\n`).join('') },
		links: { [`${process}/ns/mnt`]: namespace, [`${process}/root`]: '/' },
	};
}

type View = ReturnType<typeof viewOf>;
const both = (one: View, other: View, links: Readonly<Record<string, string>> = {}) => ({
	files: { ...one.files, ...other.files },
	links: { ...one.links, ...other.links, ...links },
});

const LOCAL = '/dev/vda / ext4 rw';

test('which mount a path of another process leads into, and whether its files are of this machine', (t) => {
	const theirs = viewOf(THEIRS, [
		LOCAL,
		'server:/x /mnt/nfs nfs4 rw,hard',
		'tmpfs /mnt/nfs/memory tmpfs rw',
		'app /mnt/fuse fuse.sshfs rw',
		// Of several in one place the last one is seen.
		'none /mnt/twice fuse rw',
		'/dev/vdb /mnt/twice xfs rw',
		'/dev/vdb /mnt/again xfs rw',
		'none /mnt/again fuse rw',
	]);
	fakeProc(t, both(viewOf('/proc/self', ['none / fuse rw']), theirs));
	const isLocal = (path: string) => isOnLocalMount(`${THEIRS}/root${path}`);
	for (const path of ['', '/x', '/mnt/nfs/memory', '/mnt/nfs/memory/x', '/mnt/twice/x'])
		assert.equal(isLocal(path), true, path);
	for (const path of ['/mnt/nfs', '/mnt/nfs/x\ny', '/mnt/fuse/x', '/mnt/again/x'])
		assert.equal(isLocal(path), false, path);
	assert.equal(isOnLocalMount(`/proc/${NOBODY}1/root/x`), true, 'a process that is gone');
});

test('a path of our own, also from the folder that we are in', (t) => {
	fakeProc(t, viewOf('/proc/self', [LOCAL, `none ${process.cwd()} fuse rw`]));
	assert.equal(isOnLocalMount('x'), false);
	assert.equal(isOnLocalMount('../x'), true);
	assert.equal(isOnLocalMount('/etc/hostname'), true);
});

test('what a process has mapped, or executes, is where its own mounts have it', (t) => {
	const links = {
		[`${THEIRS}/exe`]: '/mnt/app',
		[`${THEIRS}/map_files/1000-2000`]: '/mnt/library (deleted)',
	};
	const mounts = [LOCAL, 'none /mnt fuse rw'];
	const say = fakeProc(t, both(viewOf('/proc/self', [LOCAL]), viewOf(THEIRS, mounts), links));
	const found = () =>
		['exe', 'map_files/1000-2000'].map((path) => isOnLocalMount(`${THEIRS}/${path}`));
	assert.deepEqual(found(), [false, false]);
	// Of the same namespace, links are as we see them, whatever the root of the process is.
	const ours = viewOf('/proc/self', mounts, 'mnt:[the same]');
	const theirs = viewOf(THEIRS, [LOCAL], 'mnt:[the same]');
	theirs.links[`${THEIRS}/root`] = '/jail';
	say(both(ours, theirs, links));
	assert.deepEqual(found(), [false, false]);
	assert.equal(isOnLocalMount(`${THEIRS}/map_files/3000-4000`), true, 'nothing is mapped there');
});

test('what is mapped of a mount that was taken away has a path like any other: its device tells', (t) => {
	const clock = questions(t);
	const seen = (device: string, type: string, options = 'rw') =>
		`24 1 ${device} / /mnt rw,noatime shared:1 master:2 - ${type} /dev/vda ${options}\n`;
	const mapped = (i: number) => `${THEIRS}/map_files/${i}000-${i + 1}000`;
	const links = Object.fromEntries([1, 2, 3].map((i) => [mapped(i), `/x${i}.so`]));
	/** Whether nobody is asked about it, as it is of this machine. */
	const isLocal = (device: { major: number; minor: number }, own: string, theirs: string) => {
		const views = both(viewOf('/proc/self', [LOCAL]), viewOf(THEIRS, [LOCAL]), links);
		const infos = { '/proc/self/mountinfo': own, [`${THEIRS}/mountinfo`]: theirs };
		fakeProc(t, { ...views, files: { ...views.files, ...infos } });
		clock.now_ms += 20_000;
		const before = clock.asked.length;
		for (const i of [1, 2, 3]) assert.equal(answers(mapped(i), device), true);
		const count = clock.asked.length - before;
		// What is asked about is the mount, and not each of its files.
		assert.ok(count <= 1);
		assert.equal(isOnLocalMount(mapped(1)), count === 0);
		assert.equal(isLocalDevice(NOBODY, device), count === 0);
		return count === 0;
	};
	const device = { major: 254, minor: 55 };
	const disk = seen('8:1', 'ext4');
	assert.equal(isLocal(device, disk, disk), false);
	assert.equal(isLocal(device, disk, disk + seen('254:55', 'xfs')), true);
	assert.equal(isLocal(device, seen('254:55', 'xfs') + disk, disk), true);
	assert.equal(isLocal(device, disk, disk + seen('254:55', 'fuse.sshfs')), false);
	assert.equal(isLocal(device, disk, seen('55:254', 'ext4')), false);
	assert.equal(
		isLocal(device, disk, seen('254:55', 'overlay', 'rw,lowerdir=/a,upperdir=/b')),
		true,
	);
	// Of the kernel's own there is no mount.
	assert.equal(isLocal({ major: 0, minor: 1 }, disk, disk), true);
	assert.equal(isLocal({ major: 0, minor: 10 }, disk, disk), false);
});

test('of a process whose root is no mount, /proc says no mounts: it is asked, and not taken for one of this machine', (t) => {
	const clock = questions(t);
	fakeProc(t, both(viewOf('/proc/self', [LOCAL]), viewOf(THEIRS, [])));
	assert.equal(isOnLocalMount(`${THEIRS}/root/x`), false);
	for (const path of ['x', 'y']) assert.equal(answers(`${THEIRS}/root/${path}`), true);
	assert.equal(clock.asked.length, 1);
});

test('an overlay is of this machine if all its layers are, as we see them', (t) => {
	const own = [LOCAL, 'none /remote fuse rw'];
	const isLocal = (options: string) => {
		const theirs = viewOf(THEIRS, [`overlay / overlay rw,${options}`]);
		fakeProc(t, both(viewOf('/proc/self', own), theirs));
		return isOnLocalMount(`${THEIRS}/root/x`);
	};
	assert.equal(isLocal('lowerdir=/a:/b,upperdir=/c,workdir=/w'), true);
	assert.equal(isLocal('lowerdir=/remote/a:/b,upperdir=/c'), false);
	assert.equal(isLocal('lowerdir=/a:/remote/b,upperdir=/c'), false);
	assert.equal(isLocal('lowerdir=/a:/b,upperdir=/remote/c'), false);
	// Each by itself, as programs mount that use fsconfig(2).
	assert.equal(isLocal('lowerdir+=/a,lowerdir+=/b'), true);
	assert.equal(isLocal('lowerdir+=/a,lowerdir+=/remote/b'), false);
	assert.equal(isLocal('lowerdir+=/a,datadir+=/remote/b'), false);
	// Nobody knows from which folder.
	assert.equal(isLocal('lowerdir=l/AB:l/CD,upperdir=/c'), true);
});

test('with another root a process sees other mounts, though it is in the same namespace', (t) => {
	const other = `/proc/${NOBODY + 1}`;
	const [first, second] = [
		viewOf(THEIRS, [LOCAL], 'mnt:[shared]'),
		viewOf(other, ['none / fuse rw'], 'mnt:[shared]'),
	];
	second.links[`${other}/root`] = '/jail';
	fakeProc(t, both(first, second));
	const found = [THEIRS, other, THEIRS].map((each) => isOnLocalMount(`${each}/root/x`));
	assert.deepEqual(found, [true, false, true]);
});

test('mounts are read again after a while: they come and go', (t) => {
	const { links, files } = viewOf(THEIRS, ['none / fuse rw']);
	const clock = questions(t);
	const say = fakeProc(t, { links, files });
	const isLocal = () => isOnLocalMount(`${THEIRS}/root/x`);
	assert.equal(isLocal(), false);
	assert.equal(isOnLocalMount(`${THEIRS}/root`), false);
	say({ links, ...{ files: viewOf(THEIRS, [LOCAL]).files } });
	clock.now_ms += 900;
	assert.equal(isLocal(), false);
	clock.now_ms += 200;
	assert.equal(isLocal(), true);
});

test('a mount of another machine is asked, with the file that is wanted; one of this machine is not', (t) => {
	const ask = questions(t);
	fakeProc(t, viewOf(THEIRS, [LOCAL, 'server:/x /mnt nfs4 rw']));
	assert.equal(answers(`${THEIRS}/root/etc/x`), true);
	assert.equal(ask.asked.length, 0);
	assert.equal(answers(`${THEIRS}/root/mnt/x`), true);
	assert.equal(ask.asked.length, 1);
	assert.equal(ask.asked[0]?.at(-1), `${THEIRS}/root/mnt/x`);
	// It is believed for 10 s, whichever file is wanted.
	ask.now_ms += 9_900;
	assert.equal(answers(`${THEIRS}/root/mnt/y`), true);
	assert.equal(ask.asked.length, 1);
	ask.now_ms += 200;
	assert.equal(answers(`${THEIRS}/root/mnt/y`), true);
	assert.equal(ask.asked.length, 2);
});

test('a mount that does not answer is told once, whoever sees it; others of its kind are none of it', async (t) => {
	const ask = questions(t);
	const mounts = ['dead:/x /dead nfs4 rw', 'dead:/x /dead/too nfs4 rw'];
	const say = fakeProc(t, viewOf(THEIRS, mounts));
	ask.silence();
	assert.equal(answers(`${THEIRS}/root/dead/x`), false);
	assert.equal(answers(`${THEIRS}/root/dead/too/x`), false);
	// In another container.
	const [first, second] = [viewOf(THEIRS, mounts), viewOf(THEIRS, mounts)];
	say(first);
	assert.equal(answers(`${THEIRS}/root/dead/x`), false);
	assert.deepEqual(
		silentMounts()
			.filter(({ folder }) => folder.startsWith('/dead'))
			.map(({ folder, type }) => [folder, type]),
		[
			['/dead', 'nfs4'],
			['/dead/too', 'nfs4'],
		],
	);
	assert.equal(ask.asked.length, 3);
	await ask.speak();
	say(second);
	assert.equal(answers(`${THEIRS}/root/dead/x`), true, 'a view of its own has its own answer');
	say(first);
	assert.equal(answers(`${THEIRS}/root/dead/x`), true, 'it answers by now');
});

test('what a process has mapped is not looked at while its memory does not answer', async (t) => {
	const ask = questions(t);
	const stat = statText({ 0: 'D', 17: 1 });
	fakeProc(t, {
		folders: { [`${THEIRS}/task`]: [`${NOBODY}`] },
		files: { [`${THEIRS}/task/${NOBODY}/stat`]: stat },
	});
	ask.silence();
	assert.equal(answers(`${THEIRS}/map_files/1000-2000`), false);
	assert.equal(ask.asked[0]?.at(-1), `${THEIRS}/cmdline`);
	assert.equal(answers(`${THEIRS}/exe`), true, 'nobody needs its memory for that');
	await ask.speak();
	assert.equal(answers(`${THEIRS}/map_files/1000-2000`), true);
});

test('who asks reads a byte of a file, and waits for nobody who may write into a pipe', (t) => {
	const ask = questions(t);
	fakeProc(t, viewOf(THEIRS, ['server:/x / nfs4 rw']));
	answers(`${THEIRS}/root/x`);
	const [[program = '', ...words] = []] = ask.asked;
	const folder = temporaryFolder();
	const statusOf = (path: string) =>
		spawnSync(program, [...words.slice(0, -1), path], { stdio: 'ignore', timeout: 5000 }).status;
	assert.equal(statusOf(process.execPath), 0);
	assert.equal(statusOf(join(folder, 'none')), 1);
	execFileSync('mkfifo', [join(folder, 'pipe')]);
	assert.equal(statusOf(join(folder, 'pipe')), 1);
});
