import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadDemangler } from '../../../../src/symbolize/symbols/demangle.js';

const demangle = loadDemangler();

test('C++ and Rust, old and new; other names stay', () => {
	const examples = {
		_ZNSt6vectorIiSaIiEE9push_backERKi:
			'std::vector<int, std::allocator<int> >::push_back(int const&)',
		_Z3foov: 'foo()',
		_ZN3std2io5stdio6_print17h1234567890abcdefE: 'std::io::stdio::_print',
		_RNvNtCs1234_7mycrate3foo3bar: 'mycrate::foo::bar',
		_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE:
			'std::mem::align_of::<std::mem::Discriminant>',
		main: 'main',
		_start: '_start',
		// As Apple's linker has it, with one more in front.
		__ZN3foo3barEv: 'foo::bar()',
		notmangled_Z: 'notmangled_Z',
		__libc_start_main: '__libc_start_main',
		_ZTHIS_IS_NONE: '_ZTHIS_IS_NONE',
		_Really: '_Really',
		'puts@plt': 'puts@plt',
	};
	for (const [name, expected] of Object.entries(examples)) assert.equal(demangle(name), expected);
});

test('nested without end: as it is, or bounded', () => {
	const deep = [
		`_Z1f${'P'.repeat(2000)}i`,
		`_Z1f${'PF'.repeat(900)}i`,
		`_R${'B_'.repeat(1000)}`,
		`_RNvC${'I'.repeat(2000)}`,
		`_ZN${'1aI'.repeat(500)}${'E'.repeat(500)}v`,
		`_Z${'4aaaa'.repeat(400)}`,
	];
	for (const name of deep) assert.ok(demangle(name).length <= 4096);
	assert.equal(demangle('_Z3foov'), 'foo()', 'still works');
});

test('any name: a bounded line', () => {
	const piece = fc.constantFrom(...'_ZRNKSTPFIEXLCsvic0123456789abST_'.split(''), 'St', 'E_', '1a');
	const name = fc.array(piece, { maxLength: 60 }).map((all) => all.join(''));
	fc.assert(
		fc.property(fc.constantFrom('_Z', '_R', '_ZN', '_RNv'), name, (prefix, rest) => {
			const demangled = demangle(prefix + rest);
			assert.ok(demangled.length <= 4096);
			assert.doesNotMatch(demangled, /[\0\n]/);
		}),
		{ numRuns: 2000 },
	);
	fc.assert(fc.property(fc.string(), (text) => void demangle(`_Z${text}`)));
});

/** As many different names as are asked for, of all kinds, and what never was mangled. */
function manyNames(count: number): string[] {
	const word = (i: number) => {
		const text = `part${(i * 2_654_435_761) % 4_294_967_296}${'x'.repeat(i % 61)}`;
		return `${text.length}${text}`;
	};
	const kinds: readonly ((i: number) => string)[] = [
		(i) => `_Z${word(i)}v`,
		(i) => `_ZN${word(i)}${word(i + 1)}Em8MEMFLAGS`,
		(i) => `_ZN${word(i)}I${word(i + 2)}SaIS_EE9push_backERKS_`,
		(i) => `_ZN3std2io${word(i)}17h${(i * 7919).toString(16).padStart(16, '0')}E`,
		(i) => `_RINvNtC3std${word(i)}3fooNtC3std${word(i)}E`,
		(i) => `_RNvNtCs${i.toString(36)}_7mycrate${word(i)}3bar`,
		(i) => `_Z${word(i)}not really`,
		(i) => `plain_${i}`,
	];
	return Array.from({ length: count }, (_, i) => kinds[i % kinds.length]?.(i) ?? '');
}

/** Fisher and Yates; the same for the same seed. */
function shuffled<T>(of: readonly T[], seed: number): T[] {
	const all = [...of];
	let state = seed;
	for (let i = all.length - 1; i > 0; i--) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		const j = state % (i + 1);
		[all[i], all[j]] = [all[j] as T, all[i] as T];
	}
	return all;
}

test('40,000 names, asked for again and again in any order: each time the same', () => {
	const names = manyNames(40_000);
	const first = new Map(names.map((name) => [name, demangle(name)]));
	assert.equal(first.size, names.length);
	const unlike = [...first].filter(([name, demangled]) => name !== demangled).length;
	assert.ok(unlike > 0.6 * names.length, `${unlike} are demangled`);
	fc.assert(
		fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (seed) => {
			// As each interval of a trace does.
			const again = loadDemangler();
			for (const name of shuffled(names, seed)) assert.equal(again(name), first.get(name));
		}),
		{ numRuns: 2 },
	);
});
