/**
 * For node's --import, into tstrace: the kernel seems to have no CONFIG_CFS_BANDWIDTH, and task_struct's on_cpu
 * and on_rq as 7.x has them, by the types that libbpf relocates programs with.
 */
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { endianness, tmpdir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

const VMLINUX = '/sys/kernel/btf/vmlinux';
const QUOTAS = [
	'throttle_count',
	'throttled',
	'throttled_clock_self',
	'throttled_clock_self_time',
	'throttled_clock_pelt_time',
	'throttled_clock_task_time',
];
const NARROW = ['on_cpu', 'on_rq'];
/** Documentation/bpf/btf.rst */
const KIND_STRUCT = 4;
const HEAD_BYTES = 12;
const MEMBER_BYTES = 12;

const btf = fs.readFileSync(VMLINUX);
const headerBytes = btf.readUInt32LE(4);
const typesAt = headerBytes + btf.readUInt32LE(8);
const stringsAt = headerBytes + btf.readUInt32LE(16);

function nameAt(name: string): number {
	return btf.indexOf(`\0${name}\0`, stringsAt) + 1 - stringsAt;
}

/** Where the members of a struct are. */
function membersOf(struct: string): number[] {
	const name = nameAt(struct);
	for (let at = typesAt; at < stringsAt; at += 4) {
		const info = btf.readUInt32LE(at + 4);
		if (btf.readUInt32LE(at) === name && ((info >>> 24) & 31) === KIND_STRUCT)
			return Array.from({ length: info & 0xffff }, (_, i) => at + HEAD_BYTES + i * MEMBER_BYTES);
	}
	throw new Error(`no struct ${struct} in BTF`);
}

function member(struct: string, field: string): number {
	const name = nameAt(field);
	const found = membersOf(struct).find((at) => btf.readUInt32LE(at) === name);
	if (found === undefined) throw new Error(`${struct} has no ${field} in BTF`);
	return found;
}

if (endianness() !== 'LE') throw new Error('the first byte of an int has to be its lowest');
const u8 = btf.readUInt32LE(member('sched_entity', 'on_rq') + 4);
for (const field of NARROW) btf.writeUInt32LE(u8, member('task_struct', field) + 4);
for (const field of QUOTAS) {
	const at = nameAt(field);
	if (at > 0) btf.write('X', stringsAt + at);
}

// A worker thread imports this, too: the same file would be cut short while libbpf reads it.
const path = join(tmpdir(), `tstrace-test-btf-${process.pid}-${threadId}`);
fs.writeFileSync(path, btf);
process.on('exit', () => fs.rmSync(path, { force: true }));

fs.readFileSync = new Proxy(fs.readFileSync, {
	apply: (readFileSync, self, args: [path: unknown]) =>
		args[0] === VMLINUX ? btf : Reflect.apply(readFileSync, self, args),
});
// Where the kernel lets it be mapped.
fs.openSync = new Proxy(fs.openSync, {
	apply: (openSync, self, [name, ...rest]: [path: unknown, ...rest: unknown[]]) =>
		Reflect.apply(openSync, self, [name === VMLINUX ? path : name, ...rest]),
});
syncBuiltinESMExports();

interface Library {
	func(prototype: string): (...args: unknown[]) => unknown;
}
interface Koffi {
	load(path: string | null): Library;
	address(memory: Uint8Array): bigint;
}
const { default: koffi } = createRequire(import.meta.url)('koffi') as { default: Koffi };

/** libbpf.h, struct bpf_object_open_opts, up to btf_custom_path. */
const options = Buffer.alloc(56);
const pathBytes = Buffer.from(`${path}\0`);
options.writeBigUInt64LE(BigInt(options.length), 0);
options.writeBigUInt64LE(koffi.address(pathBytes), 48);

koffi.load = new Proxy(koffi.load, {
	apply(load, self, args: [path: string | null]) {
		const library = Reflect.apply(load, self, args);
		const func = (prototype: string) => {
			const declared = library.func(prototype);
			if (!prototype.includes('bpf_object__open_file(')) return declared;
			return (object: unknown) => declared(object, options);
		};
		return new Proxy(library, { get: (_, name) => (name === 'func' ? func : undefined) });
	},
});
