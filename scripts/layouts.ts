/**
 * Writes src/generated: the layout of every struct, variable and map of the BPF objects, read from
 * their own BTF, and the list of tools. Struct layouts are thereby never typed twice; a name that
 * is gone from the BPF side is a type error in TypeScript.
 *
 * Run by the build: node layouts.mjs FOLDER… with the objects of each architecture in a folder of
 * its own there; they must agree.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { Btf, type Struct } from '../src/loader/btf.js';
import { libbpf, libbpfFunction, type Pointer } from '../src/loader/ffi.js';
import type { FieldLayout, MapLayout, ObjectLayout, StructLayout } from '../src/loader/layout.js';
import { mapsOf, programsOf } from '../src/loader/maps-and-programs.js';
import { viewMemory } from '../src/loader/memory.js';
import { kernelTypesOf } from './kernel-types.js';

const OUT = 'src/generated';

/** Of all objects. */
const tracepoints = new Set<string>();
const layouts: ObjectLayout[] = [];

const objectBtf = libbpfFunction('void *bpf_object__btf(const void *object)') as (
	object: Pointer,
) => Pointer;
const rawData = libbpfFunction(
	'const void *btf__raw_data(const void *btf, _Out_ uint32_t *size)',
) as (btf: Pointer, size: [number]) => Pointer;
const sectionName = libbpfFunction(
	'const char *bpf_program__section_name(const void *program)',
) as (program: Pointer) => string;

function readLayout(path: string, name: string): ObjectLayout {
	const c = libbpf();
	c.libbpf_set_print(null);
	const object = c.bpf_object__open_file(path, null);
	if (object === null) throw new Error(`cannot open ${path}`);
	// libbpf, opening an object, fills in the offsets of variables, which the compiler leaves out.
	const size: [number] = [0];
	const raw = rawData(objectBtf(object), size);
	const btf = new Btf(new Uint8Array(viewMemory(raw, size[0]).slice(0)));

	const sections: Record<string, StructLayout> = {};
	for (const section of ['.rodata', '.bss']) {
		const layout = btf.section(section);
		sections[section] = layout ? toLayout(layout) : { size: 0, fields: {} };
	}
	const maps: Record<string, MapLayout> = {};
	for (const map of mapsOf(object)) {
		// A name with a dot is a data section's.
		if (c.bpf_map__name(map).includes('.')) continue;
		maps[c.bpf_map__name(map)] = {
			keySize: c.bpf_map__key_size(map),
			valueSize: c.bpf_map__value_size(map),
		};
	}
	const programs = [...programsOf(object)].map((program) => c.bpf_program__name(program));
	for (const program of programsOf(object)) {
		const [, tracepoint] = /^tp_btf\/(.+)$/.exec(sectionName(program)) ?? [];
		if (tracepoint) tracepoints.add(tracepoint);
	}
	c.bpf_object__close(object);
	const kernelTypes = kernelTypesOf(path);
	return { name, ...exportedTypes(btf, name), sections, maps, programs, kernelTypes };
}

/** EXPORT_TYPE (bpf/lib/kernel.h) marks what user space wants with a variable named for it. */
function exportedTypes(btf: Btf, name: string): Pick<ObjectLayout, 'structs' | 'enums'> {
	const structs: Record<string, StructLayout> = {};
	const enums: Record<string, Record<string, number>> = {};
	for (const { name: variable } of btf.section('.bss')?.fields ?? []) {
		const type = /^unused_(.+)$/.exec(variable)?.[1];
		if (!type) continue;
		const struct = btf.struct(type);
		const values = btf.enumValues(type);
		if (struct) structs[type] = toLayout(struct);
		else if (values) enums[type] = values;
		else throw new Error(`${name}: EXPORT_TYPE of ${type}, which is no struct or enum`);
	}
	return { structs, enums };
}

function toLayout(struct: Struct): StructLayout {
	const fields: Record<string, FieldLayout> = {};
	for (const { name, offset_bytes: offset, size_bytes: size, bit } of struct.fields) {
		if (!name.startsWith('unused_'))
			fields[name] = { offset, size, ...(bit === undefined ? {} : { bit }) };
	}
	return { size: struct.size_bytes, fields };
}

function write(file: string, text: string): void {
	writeFileSync(`${OUT}/${file}`, `// Written by scripts/layouts.ts; do not edit.\n${text}`);
}

/** Of an object of each architecture. */
function agreed(folder: string, file: string): ObjectLayout {
	const [first, ...others] = readdirSync(folder).map((arch) =>
		readLayout(`${folder}/${arch}/${file}`, file.replace(/\.bpf\.o$/, '')),
	);
	if (!first) throw new Error(`${folder} has no folder of an architecture`);
	if (others.some((other) => JSON.stringify(other) !== JSON.stringify(first)))
		throw new Error(`${folder}: ${file} is laid out differently by architecture`);
	return first;
}

/**
 * For code that is of no one object: types that several export, which have to be the same in all, and `maps`, those
 * that are the same wherever they are.
 */
function common(objects: readonly ObjectLayout[]): Record<string, unknown> {
	const types = alike(objects.map(({ structs, enums }) => ({ ...structs, ...enums })));
	const maps = alike(objects.map((object) => object.maps));
	if (types.different.length > 0)
		throw new Error(`laid out differently by object: ${types.different.join(', ')}`);
	return { ...types.same, maps: maps.same };
}

/** What several of these have, by its name. */
function alike(each: ReadonlyArray<Readonly<Record<string, unknown>>>): {
	same: Record<string, unknown>;
	different: string[];
} {
	const same: Record<string, unknown> = {};
	const different: string[] = [];
	for (const name of [...new Set(each.flatMap(Object.keys))].sort()) {
		const found = each.filter((values) => name in values).map((values) => values[name]);
		const texts = new Set(found.map((value) => JSON.stringify(value)));
		if (texts.size > 1) different.push(name);
		else if (found.length > 1) same[name] = found[0];
	}
	return { same, different };
}

/** A constant for each. */
function constants(values: Record<string, unknown>): string {
	const lines = Object.entries(values).map(
		([name, value]) => `export const ${name} = ${JSON.stringify(value, null, '\t')} as const;\n`,
	);
	return lines.join('');
}

mkdirSync(OUT, { recursive: true });

for (const folder of process.argv.slice(2)) {
	for (const file of readdirSync(`${folder}/${process.arch}`)) {
		const layout = agreed(folder, file);
		const { name, structs, enums, programs } = layout;
		// Without programs it is there for its types only.
		write(
			`${name}.ts`,
			constants(programs.length > 0 ? { [name]: layout } : { ...structs, ...enums }),
		);
		if (programs.length > 0) layouts.push(layout);
	}
}
write('common.ts', constants(common(layouts)));

const names = JSON.stringify([...tracepoints].sort(), null, '\t');
write('tracepoints.ts', `export const tracepoints = ${names} as const;\n`);
write('tools.ts', listOf('tools'));
write('converters.ts', listOf('converters'));

/** Of a folder's modules, NAME.ts or NAME/NAME.ts; each exports a declaration of that name. */
function listOf(folder: string): string {
	const loaders = readdirSync(`src/${folder}`).map((entry) => {
		const name = entry.replace(/\.ts$/, '');
		const file = name === entry ? `${name}/${name}` : name;
		return `\t${name}: async () => (await import('../${folder}/${file}.js')).${name},\n`;
	});
	return `export const ${folder} = {\n${loaders.join('')}};\n`;
}
