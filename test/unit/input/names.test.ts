/** Names that formats have for kinds of code and for units. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOfFile } from '../../../src/input/frame-kinds.js';
import { inUnit } from '../../../src/input/units.js';

test('the kind of code that a file has: the kernel and its modules, what a JIT wrote, all else', () => {
	const kinds = {
		kernel: [
			...['[kernel]', '[kernel.kallsyms]', '[guest.kernel.kallsyms]', '/boot/vmlinux'],
			...['/usr/lib/debug/boot/vmlinux-6.1.0-9-amd64', '/lib/modules/6.1/fs/ext4.ko'],
			...['/lib/modules/6.1/a.ko.gz', '/lib/modules/6.1/a.ko.xz', '/lib/modules/6.1/a.ko.zst'],
		],
		jit: ['[jit]', '/tmp/perf-12.map'],
		inlined: ['[inlined]'],
		javascript: ['[javascript]'],
		python: ['[python]'],
		user: [
			...['', '/usr/bin/app', '[kernelish]', '/opt/myvmlinux', '/usr/bin/vmlinux-tools/app'],
			...['/srv/perf-12.map.gz', '/srv/my-perf-12.map', '/usr/lib/gecko', '[vdso]', 'a.ko.js'],
		],
	} as const;
	for (const [kind, files] of Object.entries(kinds))
		for (const file of files) assert.equal(kindOfFile(file), kind, file);
});

test('units of time become nanoseconds, by all their names; bytes stay; others are not known', () => {
	const factors = {
		1: ['nanoseconds', 'nanosecond', 'ns'],
		1e3: ['microseconds', 'microsecond', 'us'],
		1e6: ['milliseconds', 'millisecond', 'ms'],
		1e9: ['seconds', 'second', 's'],
	};
	for (const [factor, names] of Object.entries(factors))
		for (const name of names)
			assert.deepEqual(inUnit(name), { unit: 'ns', factor: Number(factor) }, name);
	for (const name of ['bytes', 'byte'])
		assert.deepEqual(inUnit(name), { unit: 'bytes', factor: 1 }, name);
	for (const name of ['count', 'none', 'samples', '', 'constructor'])
		assert.equal(inUnit(name), undefined, name);
});
