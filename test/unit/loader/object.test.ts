/** An object's life, as far as libbpf goes without the kernel: an object of ours is opened and set up, and not loaded. */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runqlat as layout } from '../../../src/generated/runqlat.js';
import { libbpf } from '../../../src/loader/ffi.js';
import { takeMessages } from '../../../src/loader/libbpf-messages.js';
import { BpfObject } from '../../../src/loader/object.js';
import { temporaryFolder } from '../symbolize/support.js';
import { fails, replace } from './replaced.js';

const PATH = `dist/bpf/${process.arch}/runqlat.bpf.o`;
const folder = temporaryFolder();
type Layout = typeof layout;

/** Without the kernel's types, which are another matter. */
function opened(t: TestContext, like: object = {}, path = PATH): BpfObject<Layout> {
	const object = new BpfObject(path, { ...layout, kernelTypes: undefined, ...like } as never);
	t.after(() => object.close());
	return object as BpfObject<Layout>;
}

const [program = assert.fail()] = layout.programs;

test('constants lie where programs read them, and are as wide as there', (t) => {
	const object = opened(t);
	const { fields } = layout.sections['.rodata'];
	const memory = object.map('.rodata' as never).initialValue();
	const bytes = () => new Uint8Array(memory.buffer).slice();
	const before = bytes();
	const { slower_than_ns, filter_by_tid, filter_only_tgid } = fields;
	assert.deepEqual([slower_than_ns.size, filter_by_tid.size, filter_only_tgid.size], [8, 1, 4]);
	object.setConstants({
		slower_than_ns: 2 ** 40 + 5,
		filter_by_comm: true, // right behind the next one
		filter_by_tid: true,
		filter_only_tgid: 0x8123_4567,
	});
	assert.equal(memory.getBigUint64(slower_than_ns.offset, true), 2n ** 40n + 5n);
	assert.equal(memory.getUint8(filter_by_tid.offset), 1);
	assert.equal(memory.getUint8(fields.filter_by_comm.offset), 1);
	assert.equal(memory.getUint32(filter_only_tgid.offset, true), 0x8123_4567);
	const isOurs = (at: number) =>
		[slower_than_ns, filter_by_tid, fields.filter_by_comm, filter_only_tgid].some(
			({ offset, size }) => at >= offset && at < offset + size,
		);
	assert.ok(
		bytes().every((byte, at) => isOurs(at) || byte === before[at]),
		'nothing else changes',
	);
	const mask = object.constantBytes('filter_cpus');
	assert.equal(mask.byteLength, fields.filter_cpus.size);
	mask.setUint8(3, 0x55);
	assert.equal(memory.getUint8(fields.filter_cpus.offset + 3), 0x55);
	assert.throws(() => object.setConstants({ filter_cpus: 1 } as never), {
		message: `a variable of ${fields.filter_cpus.size} bytes is not a number`,
	});
	assert.throws(() => object.setConstants({ nothing: 1 } as never), /has no variable nothing$/);
});

test('an object of another build is not used: of a map or a section that differs', (t) => {
	const { losses } = layout.maps;
	const { bpf_object__close } = libbpf();
	let closed = 0;
	replace(t, libbpf(), {
		bpf_object__close: (object) => {
			closed++;
			bpf_object__close(object);
		},
	});
	for (const [like, what] of [
		[{ maps: { losses: { ...losses, valueSize: 16 } } }, 'map losses'],
		[{ maps: { losses: { ...losses, keySize: 8 } } }, 'map losses'],
		[{ maps: { more: losses } }, 'map more'],
		[{ sections: { '.bss': { size: 8192, fields: {} } } }, 'section .bss'],
		[{ sections: { '.rodata': { size: 8, fields: {} } } }, 'section .rodata'],
		[{ sections: { '.more': { size: 8, fields: {} } } }, 'section .more'],
	] as const)
		assert.throws(() => opened(t, like), {
			message: `BPF object ${PATH} is not of this build (${what}): run make, or install again`,
		});
	assert.equal(closed, 6);
});

