import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes, SymbolError } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { crc32 } from '../../../../src/symbolize/symbols/debug-files.js';
import { nameOffsets } from '../../../../src/symbolize/symbols/object-file.js';
import { codeAt, goProgram } from '../../elf/go-writer.js';
import {
	binutils,
	compile,
	type FunctionSymbol,
	functionsOf,
	llvm,
	nameIn,
	temporaryFolder,
} from '../support.js';

const SOURCE = `
#include <stdio.h>
static __attribute__((noinline)) int inner(int x) { return puts("x") + x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int __attribute__((alias("outer"))) __outer(int x);
int main(int argc, char **argv) { (void)argv; return outer(argc); }
`;
const folder = temporaryFolder();
const OUR_FUNCTIONS = ['inner', 'outer', 'main'];

/** Where in the file each address is, by another reader: readelf. */
function offsetsOf(path: string, addresses: readonly number[]): number[] {
	const segments = binutils('readelf', '-lW', path)
		.split('\n')
		.map((line) => line.trim().split(/\s+/))
		.filter(([type]) => type === 'LOAD')
		.map((fields) => [1, 2, 4].map((i) => Number.parseInt(fields[i] ?? '', 16)));
	return addresses.map((address) => {
		for (const [offset = 0, start = 0, size = 0] of segments) {
			if (address >= start && address < start + size) return address - start + offset;
		}
		throw new Error(`${path} has nothing at ${address}`);
	});
}

function ours(path: string): FunctionSymbol[] {
	const all = functionsOf(path).filter(({ name }) => OUR_FUNCTIONS.includes(name));
	assert.equal(all.length, OUR_FUNCTIONS.length);
	return all;
}

/** Asks for the first and last byte of each function, and for the one behind. */
async function checkNames(path: string, functions: readonly FunctionSymbol[], offsetsFrom = path) {
	const ends = functions.flatMap((each) => [each.address, each.address + each.size_bytes - 1]);
	const result = await nameIn(path, offsetsOf(offsetsFrom, ends));
	assert.deepEqual(
		result.names,
		functions.flatMap(({ name }) => [name, name]),
	);
	return result;
}

const VARIANTS = {
	'position-independent': ['-fPIE', '-pie'],
	'not position-independent': ['-fno-PIE', '-no-pie'],
	'linked elsewhere: addresses are not offsets': ['-no-pie', '-Wl,-Ttext-segment=0x12340000'],
	'text apart from its segment': ['-Wl,-z,separate-code', '-fPIE', '-pie'],
};

for (const [what, flags] of Object.entries(VARIANTS)) {
	test(`functions of a program: ${what}`, async () => {
		const path = compile(join(folder, 'program'), SOURCE, ...flags);
		const { complete, buildId } = await checkNames(path, ours(path));
		assert.equal(complete, true);
		const notes = binutils('readelf', '-nW', path);
		assert.equal(buildId, /Build ID: ([0-9a-f]+)/.exec(notes)?.[1]);
	});
}

/** As musl has it: exported functions that say no size, and behind each one that is not exported. */
const UNSIZED = `__asm__(".text\\n"
	".globl bare\\n.type bare, %function\\nbare: ret\\nhidden: ret\\n"
	".globl told\\n.type told, %function\\ntold: .cfi_startproc\\nret\\n.cfi_endproc\\n"
	"also_hidden: ret\\n.globl last\\n.type last, %function\\nlast: ret\\n");`;

test('a function without a size: not further than its unwind information goes, if there may be others behind', async () => {
	const path = compile(join(folder, 'unsized.so'), UNSIZED, '-shared', '-fPIC');
	const functions = functionsOf(path, '-D');
	const addresses = ['bare', 'told', 'last'].flatMap((each) => {
		const { address } = functions.find(({ name }) => name === each) ?? assert.fail(each);
		const next = process.arch === 'arm64' ? 4 : 1;
		return each === 'last' ? [address] : [address, address + next];
	});
	const offsets = offsetsOf(path, addresses);
	const whole = await nameIn(path, offsets);
	assert.deepEqual(whole.names, ['bare', 'bare', 'told', 'told', 'last']);
	const stripped = join(folder, 'unsized-stripped.so');
	llvm('llvm-strip', '-o', stripped, path);
	const { known } = await nameIn(stripped, offsets);
	assert.deepEqual(known, [false, false, true, false, false]);
});

