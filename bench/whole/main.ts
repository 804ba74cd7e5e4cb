/**
 * `make whole`: how much of what tools count is in stacks that do not reach their thread's first
 * function. Debian's programs as they are, tstrace and its peers at the same time on the same process;
 * prints a table in Markdown for docs/stacks.md.
 *
 * usage: main.js [WORD...]: only programs whose name contains one of these
 *
 * SECONDS=N: how long each tool traces. KEEP=FOLDER: keeps there what the tools printed.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, type Command, endOnSignals } from '../shared/children.js';
import { commit, machine } from '../shared/machine.js';
import { endPrograms } from '../shared/servers.js';
import { PROGRAMS, type Program, type Thread } from './programs.js';
import { cutShare, isWhole, type PrintedStack } from './stacks.js';
import { RUNS, SECONDS, type Tool } from './tools.js';

/** Until a program is at its work. */
const WARM_UP_MS = 3000;

/** For what a tool does before and after it traces. */
const LIMIT_S = 40;

const TOP_CAUSES = 6;

interface Result {
	readonly stacks: readonly PrintedStack[];
	/** What tstrace says itself, of all threads. */
	readonly cut_share?: number;
}

const out = (text: string) => process.stdout.write(`${text}\n`);

async function output(command: Command): Promise<string> {
	const env = { ...process.env, BPFTRACE_MAP_KEYS_MAX: '65536', BPFTRACE_CACHE_USER_SYMBOLS: '1' };
	const limited = ['timeout', '-k', '5', `${SECONDS + LIMIT_S}`, ...command];
	const child = new Child(limited, ['ignore', 'pipe', 'ignore'], env);
	const pieces: Buffer[] = [];
	child.process.stdout?.on('data', (piece) => pieces.push(piece));
	await child.closed;
	return Buffer.concat(pieces).toString();
}

async function resultOf(tool: Tool, pid: number, folder: string, name: string): Promise<Result> {
	if (tool.missing) return { stacks: [] };
	const file = join(folder, tool.key);
	let text = await output(tool.command(pid, file));
	if (tool.report) text = await output(tool.report(file));
	if (process.env.KEEP)
		writeFileSync(join(process.env.KEEP, `${name.replace(/\W.*/, '')}-${tool.key}`), text);
	if (text === '') return { stacks: [] };
	const read = tool.read(text);
	return Array.isArray(read) ? { stacks: read } : read;
}

function threadsOf(pid: number): Map<number, Thread> {
	const threads = new Map<number, Thread>();
	for (const tid of readdirSync(`/proc/${pid}/task`).map(Number)) {
		const comm = readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8').trim();
		threads.set(tid, { tid, comm });
	}
	return threads;
}

const percent = (share: number) => {
	if (Number.isNaN(share)) return '–';
	const value = 100 * share;
	return `${value.toFixed(value > 0 && value < 10 ? 2 : 0)} %`;
};

/** Why tstrace's stacks are cut, and in which functions they end: the largest causes. */
function causesOf(stacks: readonly PrintedStack[]): string[] {
	const total = stacks.reduce((sum, { value }) => sum + value, 0);
	const causes = new Map<string, number>();
	for (const { frames, cut = 'said to be whole', value } of stacks) {
		if (isWhole(frames)) continue;
		const cause = `${cut}: ${frames.slice(0, 2).join(' ◂ ') || 'no user frames'}`;
		causes.set(cause, (causes.get(cause) ?? 0) + value / total);
	}
	const sorted = [...causes].sort(([, a], [, b]) => b - a).slice(0, TOP_CAUSES);
	return sorted.map(([cause, share]) => `${percent(share)} ${cause}`);
}

/** A row for each group of threads. */
async function rowsOf(program: Program, folder: string): Promise<string[]> {
	const pid = await program.start(folder);
	await sleep(WARM_UP_MS);
	const threads = threadsOf(pid);
	const results = new Map<Tool, Result>();
	for (const tools of RUNS) {
		const chosen = tools.filter(({ heap }) => !(heap && program.noHeap));
		const each = chosen.map(async (tool) =>
			results.set(tool, await resultOf(tool, pid, folder, program.name)),
		);
		await Promise.all(each);
	}
	for (const [{ key }, { stacks, cut_share }] of results) {
		if (cut_share === undefined) continue;
		out(`${program.name}: ${key}: ${percent(cutShare(stacks))}, it says ${percent(cut_share)}`);
		for (const line of causesOf(stacks)) out(`  ${line}`);
	}
	const groups = program.groups ?? { '': () => true };
	return Object.entries(groups).map(([name, has]) => {
		const cells = RUNS.flat().map((tool) => {
			const stacks = (results.get(tool)?.stacks ?? []).filter(({ tid }) => {
				const thread = threads.get(tid) ?? { tid, comm: '' };
				return tid === 0 ? name === '' : has(thread, pid);
			});
			return stacks.length === 0 ? '–' : percent(cutShare(stacks));
		});
		return `| ${[program.name + (name && `: ${name}`), ...cells].join(' | ')} |`;
	});
}

async function measured(program: Program): Promise<string[]> {
	const folder = mkdtempSync(join(tmpdir(), 'whole-'));
	try {
		return await rowsOf(program, folder);
	} catch (error) {
		return [`| ${program.name} | ${(error as Error).message.trim().split('\n')[0]} |`];
	} finally {
		await endPrograms();
		rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
	}
}

endOnSignals();
const words = process.argv.slice(2);
const chosen = PROGRAMS.filter(
	({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
const { kernel, system } = machine();
const date = new Date().toISOString().slice(0, 10);
out(`${date}, commit ${commit()}, ${system}, Linux ${kernel}, ${SECONDS} s`);
for (const tool of RUNS.flat()) out(`${tool.key}: ${tool.version ?? tool.missing}`);
const columns = ['program', ...RUNS.flat().map(({ title }) => title)];
const rows: string[] = [];
for (const program of chosen) {
	const some = await measured(program);
	for (const row of some) out(row);
	rows.push(...some);
}
out(`\n| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}`);
for (const row of rows) out(row);