test('who waits for programs puts a map into another one: that returns when they have ended', (t) => {
	const object = opened(t);
	const fds = new Map<unknown, number>();
	const updates: unknown[] = [];
	replace(t, libbpf(), {
		bpf_map__fd: (map) => {
			if (!fds.has(map)) fds.set(map, 60 + fds.size);
			return fds.get(map) ?? -1;
		},
		bpf_map_update_elem: (fd, key, value) => {
			updates.push([fd, [...(key ?? [])], [...value]]);
			return 0;
		},
	});
	const [barrier, inner] = ['barrier', 'barrier_inner'].map((name) => object.map(name as never).fd);
	object.waitForPrograms();
	assert.deepEqual(updates, [[barrier, [0, 0, 0, 0], [inner, 0, 0, 0]]]);
});

test('a file that is not there, or is no object', (t) => {
	const none = join(folder, 'none.bpf.o');
	assert.throws(() => opened(t, {}, none), {
		message: `BPF object ${none} is missing: run make, or install again`,
	});
	const broken = join(folder, 'broken.bpf.o');
	writeFileSync(broken, 'no object');
	assert.throws(
		() => opened(t, {}, broken),
		({ message, detail }: { message: string; detail: string }) => {
			assert.match(message, /^cannot open BPF object .*broken\.bpf\.o: \w+$/);
			// What libbpf said of it.
			return /libbpf: .*broken/.test(detail);
		},
	);
});

test('of what goes well libbpf says nothing, but where all is wanted', (t) => {
	takeMessages();
	opened(t);
	assert.equal(takeMessages(), '');
	const verbose = new BpfObject(PATH, { ...layout, kernelTypes: undefined } as never, {
		verbose: true,
	});
	t.after(() => verbose.close());
	assert.match(takeMessages(), /libbpf: .*runqlat/);
	assert.equal(takeMessages(), '', 'each is told once');
});

test('what an object does not have is said, and so is that it is closed', (t) => {
	const object = opened(t);
	assert.throws(() => object.map('nothing' as never), /no map nothing, or is closed$/);
	assert.throws(() => object.program('nothing' as never), /has no program nothing$/);
	assert.equal(object.map('losses').name, 'losses');
	object.close();
	object.close();
	assert.throws(() => object.map('losses'), /no map losses, or is closed$/);
	assert.throws(() => object.program(program), /has no program/);
});

test('those programs are loaded that are named, and all maps but those that are left out', (t) => {
	const object = opened(t);
	const created: (readonly [number: number, isCreated: boolean])[] = [];
	const pointers: bigint[] = [];
	replace(t, libbpf(), {
		bpf_object__load: () => 0,
		bpf_map__set_autocreate: (pointer, isCreated) => {
			pointers.push(pointer as bigint);
			created.push([pointers.length, isCreated]);
			return 0;
		},
	});
	object.load([program], ['losses']);
	const wanted = layout.programs.filter((name) => object.program(name).wanted);
	assert.deepEqual(wanted, [program]);
	assert.deepEqual(created, [[1, false]]);
	replace(t, libbpf(), { bpf_object__load: () => -1 });
	assert.throws(
		() => object.load([program]),
		/^TstraceError: cannot load the BPF object runqlat \(EPERM\)/,
	);
	// With what libbpf said meanwhile.
	const broken = join(folder, 'no-object');
	writeFileSync(broken, '');
	replace(t, libbpf(), {
		bpf_object__load: () => {
			libbpf().bpf_object__open_file(broken, null);
			return -1;
		},
	});
	assert.throws(
		() => object.load([program]),
		({ detail }: { detail: string }) => /libbpf: .*no-object/.test(detail),
	);
});

