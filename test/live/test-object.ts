/** Where a BPF object of test/bpf has its variables: of tools' own objects the build writes that down. */
import { Btf } from '../../src/loader/btf.js';
import { libbpf, libbpfFunction, type Pointer } from '../../src/loader/ffi.js';
import type { StructLayout } from '../../src/loader/layout.js';
import { viewMemory } from '../../src/loader/memory.js';

export const testObject = (name: string) => `build/test-bpf/${process.arch}/${name}.bpf.o`;

/** A data section of such an object, such as `.rodata`, by its own BTF, as scripts/layouts.ts reads it. */
export function sectionOf(name: string, section: string): StructLayout {
	const objectBtf = libbpfFunction('void *bpf_object__btf(const void *object)') as (
		object: Pointer,
	) => Pointer;
	const rawData = libbpfFunction(
		'const void *btf__raw_data(const void *btf, _Out_ uint32_t *size)',
	) as (btf: Pointer, size: [number]) => Pointer;
	const object = libbpf().bpf_object__open_file(testObject(name), null);
	if (object === null) throw new Error(`cannot open ${testObject(name)}`);
	try {
		const size: [number] = [0];
		const raw = rawData(objectBtf(object), size);
		const btf = new Btf(new Uint8Array(viewMemory(raw, size[0]).slice(0)));
		const { size_bytes = 0, fields = [] } = btf.section(section) ?? {};
		return {
			size: size_bytes,
			fields: Object.fromEntries(
				fields.map((each) => [each.name, { offset: each.offset_bytes, size: each.size_bytes }]),
			),
		};
	} finally {
		libbpf().bpf_object__close(object);
	}
}
