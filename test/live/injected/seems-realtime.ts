/**
 * For node's --import, into tstrace: the kernel seems to be PREEMPT_RT, and to have a ring buffer whose lock
 * its BTF does not show.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

const VMLINUX = '/sys/kernel/btf/vmlinux';

const btf = fs.readFileSync(VMLINUX);
const name = btf.indexOf('\0bpf_ringbuf\0');
if (name < 0) throw new Error('no bpf_ringbuf in BTF');
btf.write('X', name + 1);
// A worker thread imports this, too: the same file would be cut short while it is read.
const copy = join(os.tmpdir(), `tstrace-test-realtime-${process.pid}-${threadId}`);
fs.writeFileSync(copy, btf);
process.on('exit', () => fs.rmSync(copy, { force: true }));

os.version = () => '#1 SMP PREEMPT_RT';
const ofCopy = {
	apply: (
		call: (...args: unknown[]) => unknown,
		self: unknown,
		[path, ...rest]: [path: unknown, ...rest: unknown[]],
	) => Reflect.apply(call, self, [path === VMLINUX ? copy : path, ...rest]),
};
// BTF is mapped, or read where the kernel does not let it be mapped.
fs.readFileSync = new Proxy(fs.readFileSync, ofCopy as ProxyHandler<typeof fs.readFileSync>);
fs.openSync = new Proxy(fs.openSync, ofCopy as ProxyHandler<typeof fs.openSync>);
syncBuiltinESMExports();
