import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOfMapped, runtimeOf } from '../../../../src/symbolize/symbols/jit.js';

test('Python that can write a perf map, and Python that cannot', () => {
	for (const name of ['python3.12', 'python3.20', 'libpython3.13.so.1.0'])
		assert.equal(runtimeOf([`/usr/bin/${name}`]), 'python', name);
	for (const name of ['python3.9', 'python3.11', 'libpython3.11.so.1.0', 'libpython3.7m.so.1.0'])
		assert.equal(runtimeOf([`/usr/bin/${name}`]), 'python before 3.12', name);
	for (const name of ['python2.7', 'python3.11-config', 'libpython3.so'])
		assert.equal(runtimeOf([`/usr/bin/${name}`]), undefined, name);
});

test('Node.js and Java, as programs and as libraries', () => {
	for (const name of ['node', 'nodejs', 'libnode.so', 'libnode.so.108'])
		assert.equal(runtimeOf([`/usr/bin/${name}`]), 'node', name);
	for (const name of ['java', 'libjvm.so'])
		assert.equal(runtimeOf(['/bin/sh', `/opt/jdk/lib/server/${name}`]), 'jvm', name);
	for (const name of ['nodejs-helper', 'anode', 'javac', 'libjvm.so.debug', 'libnode.a'])
		assert.equal(runtimeOf([`/usr/bin/${name}`, '', '[heap]']), undefined, name);
	assert.equal(runtimeOf(['node']), 'node');
});

test('whose language a name of a perf map is in: as node 20, python 3.12 and HotSpot write them', () => {
	const names = {
		javascript: ['JS:~handle /srv/a.js:3:1', 'LazyCompile:*f /srv/a.js:1:1', 'Script:~ /a.js:1:1'],
		python: ['py::Server.handle:/srv/app.py'],
		jit: ['Builtin:ArrayForEach', 'int shop.Cart.add(int)', 'Interpreter', 'my py::f', 'RegExp:a'],
	};
	for (const [kind, all] of Object.entries(names))
		for (const name of all) assert.equal(kindOfMapped(name), kind, name);
});