test('stripped: what it exports, and what it is honest about', async () => {
	const path = compile(join(folder, 'stripped.so'), SOURCE, '-shared', '-fPIC');
	const functions = ours(path);
	const inner = functions.find(({ name }) => name === 'inner');
	if (!inner) assert.fail();
	llvm('llvm-strip', path);
	const exported = functions.filter(({ name }) => name !== 'inner');
	const { complete } = await checkNames(path, exported);
	assert.equal(complete, false);
	const { names, known } = await nameIn(path, offsetsOf(path, [inner.address]));
	assert.deepEqual(names, [`stripped.so+0x${inner.address.toString(16)}`]);
	assert.deepEqual(known, [false]);
});

test('entries of the procedure linkage table', async () => {
	let tested = 0;
	for (const flags of [[], ['-fcf-protection'], ['-fuse-ld=lld'], ['-Wl,-z,now', '-fno-plt']]) {
		const path = join(folder, 'plt');
		try {
			compile(path, SOURCE, ...flags);
		} catch {
			continue; // a linker that is not here
		}
		const disassembly = llvm('llvm-objdump', '-d', '--no-show-raw-insn', path);
		const call = /call\w*\s+0x([0-9a-f]+) <puts@plt>/.exec(disassembly)?.[1];
		if (!call) continue; // without a table
		const address = Number.parseInt(call, 16);
		llvm('llvm-strip', path);
		const { names } = await nameIn(path, offsetsOf(path, [address, address + 5]));
		assert.deepEqual(names, ['puts@plt', 'puts@plt'], flags.join(' '));
		tested++;
	}
	assert.ok(tested > 0);
});

test('entries of libc, whatever their size, as llvm-objdump has them', async () => {
	const maps = readFileSync('/proc/self/maps', 'utf8');
	const path = /\S+\/lib(c|stdc\+\+)\.so\.6\S*$/m.exec(maps)?.[0] ?? assert.fail('no libc');
	const disassembly = llvm(
		'llvm-objdump',
		'-d',
		'-j',
		'.plt',
		'-j',
		'.plt.sec',
		'-j',
		'.plt.got',
		path,
	);
	const entries = [...disassembly.matchAll(/^([0-9a-f]+) <([^>+*]+@plt)>:/gm)];
	assert.ok(entries.length > 0);
	const addresses = entries.map(([, hex = '']) => Number.parseInt(hex, 16));
	const { names } = await nameIn(path, offsetsOf(path, addresses));
	assert.deepEqual(
		names,
		entries.map(([, , name]) => name),
	);
});

test('debug files, by .gnu_debuglink', async () => {
	const path = compile(join(folder, 'linked'), SOURCE, '-Wl,--build-id=none');
	const functions = ours(path);
	const debug = join(folder, 'linked.debug');
	llvm('llvm-objcopy', '--only-keep-debug', path, debug);
	const hidden = join(folder, '.debug');
	mkdirSync(hidden, { recursive: true });
	llvm('llvm-strip', path);
	llvm('llvm-objcopy', `--add-gnu-debuglink=${debug}`, path);
	const { complete } = await checkNames(path, functions);
	assert.equal(complete, true);

	copyFileSync(debug, join(hidden, 'linked.debug'));
	writeFileSync(debug, 'no ELF');
	await checkNames(path, functions);

	// Of another build: its names would be wrong.
	const other = readFileSync(join(hidden, 'linked.debug'));
	other[other.length - 1] = (other.at(-1) ?? 0) ^ 1;
	writeFileSync(join(hidden, 'linked.debug'), other);
	assert.equal((await nameIn(path, [0])).complete, false);
});