test('links end when programs are detached; what cannot be attached is said', (t) => {
	const object = opened(t);
	const ended: unknown[] = [];
	let next = 100n;
	replace(t, libbpf(), {
		bpf_program__attach: () => next++,
		bpf_link__destroy: (link) => ended.push(link),
	});
	object.attach(program);
	object.attach(program);
	object.detach();
	object.detach();
	assert.deepEqual(ended, [100n, 101n]);
	const attach = (errno: string) => {
		replace(t, libbpf(), {
			bpf_program__attach: () => {
				fails(errno);
				return null;
			},
		});
		object.attach(program);
	};
	const what = `cannot attach BPF program ${program}: `;
	assert.throws(() => attach('EPERM'), { message: `${what}EPERM` });
	assert.throws(() => attach('EMFILE'), {
		message: `${what}too many open files; raise the limit: ulimit -n 1024`,
	});
	replace(t, libbpf(), { bpf_program__attach: () => next++ });
	object.attach(program);
	object.close();
	assert.deepEqual(ended.length, 3);
});

/** An iterator whose output is what a file holds. */
function iterator(t: TestContext, text: string) {
	const path = join(folder, 'iterated');
	writeFileSync(path, text);
	const fds: number[] = [];
	const ended: unknown[] = [];
	replace(t, libbpf(), {
		bpf_program__attach_iter: () => 5n,
		bpf_link__fd: (link) => Number(link) + 1,
		bpf_iter_create: (fd) => {
			assert.equal(fd, 6);
			fds.push(openSync(path, 'r'));
			return fds.at(-1) ?? -1;
		},
		bpf_link__destroy: (link) => ended.push(link),
	});
	return { fds, ended };
}

const textOf = ({ buffer, byteOffset, byteLength }: DataView) =>
	Buffer.from(buffer, byteOffset, byteLength).toString();

test('an iterator gives all that it wrote, and leaves nothing open', async (t) => {
	const object = opened(t);
	const text = 'a thread\n'.repeat(20_000);
	const { fds, ended } = iterator(t, text);
	assert.equal(textOf(object.runIterator(program)), text);
	const { written, whole } = await object.runIteratorAside(program, { most_ms: 60_000 });
	assert.deepEqual([textOf(written).length, whole], [text.length, true]);
	// Where there is no time, not all of it.
	const none = await object.runIteratorAside(program, { most_ms: 0 });
	assert.deepEqual([none.written.byteLength, none.whole], [0, false]);
	assert.deepEqual(ended, [5n, 5n, 5n]);
	assert.equal(fds.length, 3);
	for (const fd of fds) assert.throws(() => fstatSync(fd), /EBADF/);
});

test('an iterator that cannot be run: why, and no link is left', (t) => {
	const object = opened(t);
	const { ended } = iterator(t, '');
	replace(t, libbpf(), { bpf_iter_create: () => fails('EPERM') });
	assert.throws(() => object.runIterator(program), {
		message: `cannot run BPF iterator ${program}: EPERM`,
	});
	assert.deepEqual(ended, [5n]);
	replace(t, libbpf(), {
		bpf_program__attach_iter: () => {
			fails('ENOMEM');
			return null;
		},
	});
	assert.throws(() => object.runIterator(program), /: no memory for its maps; raise the limit/);
});

test('variables are the memory of the section, one mapping for all, until the object is closed', (t) => {
	const object = opened(t);
	const { '.bss': section } = layout.sections;
	const path = join(folder, 'variables');
	writeFileSync(path, Buffer.alloc(8192));
	const fd = openSync(path, 'r+');
	t.after(() => closeSync(fd));
	replace(t, libbpf(), { bpf_map__fd: () => fd });
	object.setVariable('window', 1);
	const { offset, size } = section.fields.window;
	const memory = object.variableBytes('window');
	assert.deepEqual([memory.byteOffset, memory.byteLength], [offset, size]);
	assert.equal(memory.getUint32(0, true), 1);
	assert.throws(() => object.variableBytes('nothing' as never), /no variable nothing$/);
	const isMapped = () => readFileSync('/proc/self/maps', 'utf8').includes(path);
	assert.ok(isMapped());
	object.close();
	assert.ok(!isMapped());
});
