/** Which of the kernel's types the programs of a BPF object refer to, by the relocations that libbpf resolves. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { FileBytes } from '../src/elf/bytes.js';
import { Elf } from '../src/elf/elf.js';
import { kindName } from '../src/loader/btf-subset.js';
import { BtfTypes, KIND } from '../src/loader/btf-types.js';

/** tools/lib/bpf/libbpf_internal.h, struct btf_ext_header: where the part of these relocations is noted. */
const HEADER_LENGTH_AT = 4;
const RELOCATIONS_AT = 24;
/** struct btf_ext_info_sec, before its records. */
const SECTION_BYTES = 8;
/** enum bpf_core_relo_kind */
const RELOCATION = { typeIdLocal: 6, typeIdTarget: 7, typeExists: 8, typeMatches: 12 } as const;
const KIND_AT = 12;
/** Kinds of types that are told apart by what is in them, and not by what they point to. */
const WHOLE: ReadonlySet<number> = new Set([KIND.struct, KIND.union, KIND.enum, KIND.enum64]);

/**
 * "struct task_struct", without what is behind three underscores, in order. Throws where a smaller set of types would
 * not do.
 */
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
		const names = [...referredTo(relocations, types)].map(
			(id) => `${kindName(types.kind(id))} ${essential(types.name(id))}`,
		);
		return [...new Set(names)].sort();
	} finally {
		closeSync(fd);
	}
}

function* referredTo(ext: Buffer, types: BtfTypes): Iterable<number> {
	const from = ext.readUInt32LE(HEADER_LENGTH_AT) + ext.readUInt32LE(RELOCATIONS_AT);
	const end = from + ext.readUInt32LE(RELOCATIONS_AT + 4);
	const recordBytes = from < end ? ext.readUInt32LE(from) : 0;
	for (let at = from + 4; at < end; ) {
		const count = ext.readUInt32LE(at + 4);
		at += SECTION_BYTES;
		for (let i = 0; i < count; i++, at += recordBytes) {
			const id = ext.readUInt32LE(at + 4);
			const asked = ext.readUInt32LE(at + KIND_AT);
			if (asked === RELOCATION.typeIdLocal) continue;
			requireFew(asked, types.kind(id));
			yield id;
		}
	}
}

/** What only all of the kernel's types can tell: their numbers, and what pointers point to. */
function requireFew(asked: number, kind: number): void {
	if (asked === RELOCATION.typeIdTarget)
		throw new Error('a BPF program asks for the number of a type of the kernel');
	if (asked === RELOCATION.typeMatches || (asked === RELOCATION.typeExists && !WHOLE.has(kind)))
		throw new Error('a BPF program asks what a type of the kernel points to');
}

/** As libbpf takes it: "task_struct" of "task_struct___held". */
function essential(name: string): string {
	return /^(.*[^_])___[^_].*$/.exec(name)?.[1] ?? name;
}
