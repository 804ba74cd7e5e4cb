/**
 * Finds what a file says about its frames: .eh_frame, by its section or by .eh_frame_hdr, and
 * .debug_frame. Source: LSB 5, 10.6; DWARF 5, 6.4.1; the System V ABI, "Section Compression".
 */
import { inflateSync } from 'node:zlib';
import { readUint64, SymbolError } from '../elf/bytes.js';
import {
	type Elf,
	MACHINE,
	SECTION_TYPE,
	SEGMENT_TYPE,
	type Section,
	SHF_COMPRESSED,
} from '../elf/elf.js';
import { Cursor, type Origins } from './cursor.js';

const HEADER_BYTES = 4;
const POINTER_BYTES = 16;
const COMPRESSION_HEADER_BYTES = 24;
const COMPRESSED_BY_ZLIB = 1;
/** As much as is read of a section that is not compressed. */
const MAX_BYTES = 64 * 2 ** 20;

export interface FrameSection {
	readonly name: string;
	readonly bytes: Buffer;
	readonly origins: Origins;
	/** .eh_frame, whose entries differ a little from .debug_frame's. */
	readonly isEh: boolean;
	/** An entry without length is the end, as nothing else tells where that is. */
	readonly endsItself: boolean;
}

/** The first has precedence; each is read when it is asked for. What cannot be read is told to `problem`. */
export function* frameSections(
	elf: Elf,
	problem: (text: string) => void,
): Generator<FrameSection, void> {
	const ways: [string, () => FrameSection | undefined][] = [
		['.eh_frame', () => ehFrame(elf)],
		['.debug_frame', () => debugFrame(elf)],
	];
	for (const [name, read] of ways) {
		try {
			const section = read();
			if (section) yield section;
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
			problem(`${name}: ${error.message}`);
		}
	}
}

function ehFrame(elf: Elf): FrameSection | undefined {
	const section = elf.section('.eh_frame');
	if (!section) return byHeader(elf);
	const origins = { section: section.address, data: globalOffsetTable(elf) };
	const bytes = elf.contents(section);
	return { name: section.name, bytes, origins, isEh: true, endsItself: false };
}

/** Files without sections: the program headers know .eh_frame_hdr, and that knows .eh_frame. */
function byHeader(elf: Elf): FrameSection | undefined {
	const header = elf.segments.find(({ type }) => type === SEGMENT_TYPE.ehFrameHeader);
	if (!header) return undefined;
	const length = Math.min(header.size_bytes, HEADER_BYTES + POINTER_BYTES);
	const cursor = new Cursor(elf.bytes.read(header.offset, length));
	cursor.at = 1;
	const encoding = cursor.u8();
	cursor.at = HEADER_BYTES;
	const address = cursor.pointer(encoding, { section: header.address, data: header.address });
	const inside = elf.segments.find((segment) => {
		const { type, address: start, size_bytes } = segment;
		const isThere = address !== undefined && address >= start && address < start + size_bytes;
		return type === SEGMENT_TYPE.load && isThere;
	});
	if (address === undefined || !inside || cursor.isPast)
		throw new SymbolError('its header does not say where it is');
	const skipped = address - inside.address;
	const size = Math.min(inside.size_bytes - skipped, MAX_BYTES);
	const bytes = elf.bytes.read(inside.offset + skipped, size);
	const origins = { section: address, data: globalOffsetTable(elf) };
	return { name: '.eh_frame', bytes, origins, isEh: true, endsItself: true };
}

function debugFrame(elf: Elf): FrameSection | undefined {
	const section = elf.section('.debug_frame');
	if (!section) return undefined;
	const bytes = section.flags & SHF_COMPRESSED ? inflated(elf, section) : elf.contents(section);
	const origins = { section: section.address, data: undefined };
	return { name: section.name, bytes, origins, isEh: false, endsItself: false };
}

function inflated(elf: Elf, section: Section): Buffer {
	const packed = elf.contents(section);
	if (packed.length < COMPRESSION_HEADER_BYTES) throw new SymbolError('it is cut off');
	if (packed.readUInt32LE(0) !== COMPRESSED_BY_ZLIB)
		throw new SymbolError('it is compressed in a way that tstrace cannot read');
	const size_bytes = readUint64(packed, 8);
	if (size_bytes > MAX_BYTES) throw new SymbolError('a part is too large');
	try {
		const maxOutputLength = Math.max(1, size_bytes);
		return inflateSync(packed.subarray(COMPRESSION_HEADER_BYTES), { maxOutputLength });
	} catch {
		throw new SymbolError('what is compressed in it is damaged');
	}
}

/** What pointers may count from; undefined where the file has no such table. */
function globalOffsetTable(elf: Elf): number | undefined {
	const own = elf.machine === MACHINE.x64 ? elf.section('.got.plt') : undefined;
	const section = own ?? elf.section('.got');
	return section && section.type !== SECTION_TYPE.nobits ? section.address : undefined;
}
