/** Which of the kernel's types the programs of a BPF object refer to, by the relocations that libbpf resolves. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { FileBytes } from '../src/elf/bytes.js';
import { Elf } from '../src/elf/elf.js';
import { BtfTypes } from '../src/loader/btf-types.js';

/** tools/lib/bpf/libbpf_internal.h, struct btf_ext_header: where the part of these relocations is noted. */
const HEADER_LENGTH_AT = 4;
const RELOCATIONS_AT = 24;
/** struct btf_ext_info_sec, before its records. */
const SECTION_BYTES = 8;
/** enum bpf_core_relo_kind: relocations to numbers of types, which only all of the kernel's types can tell. */
const TYPE_ID_TARGET = 7;
const KIND_AT = 12;

/** Their names, without what is behind three underscores, in order. Throws where a smaller set of types would not do. */
export function kernelTypesOf(path: string): string[] {
	const fd = openSync(path, 'r');
	try {
		const elf = new Elf(new FileBytes(fd, fstatSync(fd).size));
		const section = (name: string): Buffer => {
			const found = elf.section(name);
			return found ? elf.contents(found) : Buffer.alloc(0);
		};
		const relocations = section('.BTF.ext');
		if (relocations.length === 0) return [];
		const types = new BtfTypes(section('.BTF'));
		const names = [...referredTo(relocations)].map((id) => essential(types.name(id)));
		return [...new Set(names)].sort();
	} finally {
		closeSync(fd);
	}
}

function* referredTo(ext: Buffer): Iterable<number> {
	const from = ext.readUInt32LE(HEADER_LENGTH_AT) + ext.readUInt32LE(RELOCATIONS_AT);
	const end = from + ext.readUInt32LE(RELOCATIONS_AT + 4);
	const recordBytes = from < end ? ext.readUInt32LE(from) : 0;
	for (let at = from + 4; at < end; ) {
		const count = ext.readUInt32LE(at + 4);
		at += SECTION_BYTES;
		for (let i = 0; i < count; i++, at += recordBytes) {
			if (ext.readUInt32LE(at + KIND_AT) === TYPE_ID_TARGET)
				throw new Error('a BPF program asks for the number of a type of the kernel');
			yield ext.readUInt32LE(at + 4);
		}
	}
}

/** As libbpf takes it: "task_struct" of "task_struct___held". */
function essential(name: string): string {
	return /^(.*[^_])___[^_].*$/.exec(name)?.[1] ?? name;
}