test('debug files, by build-id, in the root that the program is in', async () => {
	const path = compile(join(folder, 'identified'), SOURCE, '-Wl,--build-id=sha1');
	const functions = ours(path);
	const root = join(folder, 'container');
	const { buildId: id = '' } = await nameIn(path, [0]);
	assert.match(id, /^[0-9a-f]{40}$/);
	const place = join(root, 'usr/lib/debug/.build-id', id.slice(0, 2));
	mkdirSync(place, { recursive: true });
	llvm('llvm-objcopy', '--only-keep-debug', path, join(place, `${id.slice(2)}.debug`));
	llvm('llvm-strip', path);
	const offsets = offsetsOf(
		path,
		functions.map(({ address }) => address),
	);
	assert.equal((await nameIn(path, offsets)).complete, false);
	const open = () => readdirSync('/proc/self/fd').length;
	const before = open();
	const { names, complete } = await nameIn(path, offsets, [root, '']);
	assert.deepEqual(
		names,
		functions.map(({ name }) => name),
	);
	assert.equal(complete, true);
	assert.equal(open(), before, 'something stays open');
});

test('symbols that came packed (.gnu_debugdata)', async () => {
	const path = compile(join(folder, 'packed'), SOURCE);
	const functions = ours(path);
	const mini = join(folder, 'mini');
	llvm('llvm-objcopy', '--only-keep-debug', path, mini);
	execFileSync('xz', ['--force', '--keep', mini]);
	llvm('llvm-strip', path);
	llvm('llvm-objcopy', `--add-section=.gnu_debugdata=${mini}.xz`, path);
	const { complete } = await checkNames(path, functions);
	assert.equal(complete, true);

	const damaged = readFileSync(`${mini}.xz`);
	damaged.fill(0x55, 100, 120);
	writeFileSync(`${mini}.xz`, damaged);
	llvm('llvm-objcopy', `--update-section=.gnu_debugdata=${mini}.xz`, path);
	assert.equal((await nameIn(path, [0])).complete, false);
});

test('an address behind a function and before the next is neither', async () => {
	const path = compile(
		join(folder, 'gap'),
		'__asm__(".globl first; .type first,@function; first: ret; .size first, 1; .skip 15;"' +
			'".globl bare; bare: nop; nop; .skip 14, 0x90;"' +
			'".globl last; .type last,@function; last: ret; .size last, 1");' +
			'int main(void) { return 0; }',
		'-no-pie',
	);
	const at = (name: string) =>
		functionsOfAny(path).find((each) => each.name === name)?.address ?? 0;
	const first = at('first');
	const { names } = await nameIn(path, offsetsOf(path, [first, first + 1, first + 17, first + 32]));
	assert.deepEqual(names, ['first', `gap+0x${(first + 1).toString(16)}`, 'bare', 'last']);
});

function functionsOfAny(path: string) {
	return binutils('nm', path)
		.split('\n')
		.map((line) => line.split(' '))
		.map(([address = '', , name = '']) => ({ name, address: Number.parseInt(address, 16) }));
}

test('every function of libc, as nm has them', async () => {
	const maps = readFileSync('/proc/self/maps', 'utf8');
	const path = /\S+\/libc\.so\.6$/m.exec(maps)?.[0] ?? assert.fail('no libc');
	const functions = functionsOf(path, '-D').filter(({ size_bytes }) => size_bytes > 0);
	assert.ok(functions.length > 1000);
	const names = new Map<number, Set<string>>();
	for (const { name, address } of functions) {
		names.set(address, (names.get(address) ?? new Set()).add(name));
	}
	const addresses = [...names.keys()];
	const result = await nameIn(path, offsetsOf(path, addresses));
	for (const [i, address] of addresses.entries()) {
		const name = result.names[i] ?? '';
		// Where its debug symbols are installed, local aliases are known besides.
		assert.ok(names.get(address)?.has(name), `${name} at ${address.toString(16)}`);
	}
});

