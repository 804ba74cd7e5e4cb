/** Rows by page of the file, as the kernel searches them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pagesOf } from '../../../src/unwind/pages.js';
import type { Rows } from '../../../src/unwind/rows.js';
import { CFA, GAP_RULE, RuleSet, UNKNOWN_RULE } from '../../../src/unwind/rule.js';

const PAGE = 0x10000;
const LAST = 2 ** 32 - 1;

/** Beginnings of pages, and addresses near them and anywhere, in these pages. */
const addressIn = (page: fc.Arbitrary<number>) =>
	fc
		.tuple(page, fc.oneof(fc.constantFrom(0, 1, 2, PAGE - 1), fc.nat(PAGE - 1)))
		.map(([at, offset]) => at * PAGE + offset);
const near = addressIn(fc.nat(5));
/** Some far up: a rule that reaches from one to the next is in 65,000 pages. */
const anywhere = addressIn(fc.oneof(fc.nat(5), fc.integer({ min: 0xfff9, max: 0xffff })));

/** No rule twice in a row, the gap first and last: what tables are. */
const rowsAt = (address: fc.Arbitrary<number>): fc.Arbitrary<Rows> =>
	fc
		.tuple(
			fc.uniqueArray(address, { maxLength: 60 }),
			fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 60, maxLength: 60 }),
		)
		.map(([addresses, rules]) => ({
			addresses: Uint32Array.from(addresses).sort(),
			rules: Uint16Array.from(addresses, (_, i) =>
				i === addresses.length - 1 ? 0 : (rules[i] ?? 0),
			),
		}));
const rows = fc.oneof(
	{ arbitrary: rowsAt(near), weight: 3 },
	{ arbitrary: rowsAt(anywhere), weight: 1 },
);

/** Looks a row up as the kernel does: the page first; in it the last row that is not behind. */
function lookUp(pages: ReadonlyMap<number, Uint32Array>, at: number): number {
	const found = pages.get(Math.floor(at / PAGE));
	if (!found) return GAP_RULE;
	return (found.findLast((word) => (word & 0xffff) <= at % PAGE) as number) >>> 16;
}

test('a page has the rules that the rows have, from its first byte on', () => {
	const numbers = Uint16Array.of(0, 1, 40_000, 65_535, 2, 3);
	fc.assert(
		fc.property(rows, fc.array(anywhere, { maxLength: 20 }), (table, more) => {
			const all = [...pagesOf(table, numbers)];
			const pages = new Map(all.map(({ page, rows: words }) => [page, words]));
			assert.equal(pages.size, all.length, 'each page once');
			// One assertion for all: there may be 65,000.
			const isSorted = (words: Uint32Array) =>
				words.every((word, i) => i === 0 || (word & 0xffff) > ((words[i - 1] ?? 0) & 0xffff));
			const wrong = all.filter(({ rows: words }) => (words[0] ?? 1) & 0xffff || !isSorted(words));
			assert.deepEqual(wrong.slice(0, 3), [], 'each begins with a row, and ascends');
			const around = [...table.addresses].flatMap((at) => [at - 1, at, at + 1, at - (at % PAGE)]);
			for (const at of [...around, ...more, 0, LAST]) {
				if (at < 0 || at > LAST) continue;
				const i = table.addresses.findLastIndex((start) => start <= at);
				const expected = i < 0 ? 0 : (numbers[table.rules[i] as number] as number);
				assert.equal(lookUp(pages, at), expected, `at ${at.toString(16)}`);
			}
		}),
	);
});

test('pages in which nothing is known are left out', () => {
	const table = {
		addresses: Uint32Array.of(PAGE * 3 + 8, PAGE * 3 + 16),
		rules: Uint16Array.of(2, 0),
	};
	const pages = [...pagesOf(table, Uint16Array.of(0, 1, 2))].map(({ page }) => page);
	assert.deepEqual(pages, [3]);
});

test('rules have one number each, and none when there is no room', () => {
	const wordsOf = (max: number) => {
		const word = fc.integer({ min: 2, max });
		return fc.tuple(word, word, word);
	};
	// Few, which often have the same place; and any.
	const words = fc.oneof(wordsOf(3), wordsOf(2 ** 31 - 1));
	fc.assert(
		fc.property(
			fc.array(words, { maxLength: 40 }),
			fc.integer({ min: 2, max: 30 }),
			(list, capacity) => {
				const rules = new RuleSet(capacity);
				const known = new Map<string, number>();
				for (const [first, second, third] of list) {
					const number = rules.add(first, second, third);
					const key = `${first} ${second} ${third}`;
					if (known.size < capacity - 2 && !known.has(key)) known.set(key, number);
					assert.equal(number, known.get(key) ?? UNKNOWN_RULE);
				}
				assert.equal(new Set(known.values()).size, known.size);
				assert.equal(rules.isExceeded, new Set(list.map(String)).size > capacity - 2);
				for (const [key, number] of known) {
					assert.equal([...rules.words.subarray(number * 3, number * 3 + 3)].join(' '), key);
				}
				assert.deepEqual([rules.get(0).cfa, rules.get(1).cfa], [CFA.gap, CFA.unknown]);
				const other = new RuleSet(100);
				other.add(1, 1, 1);
				const numbers = other.addAll(rules);
				assert.deepEqual([...numbers.subarray(0, 2)], [GAP_RULE, UNKNOWN_RULE]);
				for (let i = 0; i < rules.count; i++)
					assert.deepEqual(other.get(numbers[i] ?? 0), rules.get(i));
			},
		),
	);
});
