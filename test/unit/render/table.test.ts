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
