/** Writes ELF files, also such as no linker would: every number can be given. Source: man 5 elf. */

const HEADER_BYTES = 64;
const SEGMENT_BYTES = 56;
const SECTION_BYTES = 64;

export interface SectionSpec {
	readonly name?: string;
	readonly type?: number;
	readonly flags?: number;
	readonly address?: number;
	/** Its bytes; or else where they are said to be. */
	readonly data?: Uint8Array;
	/** The bytes are those of another section, counted from 0 as given. */
	readonly dataOf?: number;
	readonly offset?: bigint;
	readonly size?: bigint;
	readonly link?: number;
}

interface SegmentSpec {
	readonly type: number;
	readonly flags?: number;
	readonly address: number;
	/** The section, counted from 0 as given, whose bytes it has; else the whole file. */
	readonly dataOf?: number;
}

interface ElfSpec {
	readonly machine?: number;
	readonly sections?: readonly SectionSpec[];
	readonly segments?: readonly SegmentSpec[];
	/** Written over what the header would have: offset, bytes, value. */
	readonly header?: readonly (readonly [at: number, bytes: 2 | 4 | 8, value: bigint])[];
	/** Written over the first section header, which has numbers too large for the header. */
	readonly first?: readonly (readonly [at: number, bytes: 4 | 8, value: bigint])[];
	/** In the place of the sections' names; the first section's is at 1, the next one's at 2. */
	readonly names?: Buffer;
}

interface Place {
	readonly offset: number;
	readonly size: number;
}

/** The sections given become 1, 2, …; the last one is the table of their names. */
export function elfOf(spec: ElfSpec): Buffer {
	const { sections = [], segments = [], machine = 62 } = spec;
	const names = spec.names ?? namesOf(sections);
	const nameAt = (name: string, i: number) =>
		spec.names ? i : Math.max(0, names.indexOf(`\0${name}\0`) + 1);
	const parts: Buffer[] = [Buffer.alloc(HEADER_BYTES + segments.length * SEGMENT_BYTES)];
	let end = (parts[0] as Buffer).length;
	const put = (bytes: Uint8Array): Place => {
		const padding = -end & 15;
		parts.push(Buffer.alloc(padding), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
		const place = { offset: end + padding, size: bytes.length };
		end = place.offset + place.size;
		return place;
	};
	const places = sections.map(({ data }) => (data ? put(data) : { offset: 0, size: 0 }));
	const namesAt = put(names);
	const all = [{}, ...sections, { name: '.shstrtab', type: 3 }];
	const table = Buffer.alloc(all.length * SECTION_BYTES);
	for (const [i, section] of all.entries()) {
		if (i === 0) continue;
		const place = i === all.length - 1 ? namesAt : (places[section.dataOf ?? i - 1] as Place);
		writeSection(table.subarray(i * SECTION_BYTES), section, place, nameAt(section.name ?? '', i));
	}
	for (const [at, bytes, value] of spec.first ?? []) write(table, at, bytes, value);
	const tableAt = put(table).offset;
	const whole = Buffer.concat(parts);
	writeHeader(whole, { machine, segments: segments.length, tableAt, sections: all.length });
	for (const [i, segment] of segments.entries()) {
		const { dataOf } = segment;
		const place = dataOf === undefined ? { offset: 0, size: end } : (places[dataOf] as Place);
		writeSegment(whole.subarray(HEADER_BYTES + i * SEGMENT_BYTES), segment, place);
	}
	for (const [at, bytes, value] of spec.header ?? []) write(whole, at, bytes, value);
	return whole;
}

function namesOf(sections: readonly SectionSpec[]): Buffer {
	const all = new Set(['', '.shstrtab', ...sections.map(({ name }) => name ?? '')]);
	return Buffer.from(`${[...all].join('\0')}\0`);
}

function writeSection(out: Buffer, section: SectionSpec, place: Place, name: number): void {
	out.writeUInt32LE(name, 0);
	out.writeUInt32LE(section.type ?? 1, 4);
	write(out, 8, 8, BigInt(section.flags ?? 0));
	write(out, 16, 8, BigInt(section.address ?? 0));
	write(out, 24, 8, section.offset ?? BigInt(place.offset));
	write(out, 32, 8, section.size ?? BigInt(place.size));
	out.writeUInt32LE(section.link ?? 0, 40);
}

function writeSegment(out: Buffer, { type, flags = 0, address }: SegmentSpec, place: Place): void {
	out.writeUInt32LE(type, 0);
	out.writeUInt32LE(flags, 4);
	write(out, 8, 8, BigInt(place.offset));
	write(out, 16, 8, BigInt(address));
	write(out, 32, 8, BigInt(place.size));
}

function writeHeader(
	out: Buffer,
	of: { machine: number; segments: number; tableAt: number; sections: number },
): void {
	Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(out);
	out.writeUInt16LE(of.machine, 18);
	write(out, 32, 8, BigInt(HEADER_BYTES));
	write(out, 40, 8, BigInt(of.tableAt));
	out.writeUInt16LE(SEGMENT_BYTES, 54);
	out.writeUInt16LE(of.segments, 56);
	out.writeUInt16LE(SECTION_BYTES, 58);
	const large = of.sections > 0xfeff;
	if (large) write(out, of.tableAt + 32, 8, BigInt(of.sections));
	if (large) out.writeUInt32LE(of.sections - 1, of.tableAt + 40);
	out.writeUInt16LE(large ? 0 : of.sections, 60);
	out.writeUInt16LE(large ? 0xffff : of.sections - 1, 62);
}

function write(out: Buffer, at: number, bytes: 2 | 4 | 8, value: bigint): void {
	if (bytes === 8) out.writeBigUInt64LE(BigInt.asUintN(64, value), at);
	else out.writeUIntLE(Number(value), at, bytes);
}

export interface SymbolSpec {
	readonly name: number;
	readonly section: number;
	readonly address: number;
	readonly size: number;
	/** Global functions, unless it is said. */
	readonly info?: number;
}

export function symbolsOf(symbols: readonly SymbolSpec[]): Buffer {
	const out = Buffer.alloc(24 * symbols.length);
	for (const [i, { name, section, address, size, info = 0x12 }] of symbols.entries()) {
		out.writeUInt32LE(name, i * 24);
		out.writeUInt8(info, i * 24 + 4);
		out.writeUInt16LE(section, i * 24 + 6);
		write(out, i * 24 + 8, 8, BigInt(address));
		write(out, i * 24 + 16, 8, BigInt(size));
	}
	return out;
}

/** A relocation for the slot of a procedure linkage table's entry. */
export function relocationOf(slot: number, symbol: number): Buffer {
	const out = Buffer.alloc(24);
	write(out, 0, 8, BigInt(slot));
	out.writeUInt32LE(7, 8);
	out.writeUInt32LE(symbol, 12);
	return out;
}
