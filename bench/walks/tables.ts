/**
 * Reads unwind tables of files as tstrace's own thread does, and says what that takes.
 *
 * usage: unwind-tables.js FILE...
 *
 * Prints one line of JSON: rows of all files, different rules, CPU time in ms (without node's start).
 */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { FileBytes } from '../../src/elf/bytes.js';
import { unwind_constant } from '../../src/generated/common.js';
import { packed } from '../../src/unwind/packed-table.js';
import { RuleSet } from '../../src/unwind/rule.js';
import { TableWorkspace, unwindTable } from '../../src/unwind/table.js';

const before = process.cpuUsage();
const rules = new RuleSet(unwind_constant.UNWIND_MAX_RULES);
const workspace = new TableWorkspace();
let rows = 0;
for (const path of process.argv.slice(2)) {
	const fd = openSync(path, 'r');
	const table = unwindTable(new FileBytes(fd, fstatSync(fd).size), workspace);
	rows += packed(table, rules, rules.count).rows.length;
	closeSync(fd);
}
const { user, system } = process.cpuUsage(before);
process.stdout.write(
	`${JSON.stringify({ rows, rules: rules.count, cpu_ms: (user + system) / 1000 })}\n`,
);
