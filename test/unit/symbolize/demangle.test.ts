import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadDemangler } from '../../../src/symbolize/demangle.js';

const demangle = await loadDemangler();

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
