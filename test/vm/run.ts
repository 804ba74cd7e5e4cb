/**
 * Boots kernels of the matrix and runs the live tests in them, several at once; or measures there what walks of user
 * stacks cost, one after the other, "here" on the kernel that runs.
 *
 * usage: run.js [--quick | --one] [--tool TOOL]... [--file FILE]... [--page] [MACHINE...]
 *        run.js --walks [here|MACHINE...]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type WalkCost, walkCosts, written } from '../../bench/walks/costs.js';
import { emulatorOf } from './emulator.js';
import { FOLDER, initramfsOf, kernelOf } from './image.js';
import type { Line } from './lines.js';
import { boot, MEMORY_MB } from './machine.js';
import { type Extent, FILE, MACHINES, type Machine, SCHED_EXT, WALKS } from './matrix.js';
import { failed, type MachineResult, page, resultOf, table } from './results.js';

const MINUTE_MS = 60_000;
const LIMIT_MS: Readonly<Record<Extent, number>> = {
	one: 40 * MINUTE_MS,
	quick: 60 * MINUTE_MS,
	all: 90 * MINUTE_MS,
};
/** Kept in the repository: a page is of runs on many days. */
const RESULTS = 'test/vm/results.json';
const PAGE = 'docs/kernels.md';
const HERE = 'here';

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		quick: { type: 'boolean' },
		one: { type: 'boolean' },
		tool: { type: 'string', multiple: true },
		file: { type: 'string', multiple: true },
		page: { type: 'boolean' },
		walks: { type: 'boolean' },
	},
});

function chosen(): readonly Machine[] {
	for (const name of positionals.filter((each) => !(values.walks && each === HERE))) {
		if (MACHINES.some((machine) => machine.name === name)) continue;
		throw new Error(`no kernel ${name}: there are ${MACHINES.map((each) => each.name).join(', ')}`);
	}
	return MACHINES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
}

interface Prepared {
	readonly machine: Machine;
	readonly emulator: readonly string[];
	readonly kernel: string;
	readonly initramfs: string;
}

/** All of them before the first boots: meanwhile nobody would read what a machine has to say. */
function prepare(results: MachineResult[]): Prepared[] {
	const emulators = new Map<Machine['arch'], readonly string[]>();
	const archives = new Map<Machine['arch'], string>();
	return chosen().flatMap((machine) => {
		try {
			const emulator = emulators.get(machine.arch) ?? emulatorOf(machine.arch);
			emulators.set(machine.arch, emulator);
			const kernel = kernelOf(machine);
			const initramfs = archives.get(machine.arch) ?? initramfsOf(machine.arch);
			archives.set(machine.arch, initramfs);
			return { machine, emulator, kernel, initramfs };
		} catch (error) {
			results.push(unable(machine, error));
			return [];
		}
	});
}

/** Boots a machine, which does `what` and says so. */
function bootFor({ machine, ...files }: Prepared, what: readonly string[], timeout_ms: number) {
	const log = join(FOLDER, `${machine.name}.log`);
	const onLine = (line: Line) => tell(machine, line);
	const words = machine.schedExt ? [...what, SCHED_EXT] : what;
	return boot(machine, { ...files, log }, words, { timeout_ms, onLine });
}

async function run(prepared: Prepared): Promise<MachineResult> {
	const { machine } = prepared;
	const isOne = values.one || (machine.slow && !values.file);
	const extent: Extent = isOne ? 'one' : values.quick ? 'quick' : 'all';
	const files = (values.file ?? []).map((name) => `${FILE}${name}`);
	const what = [extent, ...(values.tool ?? [])];
	const now = { commit: commit(), date: new Date().toISOString().slice(0, 10) };
	const { lines, ...rest } = await bootFor(prepared, [...what, ...files], LIMIT_MS[extent]);
	return { ...resultOf(machine.name, lines, { extent: what.join(), ...rest }), ...now };
}

