import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installCommand, installCommands } from '../../../../src/symbolize/symbols/packages.js';
import { temporaryFolder } from '../support.js';

function rootWith(osRelease: string, lists: Record<string, string> = {}): string {
	const root = temporaryFolder();
	mkdirSync(join(root, 'etc'));
	mkdirSync(join(root, 'var/lib/dpkg/info'), { recursive: true });
	writeFileSync(join(root, 'etc/os-release'), osRelease);
	for (const [name, text] of Object.entries(lists)) {
		writeFileSync(join(root, 'var/lib/dpkg/info', name), text);
	}
	return root;
}

test('Debian and Ubuntu: the package that has the file', () => {
	const root = rootWith('NAME="Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', {
		'libfoo1:amd64.list': '/.\n/lib\n/lib/libfoo.so.1\n',
		'foo-tools.list': '/.\n/usr/bin/foo\n/usr/bin/foo-more\n',
		'foo-chroot.list': '/.\n/opt/chroot/usr/bin/bar\n/opt/chroot/usr/bin/foo\n',
		'foo-tools.md5sums': '/.\n/usr/bin/bar\n',
		'libstdc++6.0:amd64.list': '/.\n/usr/lib/libstdc++.so.6\n',
	});
	const command = 'apt-get install foo-tools-dbgsym (or foo-tools-dbg)';
	assert.equal(installCommand('/usr/bin/foo', root), command);
	const library = 'apt-get install libfoo1-dbgsym (or libfoo1-dbg)';
	assert.equal(installCommand('/usr/lib/libfoo.so.1', root), library, 'with merged folders');
	const cxx = 'apt-get install libstdc++6.0-dbgsym (or libstdc++6.0-dbg)';
	assert.equal(installCommand('/usr/lib/libstdc++.so.6', root), cxx);
	const before = readdirSync('/proc/self/fd').length;
	assert.equal(installCommand('/usr/bin/fo', root), undefined);
	assert.equal(installCommand('/usr/bin/bar', root), undefined);
	assert.equal(readdirSync('/proc/self/fd').length, before, 'something stays open');
	// The process has it by the link, and the list by where that leads to.
	const other = rootWith('ID=debian\n', { 'libbar2.list': '/.\n/usr/lib/libbar.so.2\n' });
	const linked = 'apt-get install libbar2-dbgsym (or libbar2-dbg)';
	assert.equal(installCommand('/lib/libbar.so.2', other), linked);
});

test('several files at once: each gets its own package, of its own system', () => {
	const debian = rootWith('ID=debian\n', {
		'foo.list': '/.\n/usr/bin/foo\n/usr/bin/foot\n',
		'zoo.list': '/.\n/usr/bin/bar\n/usr/bin/foo\n',
	});
	const other = rootWith('ID=debian\n', { 'other.list': '/.\n/usr/bin/foo\n' });
	const fedora = rootWith('ID=fedora\n');
	const asked = [
		{ path: '/usr/bin/bar', root: debian },
		{ path: '/usr/bin/foo', root: debian },
		{ path: '/usr/bin/none', root: debian },
		{ path: '/usr/bin/foo', root: other },
		{ path: '/usr/bin/foo', root: fedora },
	];
	const named = installCommands(asked).map((command) => command?.split(' ')[2]);
	assert.deepEqual(named, ['zoo-dbgsym', 'foo-dbgsym', undefined, 'other-dbgsym', '$(rpm']);
});

test('a list may be 8 MiB long; a longer one is not read', () => {
	const list = (bytes: number) => `/.\n/usr/bin/foo\n`.padEnd(bytes, 'x');
	const found = (bytes: number) =>
		installCommand('/usr/bin/foo', rootWith('ID=debian\n', { 'foo.list': list(bytes) }));
	assert.match(found(2 ** 23) ?? '', /^apt-get install foo-dbgsym/);
	assert.equal(found(2 ** 23 + 1), undefined);
});

test('a name of a package that is none is not put into a command', () => {
	const root = rootWith('ID=debian\n', { '$(reboot).list': '/.\n/usr/bin/foo\n' });
	assert.equal(installCommand('/usr/bin/foo', root), undefined);
});

test('each system by its own name, or by that of what it is like', () => {
	const first = (osRelease: string) =>
		installCommand(
			'/usr/bin/foo',
			rootWith(osRelease, { 'foo.list': '/usr/bin/foo\n\n/usr/bin/foo\n' }),
		)?.split(' ')[0];
	assert.equal(first('ID=debian\n'), 'apt-get');
	assert.equal(first('ID=ubuntu\n'), 'apt-get');
	assert.equal(first('ID=fedora\n'), 'dnf');
	assert.equal(first('ID="rhel"\n'), 'dnf');
	assert.equal(first('ID=rocky\nID_LIKE="rhel centos fedora"\n'), 'dnf');
	assert.equal(first('VARIANT_ID=debian\nID=void\n'), undefined);
});

test('Fedora and its like; paths with anything that a shell understands are left out', () => {
	const root = rootWith('ID="rhel"\nID_LIKE="fedora"\n');
	const command = 'dnf debuginfo-install $(rpm -qf /usr/bin/foo)';
	assert.equal(installCommand('/usr/bin/foo', root), command);
	assert.equal(installCommand('/usr/bin/foo;reboot', root), undefined);
	assert.equal(installCommand('/usr/bin/foo bar', root), undefined);
});

test('other systems, and none', () => {
	assert.equal(installCommand('/usr/bin/foo', rootWith('ID=arch\n')), undefined);
	assert.equal(installCommand('/usr/bin/foo', join(temporaryFolder(), 'nowhere')), undefined);
});

test('a package that is not named after the file is found, and one that is, first', () => {
	const named = {
		'foo.list': '/.\n/usr/bin/foo\n',
		'aaa.list': '/.\n/usr/bin/foo\n/usr/bin/bar\n',
	};
	const root = rootWith('ID=debian\n', named);
	assert.match(installCommand('/usr/bin/foo', root) ?? '', /install foo-dbgsym/);
	assert.match(installCommand('/usr/bin/bar', root) ?? '', /install aaa-dbgsym/);
});
