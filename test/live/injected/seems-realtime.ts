/**
 * For node's --import, into tstrace: the kernel seems to be PREEMPT_RT, and to have a ring buffer whose lock
 * its BTF does not show.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

const VMLINUX = '/sys/kernel/btf/vmlinux';

os.version = () => '#1 SMP PREEMPT_RT';
fs.readFileSync = new Proxy(fs.readFileSync, {
	apply(readFileSync, self, args: [path: unknown]) {
		const read: unknown = Reflect.apply(readFileSync, self, args);
		if (args[0] === VMLINUX && Buffer.isBuffer(read)) {
			const name = read.indexOf('\0bpf_ringbuf\0');
			if (name < 0) throw new Error('no bpf_ringbuf in BTF');
			read.write('X', name + 1);
		}
		return read;
	},
});
// As before Linux 6.16, where it cannot be mapped.
fs.openSync = new Proxy(fs.openSync, {
	apply(openSync, self, args: [path: unknown]) {
		if (args[0] === VMLINUX) throw new Error('ENODEV');
		return Reflect.apply(openSync, self, args);
	},
});
syncBuiltinESMExports();