test('the checksum of debug links', () => {
	assert.equal(crc32(new MemoryBytes(Buffer.from('123456789'))), 0xcbf43926);
});

/** Names everything that a file may be asked for; may end in a SymbolError and nothing else. */
async function nameAll(file: Buffer): Promise<void> {
	try {
		const offsets = Array.from({ length: 50 }, (_, i) => Math.floor((i * file.length) / 50));
		const { names } = await nameOffsets(new MemoryBytes(file), '/x/y', { roots: [] }, offsets);
		for (const name of names) assert.ok(name.length <= 4200 && !name.includes('\n'));
		new Elf(new MemoryBytes(file)).debugLink();
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
	}
}

test('cut short anywhere, or with any bytes changed: an error or names', async () => {
	const path = compile(join(folder, 'hostile'), SOURCE);
	const whole = readFileSync(path);
	for (let length = 0; length < whole.length; length += 97) {
		await nameAll(whole.subarray(0, length));
	}
	const place = fc.oneof(
		fc.nat({ max: 0x400 }),
		fc.nat({ max: whole.length - 1 }),
		fc.integer({ min: whole.length - 0x800, max: whole.length - 1 }),
	);
	const change = fc.tuple(place, fc.constantFrom(0, 1, 2, 0x7f, 0x80, 0xff));
	await fc.assert(
		fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
			const changed = Buffer.from(whole);
			for (const [at, byte] of changes) changed[at] = byte;
			await nameAll(changed);
		}),
		{ numRuns: 1000 },
	);
	await fc.assert(
		fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), (bytes) => nameAll(Buffer.from(bytes))),
	);
});

test('stripped: a function without a name reads the same wherever in it: by where it begins', async () => {
	const whole = compile(join(folder, 'whole'), SOURCE);
	const stripped = join(folder, 'stripped');
	llvm('llvm-strip', '-o', stripped, whole);
	const functions = ours(whole);
	const everywhere = functions.flatMap(({ address, size_bytes }) => [
		address,
		address + 1,
		address + size_bytes - 1,
	]);
	const { names, known } = await nameIn(stripped, offsetsOf(whole, everywhere));
	assert.deepEqual(
		names,
		functions.flatMap(({ address }) => {
			const name = `stripped+0x${address.toString(16)}`;
			return [name, name, name];
		}),
	);
	assert.ok(known.every((each) => !each));
});

test('functions of Go have names in stripped programs, too: by its own table, before those of others', async () => {
	const functions = [
		{ name: 'main.main', size: 64 },
		{ name: 'main.(*server).handle[...]', size: 96 },
		{ name: 'runtime.goexit', size: 32 },
	];
	const path = join(folder, 'go');
	const program = goProgram({ functions });
	writeFileSync(path, program);
	const code = codeAt(program);
	const { names, known, complete } = await nameIn(
		path,
		[0, 63, 64, 159, 160].map((distance) => code + distance),
	);
	assert.deepEqual(names, [
		'main.main',
		'main.main',
		'main.(*server).handle[...]',
		'main.(*server).handle[...]',
		'runtime.goexit',
	]);
	assert.deepEqual([complete, ...known], [false, true, true, true, true, true]);
});

test('the code that signal handlers return to is named, in a C library that has no symbol for it', async () => {
	const libc = /\S+\/libc\.so\.6$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[0] ?? '';
	// mov $__NR_rt_sigreturn, %rax; syscall
	const offset = readFileSync(libc).indexOf(Buffer.from('48c7c00f0000000f05', 'hex'));
	// Frames look up the byte before their return address: the one before the function's first.
	const { names, known } = await nameIn(libc, [offset, offset - 1]);
	assert.deepEqual(names, ['__restore_rt', '__restore_rt']);
	assert.deepEqual(known, [true, true]);
});
