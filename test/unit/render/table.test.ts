import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderTable } from '../../../src/render/table.js';

const STYLE = { colour: false, width: 24 };
const COLUMNS = [
	{ heading: 'COUNT', align: 'right', cell: ([count]: Row) => `${count}` },
	{ heading: 'NAME', align: 'left', cell: ([, name]: Row) => name, shrinks: true },
] as const;
type Row = readonly [count: number, name: string];

test('numbers at the right, names at the left, what is too long is cut in the middle', () => {
	const rows: Row[] = [
		[7, 'read'],
		[1234567, 'a_function_with_a_long_name'],
	];
	assert.equal(
		renderTable(COLUMNS, rows, STYLE),
		'  COUNT  NAME\n      7  read\n1234567  a_funct…ng_name\n',
	);
});

test('no row is a line of headings; control characters are shown', () => {
	assert.equal(renderTable(COLUMNS, [], STYLE), 'COUNT  NAME\n');
	assert.match(renderTable(COLUMNS, [[1, '\u001b[2J']], STYLE), /\\x1b\[2J/);
});

test('a name that no cut would make fit stays whole', () => {
	const style = { colour: false, width: 12 };
	const rows: Row[] = [[7, 'kworker/u8:3']];
	assert.equal(renderTable(COLUMNS, rows, style), 'COUNT  NAME\n    7  kworker/u8:3\n');
	// Eight letters say something still.
	assert.equal(
		renderTable(COLUMNS, rows, { ...style, width: 15 }),
		'COUNT  NAME\n    7  kwor…8:3\n',
	);
	assert.match(renderTable(COLUMNS, rows, { ...style, width: 14 }), /kworker\/u8:3/);
});

test('on a narrow terminal the columns that can be spared most are left out, and named', () => {
	const columns = [
		...COLUMNS,
		{ heading: 'MEAN', align: 'right', cell: () => '2.50 ms', spare: 2 },
		{ heading: 'WHEN', align: 'left', cell: () => '11:59:00', spare: 1 },
	] as const;
	const rows: Row[] = [[7, 'read']];
	const wide = 'COUNT  NAME     MEAN  WHEN\n    7  read  2.50 ms  11:59:00\n';
	assert.equal(renderTable(columns, rows, { ...STYLE, width: 80 }), wide);
	assert.equal(renderTable(columns, rows, { ...STYLE, columns: 30, width: 30 }), wide);
	assert.equal(
		renderTable(columns, rows, { ...STYLE, columns: 29, width: 80 }),
		'COUNT  NAME     MEAN\n    7  read  2.50 ms\na wider terminal or a pipe also shows WHEN\n',
	);
	assert.match(
		renderTable(columns, rows, { ...STYLE, columns: 10, width: 80 }),
		/^COUNT {2}NAME\n.*\na wider terminal or a pipe also shows MEAN, WHEN\n$/,
	);
});
