/** libbpf finds in the few types that it is given what it finds in all of the kernel's. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { libbpf, libbpfFunction, type Pointer } from '../../src/loader/ffi.js';
import { kernelBtf } from '../../src/loader/kernel.js';
import { KernelTypes } from '../../src/loader/kernel-types.js';
import type { ObjectLayout } from '../../src/loader/layout.js';
import { programsOf } from '../../src/loader/maps-and-programs.js';
import { viewMemory } from '../../src/loader/memory.js';
import { runToEnd, TSTRACE } from './support.js';

const FOLDER = `dist/bpf/${process.arch}`;
/** include/uapi/linux/bpf.h, struct bpf_insn: a 64-bit constant, which may stand for a map. */
const INSTRUCTION_BYTES = 8;
const LD_IMM64 = 0x18;

const instructions = libbpfFunction('const void *bpf_program__insns(const void *program)') as (
	program: Pointer,
) => Pointer;
const count = libbpfFunction('size_t bpf_program__insn_cnt(const void *program)') as (
	program: Pointer,
) => number;

/** All programs as the kernel would get them, whether or not it takes them; without descriptors of maps. */
function programsFrom(path: string, types: KernelTypes | undefined): Record<string, string> {
	const c = libbpf();
	c.libbpf_set_print(null);
	const open = (options: Uint8Array | null) => c.bpf_object__open_file(path, options);
	const object = types ? types.give(open) : open(null);
	assert.notEqual(object, null, path);
	const programs = [...programsOf(object)];
	for (const program of programs) c.bpf_program__set_autoload(program, true);
	c.bpf_object__load(object);
	const found = Object.fromEntries(
		programs.map((program) => {
			const bytes = Number(count(program)) * INSTRUCTION_BYTES;
			const code = Buffer.from(viewMemory(instructions(program), bytes).slice(0));
			for (let at = 0; at < code.length; at += INSTRUCTION_BYTES) {
				const isMap = code[at] === LD_IMM64 && ((code[at + 1] as number) & 0xf0) !== 0;
				if (isMap) code.writeUInt32LE(0, at + 4);
			}
			return [c.bpf_program__name(program), code.toString('hex')];
		}),
	);
	c.bpf_object__close(object);
	return found;
}

for (const file of readdirSync(FOLDER)) {
	test(`${file}: programs are what libbpf makes of them with all types`, async () => {
		const name = file.replace(/\.bpf\.o$/, '');
		const generated = await import(`../../src/generated/${name}.js`);
		const layout = generated[name] as ObjectLayout;
		const types = KernelTypes.of(layout.kernelTypes ?? []);
		assert.ok(types);
		try {
			const few = programsFrom(`${FOLDER}/${file}`, types);
			const all = programsFrom(`${FOLDER}/${file}`, undefined);
			assert.deepEqual(Object.keys(few).sort(), [...layout.programs].sort());
			for (const program of layout.programs) assert.equal(few[program], all[program], program);
		} finally {
			types.close();
		}
	});
}

test('a type that the kernel does not have: libbpf looks by itself, in modules too', () => {
	assert.ok(kernelBtf().subset(['struct task_struct']));
	const types = ['struct task_struct', 'struct no_such_struct_at_all'];
	assert.equal(KernelTypes.of(types), undefined);
});

test('files may not be as large as those types: libbpf looks by itself', () => {
	const limited = `ulimit -f 100; exec ${TSTRACE} runqlat 0.1 1`;
	const { status, stderr } = runToEnd('sh', ['-c', limited]);
	assert.equal(status, 0, stderr);
});
