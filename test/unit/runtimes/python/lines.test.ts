/** Lines of instructions, beside what Pythons of each version have said of their own code (fixtures/python-lines). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type LineFormat, lineOf } from '../../../../src/runtimes/python/lines.js';
import { randomFrom } from '../../../random.js';

const FORMATS: Readonly<Record<string, LineFormat>> = {
	'3.9': 'lnotab',
	'3.10': 'pairs',
	'3.11': 'locations',
	'3.12': 'locations',
	'3.13': 'locations',
	'3.14': 'locations',
};

interface ToldCode {
	readonly name: string;
	readonly first: number;
	readonly table: string;
	/** So many code units are of the same line, null: of none. */
	readonly runs: readonly (readonly [number, number | null])[];
}

function viewOf(bytes: Uint8Array): DataView {
	return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Which line Python has said each code unit is of, null: of none. */
const linesOf = ({ runs }: ToldCode) =>
	runs.flatMap(([units, line]) => Array.from({ length: units }, () => line));

for (const [version, format] of Object.entries(FORMATS))
	test(`each instruction is of the line that Python ${version} says`, () => {
		const text = readFileSync(`test/fixtures/python-lines/${version}.jsonl`, 'utf8');
		const codes = text.trim().split('\n');
		assert.ok(codes.length >= 8);
		const numbered = format === 'pairs' ? 1 : 2;
		for (const code of codes.map((each): ToldCode => JSON.parse(each))) {
			const bytes = viewOf(Buffer.from(code.table, 'hex'));
			const lines = linesOf(code);
			const found = lines.map((_, unit) => lineOf(bytes, format, code.first, unit * numbered));
			// The first instruction of a module is of line 0, and there is none.
			assert.deepEqual(
				found,
				lines.map((line) => line || undefined),
				code.name,
			);
			// 3.9 says of the last line where it begins, and not where it ends.
			const behind = lineOf(bytes, format, code.first, lines.length * numbered);
			if (format !== 'lnotab') assert.equal(behind, undefined, code.name);
		}
	});

test('a table that is forged: any bytes, cut anywhere; a line is none, or one that there may be', () => {
	const random = randomFrom(11);
	for (let round = 0; round < 500; round++) {
		const bytes = Uint8Array.from({ length: random() % 64 }, () => random() % 256);
		for (const format of ['lnotab', 'pairs', 'locations'] as const)
			for (const instruction of [0, 8, 100, 0xff_fffe]) {
				const line = lineOf(viewOf(bytes), format, (random() % 100) + 1, instruction) ?? 1;
				assert.ok(Number.isInteger(line) && line > 0 && line < 2 ** 31, `${line}`);
			}
	}
	// The longest number there is, and one that does not end.
	const long = Uint8Array.of(0xe8, ...Array.from({ length: 5 }, () => 0x7e), 0x3e);
	const endless = Uint8Array.of(0xe8, ...Array.from({ length: 60 }, () => 0x7f));
	for (const bytes of [long, endless])
		assert.equal(lineOf(viewOf(bytes), 'locations', 5, 0), undefined);
});