/** Measures on a machine, or here, what walks cost; prints it. */
async function measure(name: string, costs: () => Promise<readonly WalkCost[]>): Promise<void> {
	try {
		process.stdout.write(`${name}:\n${written(await costs())}\n`);
	} catch (error) {
		process.stdout.write(`${name}: ${error instanceof Error ? error.message : error}\n`);
		process.exitCode = 1;
	}
}

async function costsOf(prepared: Prepared): Promise<readonly WalkCost[]> {
	const { lines, incomplete } = await bootFor(prepared, [WALKS], LIMIT_MS.quick);
	if (incomplete !== undefined) throw new Error(incomplete);
	return lines.filter((line) => line.type === 'walk');
}

/** Its packages cannot be had, say. */
function unable({ name }: Machine, error: unknown): MachineResult {
	const incomplete = error instanceof Error ? error.message : String(error);
	return resultOf(name, [], { extent: 'none', seconds: 0, incomplete });
}

function commit(): string {
	const { status, stdout } = spawnSync('git', ['describe', '--always', '--dirty'], {
		encoding: 'utf8',
	});
	return status === 0 ? stdout.trim() : 'unknown'; // no git, or not ours
}

function tell({ name }: Machine, line: Line): void {
	if (line.type === 'facts') process.stderr.write(`${name}: ${line.release}\n`);
	if (line.type === 'test')
		process.stderr.write(`${name}: ${line.tool}: ${line.result}: ${line.name} (${line.ms} ms)\n`);
}

/** One of each machine: the first. */
const inOrder = (results: readonly MachineResult[]) =>
	MACHINES.flatMap(({ name }) => results.find(({ machine }) => machine === name) ?? []);

/** What is known from runs before, but for machines that there are new results of; a run of one test each is less. */
function merged(results: readonly MachineResult[]): MachineResult[] {
	const before: MachineResult[] = existsSync(RESULTS)
		? JSON.parse(readFileSync(RESULTS, 'utf8'))
		: [];
	const ONE: Extent = 'one';
	const isMore = (result: MachineResult) =>
		result.extent !== ONE ||
		failed(result) ||
		!before.some((each) => each.machine === result.machine && each.extent !== ONE);
	return inOrder([...results.filter(isMore), ...before]);
}

/** One for each CPU, if there is the memory, for the emulators' own needs too. */
function machinesAtOnce(): number {
	const room = Math.floor(freemem() / (1.5 * MEMORY_MB * 2 ** 20));
	return Math.max(1, Math.min(availableParallelism(), room));
}

function keep(results: readonly MachineResult[]): void {
	// Of a few tools or files only, it would take the place of what is known of all.
	if (values.tool || values.file) return;
	writeFileSync(RESULTS, `${JSON.stringify(merged(results), null, '\t')}\n`);
}

// So that no machine outlives us: machine.ts ends it as this process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
	process.once(signal, () => process.exit(1));
mkdirSync(FOLDER, { recursive: true });
if (values.page) {
	const results = merged([]);
	if (results.some(failed)) {
		process.stdout.write(table(results));
		process.stdout.write(`\nnot written: ${PAGE} is of machines where all passed\n`);
		process.exitCode = 1;
	} else {
		writeFileSync(PAGE, page(results));
	}
} else if (values.walks) {
	if (positionals.includes(HERE)) await measure(HERE, walkCosts);
	const results: MachineResult[] = [];
	const others = positionals.length === 1 && positionals.includes(HERE) ? [] : prepare(results);
	for (const each of others) await measure(each.machine.name, () => costsOf(each));
	if (results.length > 0) process.stdout.write(table(results));
	if (results.some(failed)) process.exitCode = 1;
} else {
	const results: MachineResult[] = [];
	const waiting = prepare(results);
	keep(results);
	const runThem = async () => {
		for (let next = waiting.shift(); next; next = waiting.shift()) {
			const { machine } = next;
			results.push(await run(next).catch((error) => unable(machine, error)));
			keep(results);
		}
	};
	await Promise.all(Array.from({ length: machinesAtOnce() }, runThem));
	process.stdout.write(table(inOrder(results)));
	if (results.some(failed)) process.exitCode = 1;
}
