/** Tables of Go's functions: of each version, wherever they are, and of a program that somebody else has built. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MemoryBytes, SymbolError } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { goNames } from '../../../src/symbolize/symbols/go-names.js';
import { ESBUILD } from '../esbuild.js';
import {
	type GoSpec,
	goProgram,
	goTableOf,
	TABLE,
	TEXT,
	type WrittenGoFunction,
} from './go-writer.js';

const FUNCTIONS: readonly WrittenGoFunction[] = [
	{ name: 'main.main', size: 64 },
	{ name: 'main.(*server).handle[...]', size: 100 },
	{ name: 'runtime.sigreturn', size: 12 },
	{ name: 'runtime.goexit', size: 32 },
];
const END = TEXT + 64 + 100 + 12 + 32;

/** By how far behind the first function. */
function namesOf(program: Buffer, ...distances: number[]): (string | undefined)[] {
	const addresses = distances.map((distance) => TEXT + distance);
	const names = goNames(new Elf(new MemoryBytes(program)), addresses);
	return addresses.map((address) => names.get(address));
}

function assertNamed(spec: Partial<GoSpec>): void {
	const program = goProgram({ functions: FUNCTIONS, ...spec });
	assert.deepEqual(namesOf(program, -1, 0, 63, 64, 162, 176, END - TEXT - 1, END - TEXT), [
		undefined,
		'main.main',
		'main.main',
		'main.(*server).handle[...]',
		'main.(*server).handle[...]',
		'runtime.goexit',
		'runtime.goexit',
		undefined,
	]);
	// What a handler returns to is looked up one byte in front.
	assert.deepEqual(namesOf(program, 163, 164), ['runtime.sigreturn', 'runtime.sigreturn']);
}

for (const version of [16, 18, 20] as const) {
	for (const machine of [62, 183]) {
		test(`names of Go 1.${version}, machine ${machine}`, () => assertNamed({ version, machine }));
	}
}

test('a table that no section has the name of is found by how it begins', () => {
	assertNamed({ section: '.data.rel.ro.gopclntab' });
	const mark = [{ name: '.go.buildinfo', data: Buffer.alloc(16) }];
	assertNamed({ section: undefined, further: mark });
	// Other programs are not searched.
	const names = namesOf(goProgram({ functions: FUNCTIONS, section: undefined }), 0);
	assert.deepEqual(names, [undefined]);
});

const word = (value: number) => {
	const out = Buffer.alloc(8);
	out.writeBigUInt64LE(BigInt(value));
	return out;
};
const relocation = (address: number, value: number) =>
	Buffer.concat([word(address), word(8), word(value)]);

test('where code begins, if the header does not say it: relocations, and from Go 1.26 on moduledata', () => {
	const [RELA, MODULE] = [4, 0x600000];
	const relocated = (...all: Buffer[]) => [
		{ name: '.rela.dyn', type: RELA, data: Buffer.concat([relocation(1, 2), ...all]) },
	];
	assertNamed({ headerText: 0, further: relocated(relocation(TABLE + 24, TEXT)) });
	const module = Buffer.alloc(24 * 8);
	const section = { name: '.go.module', address: MODULE, data: module };
	const further = [section, ...relocated(relocation(MODULE + 22 * 8, TEXT))];
	assertNamed({ headerText: 0, further });
	const said = Buffer.from(module);
	word(TEXT).copy(said, 22 * 8);
	assertNamed({ headerText: 0, further: [{ ...section, data: said }] });
});

test('what is not known has no names: an old table, a start that is no code, a table that is cut', () => {
	const fails = (spec: Partial<GoSpec>, why: RegExp) =>
		assert.throws(
			() => namesOf(goProgram({ functions: FUNCTIONS, ...spec }), 0),
			(error: Error) => {
				assert.ok(error instanceof SymbolError);
				return why.test(error.message);
			},
		);
	fails({ lies: [[0, 0x08010000_fffffffbn]] }, /Go before 1\.16/);
	fails({ lies: [[0, 0x08010000_fffffff2n]] }, /does not know/);
	fails({ headerText: 0 }, /where its code begins/);
	fails({ headerText: TABLE }, /where its code begins/);
	// Behind the code's last byte.
	fails({ headerText: END }, /where its code begins/);
	for (const count of [0n, 2n ** 40n]) fails({ lies: [[8, count]] }, /too many/);
	// Zeros that are none, what another processor's addresses are counted in, and shorter pointers.
	for (const first of [0x08010001_fffffff1n, 0x08040000_fffffff1n, 0x04010000_fffffff1n])
		fails({ lies: [[0, first]] }, /does not know/);
	const recordsAt = Number(goTableOf({ functions: FUNCTIONS }).readBigUInt64LE(64));
	fails({ lies: [[recordsAt, 0xfff_ffffn]] }, /not in the order of their addresses/);
	fails({ lies: [[64, 2n ** 40n]] }, /outside/);
	// A name that lies outside costs itself.
	const lies = goProgram({ functions: FUNCTIONS, lies: [[32, 2n ** 40n]] });
	assert.deepEqual(namesOf(lies, 0), [undefined]);
});

test("esbuild's own table: of a stripped program of a later Go", { skip: ESBUILD.missing }, () => {
	const elf = new Elf(new MemoryBytes(readFileSync(ESBUILD.path)));
	assert.equal(elf.section('.symtab'), undefined);
	const entry = goNames(elf, [elf.entry]).get(elf.entry) ?? '';
	assert.match(entry, /^_rt0_(amd64|arm64)_linux$/);
	const text = elf.section('.text');
	const addresses = Array.from({ length: 2000 }, (_, i) => (text?.address ?? 0) + i * 1000);
	const names = new Set(goNames(elf, addresses).values());
	const of = (start: string) => [...names].filter((name) => name.startsWith(start)).length;
	assert.ok(of('runtime.') > 50 && of('internal/') > 5, [...names].slice(0, 99).join(' '));
});
