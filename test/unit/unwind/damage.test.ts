/** Frames of a real file, damaged; and bytes that are none: no throw, nothing without a bound. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { parseMaps } from '../../../src/proc/maps.js';
import { unwindTable } from '../../../src/unwind/table.js';
import { elfOf } from '../hostile/elf-builder.js';
import { damaged } from '../hostile/mutations.js';
import { parse } from '../hostile/parsers.js';

const TEXT_BYTES = 2 ** 20;

/** The dynamic linker's: small, with signal frames and expressions. */
function linkersFrames(): { bytes: Buffer; address: number; machine: number } {
	const { path } =
		parseMaps(readFileSync('/proc/self/maps', 'utf8')).find((entry) =>
			/\/ld[-.][^/]*$/.test(entry.path),
		) ?? assert.fail('no dynamic linker');
	const elf = new Elf(new MemoryBytes(readFileSync(path)));
	const section = elf.section('.eh_frame') ?? assert.fail(path);
	return { bytes: elf.contents(section), address: section.address, machine: elf.machine };
}

function fileWith(frames: Uint8Array, address: number, machine: number): Buffer {
	return elfOf({
		machine,
		sections: [
			{ name: '.text', address: 0, data: Buffer.alloc(TEXT_BYTES) },
			{ name: '.eh_frame', address, data: frames },
		],
		segments: [{ type: 1, flags: 1, address: 0, dataOf: 0 }],
	});
}

test('frames of a real file, damaged', async () => {
	const { bytes, address, machine } = linkersFrames();
	const rowsOf = (frames: Buffer) =>
		unwindTable(new MemoryBytes(fileWith(frames, address, machine))).rows.addresses.length;
	const all = rowsOf(bytes);
	assert.ok(all > 500, `${all} rows`);
	await fc.assert(
		fc.asyncProperty(damaged(bytes), async (frames) => {
			await parse('tables of frames', fileWith(frames, address, machine), '');
		}),
		{ numRuns: 300 },
	);
	// What is not damaged is read.
	const most = rowsOf(bytes.subarray(0, bytes.length * 0.75));
	assert.ok(most > all / 2, `${most} of ${all}`);
});

test('bytes that are no frames', async () => {
	const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 });
	/** With a length that is right in front, so that it is an entry. */
	const entries = fc.array(bytes, { maxLength: 5 }).map((all) =>
		Buffer.concat(
			all.map((body) => {
				const length = Buffer.alloc(4);
				length.writeUInt32LE(body.length);
				return Buffer.concat([length, body]);
			}),
		),
	);
	await fc.assert(
		fc.asyncProperty(fc.oneof(bytes, entries), fc.constantFrom(62, 183), (frames, machine) =>
			parse('tables of frames', fileWith(frames, 2 ** 21, machine), ''),
		),
		{ numRuns: 300 },
	);
});
