/** Containers, as container runtimes name their cgroups. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { cgroupOfContainer, containerOf, type Found } from '../../../src/proc/containers.js';

const ID = 'a1b2c3d4e5f6'.padEnd(64, '7');
const OTHER = 'a1b2c3ffffff'.padEnd(64, '7');
const UID = '0d5f1c2e-1111-2222-3333-444455556666';

test('the cgroup of a container is its own, whoever runs it', () => {
	const known: readonly [path: string, id: string, kind: string][] = [
		[`/docker/${ID}`, ID, ''],
		[`/system.slice/docker-${ID}.scope`, ID, 'docker'],
		[`/kubepods.slice/kubepods-pod1.slice/cri-containerd-${ID}.scope`, ID, 'cri-containerd'],
		[`/kubepods/burstable/pod${UID}/${ID}`, ID, ''],
		[`/kubepods.slice/crio-${ID}.scope`, ID, 'crio'],
		[`/machine.slice/libpod-${ID}.scope`, ID, 'libpod'],
		[`/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${ID}.scope`, ID, 'libpod'],
		[`/kubepods/besteffort/pod${UID}`, UID, 'pod'],
		[`/kubepods.slice/kubepods-burstable-pod${UID.replaceAll('-', '_')}.slice`, UID, 'pod'],
		[`/kubepods.slice/kubepods-pod${UID.replaceAll('-', '_')}.slice`, UID, 'pod'],
		[`/kubepods/burstable/pod${'0123456789abcdef'.repeat(2)}`, '0123456789abcdef'.repeat(2), 'pod'],
		['/machine.slice/machine-web\\x2d1.scope', 'web-1', 'machine'],
		['/machine.slice/systemd-nspawn@deb.service', 'deb', 'machine'],
		['/lxc.payload.db', 'db', 'machine'],
	];
	for (const [path, id, kind] of known) assert.deepEqual(containerOf(path), { id, kind }, path);
});

test('what only watches a container, holds several, or is no container is none', () => {
	for (const path of [
		'/',
		'/system.slice/docker.service',
		`/machine.slice/libpod-conmon-${ID}.scope`,
		`/kubepods.slice/crio-conmon-${ID}.scope`,
		`/system.slice/docker-${ID.slice(1)}.scope`,
		`/docker/${ID}/init`,
		'/kubepods.slice/kubepods-burstable.slice',
		'/kubepods/podlike',
		'/user.slice/user-1000.slice',
	])
		assert.equal(containerOf(path), undefined, path);
});

const THERE: readonly Found[] = [
	{ id: ID, kind: 'docker', path: `/system.slice/docker-${ID}.scope` },
	{ id: OTHER, kind: 'docker', path: `/system.slice/docker-${OTHER}.scope` },
	{ id: 'web', kind: 'machine', path: '/machine.slice/machine-web.scope' },
	{ id: 'web-1', kind: 'machine', path: '/machine.slice/machine-web-1.scope' },
	{ id: UID, kind: 'pod', path: `/kubepods/pod${UID}` },
];
const refused = (text: string, there = THERE): string => {
	try {
		return assert.fail(cgroupOfContainer(text, there));
	} catch (error) {
		assert.ok(error instanceof UsageError, `${error}`);
		return error.message;
	}
};

test('a container by its ID, by as much of that as is its own, by its name', () => {
	for (const [text, at] of [
		[ID, 0],
		['a1b2c3d', 0],
		[OTHER.slice(0, 12), 1],
		['web', 2],
		['web-1', 3],
		['0d5f', 4],
	] as const)
		assert.equal(cgroupOfContainer(text, THERE), THERE[at]?.path, text);
});

test('a whole name is no beginning of another one', () => {
	const longer = { id: 'webs10', kind: 'machine', path: '/machine.slice/machine-webs10.scope' };
	const whole = { id: 'webs', kind: 'machine', path: '/machine.slice/machine-webs.scope' };
	assert.equal(cgroupOfContainer('webs', [longer, whole]), whole.path);
});

test('a container within one of the same name is in it', () => {
	const inner = {
		id: 'web',
		kind: 'machine',
		path: '/machine.slice/machine-web.scope/lxc.payload.web',
	};
	assert.equal(cgroupOfContainer('web', [inner, ...THERE]), '/machine.slice/machine-web.scope');
});

test('none, or several: which there are', () => {
	assert.match(
		refused('a1b2c3'),
		/several begin so: a1b2c3d4e5f6 \(docker\), a1b2c3ffffff \(docker\)/,
	);
	assert.match(
		refused('a1b'),
		/no container a1b; there are a1b2c3d4e5f6 \(docker\), .*web \(machine\)/,
	);
	assert.match(refused('nginx'), /docker inspect --format '\{\{\.Id\}\}' NAME/);
	assert.match(refused('nginx', []), /no container nginx has a cgroup here\./);
	const twins = ['/a/machine-x.scope', '/b/machine-x.scope'].map((path) => ({
		id: 'x',
		kind: '',
		path,
	}));
	assert.match(refused('x', twins), /several begin so: x, x/);
	// One beside the other is not in it, though its path begins so.
	const beside = ['', '.scope'].map((end) => ({ id: ID, kind: '', path: `/docker/${ID}${end}` }));
	assert.match(refused(ID, beside), /several begin so/);
});

test('of many containers five are named, and how many more there are', () => {
	const named = (count: number) =>
		Array.from({ length: count }, (_, i) => ({
			id: `c${i}`,
			kind: '',
			path: `/lxc.payload.c${i}`,
		}));
	assert.match(refused('none', named(5)), /there are c0, c1, c2, c3, c4\. /);
	assert.match(refused('none', named(6)), /there are c0, c1, c2, c3, c4, and 1 more\. /);
	assert.match(refused('none', named(9)), /there are c0, c1, c2, c3, c4, and 4 more\. /);
	// Of those that are meant, not of all.
	assert.doesNotMatch(refused('a1b2'), /web/);
});
