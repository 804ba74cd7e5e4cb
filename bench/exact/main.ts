/**
 * `make exact`: whether the return addresses that tstrace's walks find are those that gdb finds, and
 * whether profile's stacks are those of `perf record --call-graph dwarf`. Debian's programs as they are,
 * each under a load, stopped at random moments.
 *
 * usage: main.js [WORD...]: only programs whose name contains one of these
 *
 * STACKS=N: of each program, at least.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endOnSignals } from '../shared/children.js';
import { commit, machine } from '../shared/machine.js';
import { endPrograms } from '../shared/servers.js';
import { MORE_PROGRAMS, PROGRAMS, type Program } from '../whole/programs.js';
import { againstGdb, GDB_COLUMNS, Group } from './against-gdb.js';
import { againstPerf, PERF_COLUMNS } from './against-perf.js';

const WARM_UP_MS = 3000;

const out = (text: string) => process.stdout.write(`${text}\n`);

/** Has both tables' rows printed as they come, too. */
async function measured(program: Program): Promise<void> {
	const folder = mkdtempSync(join(tmpdir(), 'exact-'));
	try {
		const pid = await program.start(folder);
		await sleep(WARM_UP_MS);
		const groups = program.noTables ? [] : await againstGdb(program, pid, out);
		for (const [name, group] of groups) {
			gdbs.push(`| ${[name, ...group.cells()].join(' | ')} |`);
			all.include(group);
		}
		perfs.push(...(await againstPerf(program, pid, join(folder, 'perf.data'), out)));
	} catch (error) {
		out(`${program.name}: ${(error as Error).message.trim().split('\n')[0]}`);
	} finally {
		await endPrograms();
		rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
	}
}

function table(columns: readonly string[], rows: readonly string[]): void {
	out(`\n| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}`);
	for (const row of rows) out(row);
}

endOnSignals();
const words = process.argv.slice(2);
const chosen = [...PROGRAMS, ...MORE_PROGRAMS].filter(
	({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
const { kernel, system } = machine();
out(`${new Date().toISOString().slice(0, 10)}, commit ${commit()}, ${system}, Linux ${kernel}`);
const gdbs: string[] = [];
const all = new Group();
const perfs: string[] = [];
for (const program of chosen) {
	const before = [gdbs.length, perfs.length];
	await measured(program);
	for (const row of [...gdbs.slice(before[0]), ...perfs.slice(before[1])]) out(row);
}
table(GDB_COLUMNS, [...gdbs, `| ${['all', ...all.cells()].join(' | ')} |`]);
table(PERF_COLUMNS, perfs);
