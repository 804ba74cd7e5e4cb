/** Against objdump, on the C libraries and allocators of this machine: all of their code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MemoryBytes } from '../../../../../src/elf/bytes.js';
import { Elf, MACHINE } from '../../../../../src/elf/elf.js';
import { functionCode, readText } from '../../../../../src/tools/memleak/machine-code/code.js';
import {
	placeProbe,
	type Register,
} from '../../../../../src/tools/memleak/machine-code/placement.js';
import { decode } from '../../../../../src/tools/memleak/machine-code/x86-decode.js';
import { type FunctionSymbol, functionsOf } from '../../../symbolize/support.js';
import { type Disassembled, disassemble } from './objdump.js';

const FOLDERS = ['/lib/x86_64-linux-gnu', '/lib/x86_64-linux-musl', '/lib64', '/usr/lib64', '/lib'];
const LIBRARY =
	/^(?:libc\.so\.6|libc\.so|ld-musl-x86_64\.so\.1|lib(?:jemalloc|tcmalloc_minimal|mimalloc)\.so[.\d]*)$/;
const ARGUMENTS: Register[] = ['rdi', 'rsi', 'rdx'];
/** What objdump calls them, in all widths. */
const ARGUMENT_NAMES = /^%(?:[re]?di|dil|[re]?si|sil|[re]?dx|d[lh])$/;
const WITHOUT_RESULT = /^(?:cmp|test|bt[bwlq]?$|push|u?comis|nop|endbr|prefetch|mov.*xmm)/;

function libraries(): string[] {
	const paths = FOLDERS.flatMap((folder) => {
		try {
			return readdirSync(folder).flatMap((name) =>
				LIBRARY.test(name) ? [realpathSync(join(folder, name))] : [],
			);
		} catch {
			return [];
		}
	});
	// musl's development files have a text of this name.
	return [...new Set(paths)].filter((path) => readFileSync(path).readUInt32BE(0) === 0x7f454c46);
}

interface Library {
	readonly text: { bytes: Uint8Array; address: number };
	readonly instructions: ReadonlyMap<number, Disassembled>;
	/** Where the branches of all the file go. */
	readonly targets: ReadonlySet<number>;
}

function read(path: string): Library | undefined {
	const elf = new Elf(new MemoryBytes(readFileSync(path)));
	const text = readText(elf);
	if (elf.machine !== MACHINE.x64 || !text) return undefined;
	const instructions = disassemble(path);
	const targets = [...instructions.values()].flatMap(({ target }) => target ?? []);
	return { text, instructions, targets: new Set(targets) };
}

/** Lengths and targets of all instructions; how many are not known to the decoder. */
function compareAll({ text, instructions }: Library, path: string): number {
	let unknown = 0;
	for (const [address, theirs] of instructions) {
		const at = address - text.address;
		const ours = decode(text.bytes, at);
		if (!ours) {
			unknown++;
			continue;
		}
		const target = theirs.target && theirs.target - text.address;
		const isSame =
			ours.length_bytes === theirs.length_bytes &&
			ours.target === target &&
			theirs.mnemonic !== '(bad)';
		// Only now: of each instruction the text takes longer than the comparison.
		if (!isSame)
			assert.fail(`${path} ${address.toString(16)} ${theirs.mnemonic} ${theirs.operands}`);
	}
	return unknown;
}

/** What is probed, and all before it, as objdump sees it; whether the probe is behind the entry. */
function checkPlacement(library: Library, { name, address, size_bytes }: FunctionSymbol): boolean {
	const { text, instructions, targets } = library;
	const found = functionCode(text, address, size_bytes);
	if (!found) return false;
	const placed = placeProbe(found.code, ARGUMENTS, found.surroundings);
	const probed = instructions.get(address + placed.offset);
	if (placed.emulated) {
		assert.match(probed?.mnemonic ?? '', /^(?:push|nop|j[a-z]+)$/, `${name} ${placed.why}`);
	} else assert.equal(placed.offset, 0);
	for (let at = address; at < address + placed.offset; ) {
		const before = instructions.get(at);
		const where = `${name} ${placed.why}: ${before?.mnemonic} ${before?.operands}`;
		assert.ok(before, where);
		assert.doesNotMatch(before.mnemonic, /^(?:j|call|ret|loop|sys|int|ud|hlt)/, where);
		if (!WITHOUT_RESULT.test(before.mnemonic)) {
			const last = before.operands.split(',').at(-1) ?? '';
			assert.doesNotMatch(last, ARGUMENT_NAMES, where);
		}
		at += before.length_bytes;
		assert.ok(at <= address + placed.offset, where);
		assert.equal(targets.has(at), false, `${where}, and a branch goes behind it`);
	}
	return placed.offset > 0;
}

test('lengths, targets and places agree with objdump, on whole libraries', () => {
	const paths = libraries();
	let checked = 0;
	for (const path of paths) {
		const library = read(path);
		if (!library) continue;
		checked++;
		const unknown = compareAll(library, path);
		const share = unknown / library.instructions.size;
		assert.ok(share < 0.001, `${path}: ${unknown} of ${library.instructions.size} are not known`);
		const moved = functionsOf(path, '-D').filter((each) => checkPlacement(library, each));
		assert.notEqual(moved.length, 0, `${path}: all probes are at entries`);
	}
	assert.ok(checked > 0 || process.arch !== 'x64', paths.join(' '));
});
