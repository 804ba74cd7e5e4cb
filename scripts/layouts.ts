/**
 * Writes src/generated: the layout of every struct, variable and map of the BPF objects, read from
 * their own BTF, and the list of tools. Struct layouts are thereby never typed twice; a name that
 * is gone from the BPF side is a type error in TypeScript.
 *
 * Run by the build: node layouts.mjs OBJECT_DIR… (one for each architecture; they must agree).
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { Btf, type Struct } from '../src/loader/btf.js';
import { libbpf } from '../src/loader/ffi.js';
import type { MapLayout, ObjectLayout, StructLayout } from '../src/loader/layout.js';
import { mapsOf, programsOf } from '../src/loader/maps-and-programs.js';
import { viewMemory } from '../src/loader/memory.js';

const OUT = 'src/generated';
/** What src/loader and src/bpf need of every object; the same in all. */
const COMMON = ['bpf_prog_info', 'loss'];

/** Of all objects. */
const tracepoints = new Set<string>();

function readLayout(path: string, name: string): ObjectLayout {
	const c = libbpf();
	c.libbpf_set_print(null);
	const object = c.bpf_object__open_file(path, null);
	if (object === null) throw new Error(`cannot open ${path}`);
	// libbpf, opening an object, fills in the offsets of variables, which the compiler leaves out.
	const size: [number] = [0];
	const raw = c.btf__raw_data(c.bpf_object__btf(object), size);
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
		const [, tracepoint] = /^tp_btf\/(.+)$/.exec(c.bpf_program__section_name(program)) ?? [];
		if (tracepoint) tracepoints.add(tracepoint);
	}
	c.bpf_object__close(object);
	return { name, ...exportedTypes(btf, name), sections, maps, programs };
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
	const fields: Record<string, { offset: number; size: number }> = {};
	for (const field of struct.fields) {
		if (!field.name.startsWith('unused_'))
			fields[field.name] = { offset: field.offset_bytes, size: field.size_bytes };
	}
	return { size: struct.size_bytes, fields };
}

function write(file: string, text: string): void {
	writeFileSync(`${OUT}/${file}`, `// Written by scripts/layouts.ts; do not edit.\n${text}`);
}

const [firstDirectory, ...otherDirectories] = process.argv.slice(2);
if (!firstDirectory) throw new Error('usage: layouts OBJECT_DIR…');
mkdirSync(OUT, { recursive: true });

for (const file of readdirSync(firstDirectory)) {
	const name = file.replace(/\.bpf\.o$/, '');
	const layout = readLayout(`${firstDirectory}/${file}`, name);
	for (const directory of otherDirectories) {
		const other = readLayout(`${directory}/${file}`, name);
		if (JSON.stringify(other) !== JSON.stringify(layout)) {
			throw new Error(`${file} is laid out differently in ${firstDirectory} and ${directory}`);
		}
	}
	write(`${name}.ts`, `export const ${name} = ${JSON.stringify(layout, null, '\t')} as const;\n`);
	const types: Record<string, unknown> = { ...layout.structs, ...layout.enums };
	const common = COMMON.map(
		(type) => `export const ${type} = ${JSON.stringify(types[type], null, '\t')} as const;`,
	);
	write('common.ts', `${common.join('\n')}\n`);
}

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
