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
import { endOnSignals } from '../children.js';
import { commit, machine } from '../machine.js';
import { endPrograms, MORE_PROGRAMS, PROGRAMS, type Program } from '../whole/programs.js';
import { againstGdb } from './against-gdb.js';

const WARM_UP_MS = 3000;

const out = (text: string) => process.stdout.write(`${text}\n`);

async function measured(program: Program): Promise<string[]> {
	const folder = mkdtempSync(join(tmpdir(), 'exact-'));
	try {
		const pid = await program.start(folder);
		await sleep(WARM_UP_MS);
		return await againstGdb(program, pid, out);
	} finally {
		await endPrograms();
		rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
	}
}

endOnSignals();
const words = process.argv.slice(2);
const chosen = [...PROGRAMS, ...MORE_PROGRAMS].filter(
	({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
const { kernel, system } = machine();
out(`${new Date().toISOString().slice(0, 10)}, commit ${commit()}, ${system}, Linux ${kernel}`);
const rows: string[] = [];
for (const program of chosen) {
	try {
		rows.push(...(await measured(program)));
	} catch (error) {
		rows.push(`| ${program.name} | ${(error as Error).message.trim().split('\n')[0]} |`);
	}
}
for (const row of rows) out(row);
