import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import {
	bpfAllowed,
	kernelFunctions,
	lackingForBpf,
	ownCapabilities,
	ownPidNamespace,
	requireBpfPrivileges,
} from '../../../src/loader/kernel.js';
import { withFiles } from './replaced.js';

const MODULE = new URL('../../../src/loader/kernel.js', import.meta.url).href;

/** Uses up the descriptors, and prints what the error then says. */
const WITHOUT_DESCRIPTORS = `
import { openSync } from 'node:fs';
const kernel = await import(process.argv[1]);
try {
	for (;;) openSync('/dev/null');
} catch (error) {
	if (error.code !== 'EMFILE') throw error;
}
for (const ask of [kernel.ownCapabilities, kernel.kernelBtf]) {
	try {
		ask();
	} catch (error) {
		console.log(error.message);
	}
}
`;

test('without a descriptor left, the kernel is not said to lack anything', () => {
	const node = [process.execPath, '--input-type=module', '-e', WITHOUT_DESCRIPTORS, MODULE];
	const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$@"', ...node], {
		encoding: 'utf8',
	});
	assert.match(stdout, /^cannot read \/proc\/self\/status: too many open files; .*\n/);
	assert.match(stdout, /^cannot read \/sys\/kernel\/btf\/vmlinux: too many open files; .*\n$/m);
});

test('the first PID namespace is 0, as numbers are global there; any other is its inode', (t) => {
	const inode = (ino: number) => {
		const { mock } = t.mock.method(fs, 'statSync', () => ({ ino }));
		syncBuiltinESMExports();
		try {
			return ownPidNamespace();
		} finally {
			mock.restore();
			syncBuiltinESMExports();
		}
	};
	// include/linux/proc_ns.h
	assert.deepEqual([inode(0xeffffffc), inode(0xf0000123)], [0, 0xf0000123]);
});

/** While this process has these capabilities, by their numbers: include/uapi/linux/capability.h. */
function having<T>(numbers: readonly number[], work: () => T): T {
	const mask = numbers.reduce((all, number) => all | (1n << BigInt(number)), 0n);
	const hex = mask.toString(16).padStart(16, '0');
	// What could be in effect, and what is not, are no matter.
	const status = `Name:\tnode\nCapPrm:\tffffffffffffffff\nCapEff:\t${hex}\nCapBnd:\tffffffffffffffff\n`;
	return withFiles({ '/proc/self/status': status }, work);
}

test('capabilities are those that are in effect, by the bits of their numbers', () => {
	assert.deepEqual(
		[...having([14, 21, 39], ownCapabilities)],
		[...['CAP_IPC_LOCK', 'CAP_SYS_ADMIN', 'CAP_BPF']],
	);
	assert.deepEqual(
		[...having([19, 34, 38], ownCapabilities)],
		[...['CAP_SYS_PTRACE', 'CAP_SYSLOG', 'CAP_PERFMON']],
	);
	assert.deepEqual([...having([0, 15, 20, 22, 37, 40], ownCapabilities)], []);
});

test('programs may be loaded with CAP_SYS_ADMIN, or with both that are less', () => {
	const [ADMIN, PERFMON, BPF] = [21, 38, 39];
	for (const [has, lacks] of [
		[[ADMIN], []],
		[[BPF, PERFMON], []],
		[[BPF], ['CAP_PERFMON']],
		[[PERFMON], ['CAP_BPF']],
		[[], ['CAP_BPF', 'CAP_PERFMON']],
	] as const) {
		assert.deepEqual(lackingForBpf(having(has, ownCapabilities)), lacks);
		assert.equal(having(has, bpfAllowed), lacks.length === 0);
		if (lacks.length === 0) having(has, requireBpfPrivileges);
		else
			assert.throws(() => having(has, requireBpfPrivileges), {
				message: new RegExp(`^tracing needs ${lacks.join(' and ')}: run tstrace as root`),
			});
	}
});

test('a function of the kernel is found by its whole name, and is code', () => {
	const kallsyms = [
		...['ffffffff81000000 T finish_task_switch.isra.0', 'ffffffff81000100 t local_one'],
		...['ffffffff81000200 D data_one', 'ffffffff81000300 T longer_name_of_one', ''],
	].join('\n');
	const names = ['local_one', 'finish_task_switch', 'finish_task_switch.isra.0', 'data_one'];
	const found = withFiles({ '/proc/kallsyms': kallsyms }, () =>
		kernelFunctions([...names, 'name_of_one']),
	);
	assert.deepEqual(found, ['local_one', 'finish_task_switch.isra.0']);
});
