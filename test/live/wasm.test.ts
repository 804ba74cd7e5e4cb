/** Names of functions of WebAssembly, of each version of Node.js that is known beside the one that runs tests. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NODE_VERSIONS } from '../../src/runtimes/v8/versions.js';
import { FETCHED_NODES, fetchedNode } from './fetched-nodes.js';
import { unseenIn } from './reports.js';
import {
	assertSources,
	type JsonStack,
	stackReport,
	sumOf,
	traceWork,
	withFrame,
} from './stacks.js';
import { runToEnd, TSTRACE, Workload } from './support.js';

const OWN = process.execPath;
const OWN_HAS_NAMES = NODE_VERSIONS.includes(Number.parseInt(process.versions.node, 10));
const NODES = [...(OWN_HAS_NAMES ? [OWN] : []), ...FETCHED_NODES.map(fetchedNode)];
const SCRIPTS = fileURLToPath(new URL('../workloads/javascript', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tstrace-wasm-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** V8's compilers for WebAssembly, by what its log marks their code with. */
const TIERS = {
	Liftoff: { flags: ['--liftoff-only'], mark: '' },
	TurboFan: { flags: ['--no-liftoff'], mark: '*' },
} as const;
/** From these on V8 inlines functions of WebAssembly. */
const INLINES_SINCE = 24;
const IN_WASM = /^(\S+) \(wasm:\/\/wasm\/(\S+)\)$/;
const WAIT = /AtomicsWait/;
/** Too few say too little of shares. */
const LEAST_SAMPLES = 300;
const MOST_TRIES = 5;

/** Of frames in functions of WebAssembly: the functions' names, and those of their modules; root first. */
function wasmIn({ frames }: JsonStack): { readonly name: string; readonly module: string }[] {
	return frames.flatMap((frame) => {
		const [, name, module] = IN_WASM.exec(frame) ?? [];
		return name && module && !/^(js-to-wasm|wasm-to-js)$/.test(name) ? [{ name, module }] : [];
	});
}

/** Functions of the workload's own in a stack; root first. */
function functionsIn({ frames }: JsonStack): string[] {
	return frames.flatMap((frame) => /^(\S+) \(.*\/wasm-\w+\.cjs:\d+\)$/.exec(frame)?.[1] ?? []);
}

async function tracedWaits(node: string, script: string, flags: readonly string[]) {
	const workload = await Workload.startBy(node, ...flags, join(SCRIPTS, script));
	const args = ['offcputime', '-p', `${workload.pid}`, '--json', '--exact', '--state', 'S'];
	const { finished, done } = await traceWork(workload, args);
	const report = stackReport(finished);
	assertSources(report.stacks, IN_WASM);
	return { ...report, done };
}

/** What tstrace and V8's profiler have found in the same window, in one that the machine had time for. */
async function bothSampled(node: string) {
	for (let tries = 1; ; tries++) {
		const workload = await Workload.startBy(node, join(SCRIPTS, 'wasm-shares.cjs'));
		const args = ['profile', '--json', '-F', '997', '-p', `${workload.pid}`, '3'];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		const told = await workload.end();
		const all = sumOf(withFrame(stacks, /^hot_\d \(wasm:/), 'count');
		if (all >= LEAST_SAMPLES) return { stacks, told };
		assert.ok(tries < MOST_TRIES, `${all} samples`);
	}
}

for (const node of NODES) {
	const version = node === OWN ? process.versions.node : (node.split('/').at(-2) ?? '');

	for (const [name, { flags, mark }] of Object.entries(TIERS))
		test(`Node.js ${version}, ${name}: each wait by functions of WebAssembly`, async () => {
			const log = join(folder, `${version}-${name}`);
			const logging = ['--log-code', '--no-logfile-per-isolate', `--logfile=${log}`];
			const { stacks, lost, notices, done } = await tracedWaits(node, 'wasm-waits.cjs', [
				...flags,
				...(Number.parseInt(version, 10) >= INLINES_SINCE ? ['--no-wasm-inlining'] : []),
				...logging,
			]);
			const logged = readFileSync(log, 'utf8').match(/^code-creation,.*,waitInside,.*$/gm) ?? [];
			assert.ok(logged.length > 0);
			for (const line of logged) assert.equal(line.split(',').at(-1), mark, line);
			const [waits = 0, ...hashes] = done;
			const [truth, nameless, long] = hashes.map((hash) => hash.toString(16).padStart(8, '0'));
			const ways = new Map<string, number>();
			for (const stack of withFrame(stacks, WAIT)) {
				const inside = wasmIn(stack);
				const way = inside.map(({ name: its }) => its).join(' ');
				const modules = new Set(inside.map(({ module }) => module));
				assert.equal(modules.size, 1, stack.frames.join('\n'));
				assert.deepEqual(functionsIn(stack).slice(-2), ['outermost', 'waitHere']);
				const key = `${way} ${[...modules]}`;
				ways.set(key, (ways.get(key) ?? 0) + stack.count);
			}
			const expected = new Map<string, number>();
			for (const module of [`truth-${truth}`, nameless, long]) {
				const isNamed = module !== nameless;
				const [inside, one, other] = isNamed
					? ['waitInside', 'byOne', 'byOther']
					: [1, 2, 3].map((number) => `wasm-function[${number}]`);
				expected.set(`${one} ${inside} ${module}`, waits);
				expected.set(`${other} ${inside} ${module}`, 2 * waits);
			}
			assert.deepEqual([...ways.keys()].sort(), [...expected.keys()].sort());
			const unseen = unseenIn(lost);
			for (const [way, count] of expected) {
				const found = ways.get(way) ?? 0;
				// V8 waits once more at times.
				assert.ok(
					found >= count - unseen - 2 && found <= 1.1 * count,
					`${way}: ${found}, not ${count}`,
				);
			}
			assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
		});

	test(`Node.js ${version}: functions of many modules, some of which are freed meanwhile`, async () => {
		const { stacks, lost, done } = await tracedWaits(node, 'wasm-many.cjs', ['--expose-gc']);
		const [modules = 0, freed = 0] = done;
		assert.ok(freed > 0.9 * modules, `${freed} of ${modules}`);
		const met = new Set<string>();
		for (const stack of withFrame(stacks, WAIT)) {
			const inside = wasmIn(stack);
			const [, number] = /^many_(\d+)-[0-9a-f]{8}$/.exec(inside[0]?.module ?? '') ?? [];
			if (number === undefined) continue;
			const module = inside[0]?.module;
			const whole = ['outside', 'inside'].map((name) => ({ name: `${name}_${number}`, module }));
			const ofIt = whole.filter(({ name }) => inside.some((each) => each.name === name));
			assert.deepEqual(inside, ofIt);
			if (inside.length === whole.length) met.add(number);
		}
		// A busy machine may let tstrace come too late to a few of them.
		assert.ok(met.size >= 0.9 * modules - unseenIn(lost), `${met.size} of ${modules}`);
	});

	test(`Node.js ${version}: shares of functions of WebAssembly are those of V8’s own profiler`, async () => {
		const { stacks, told } = await bothSampled(node);
		const counts = told.map((_, i) => {
			const name = new RegExp(`^hot_${i} \\(wasm://wasm/shares-[0-9a-f]{8}\\)$`);
			const inside = stacks.filter(({ frames, kinds }) =>
				name.test(frames.filter((_frame, at) => kinds[at] !== 'k').at(-1) ?? ''),
			);
			const whole = inside.filter(
				(stack) =>
					wasmIn(stack)
						.map(({ name: its }) => its)
						.join() === `call_${i},hot_${i}`,
			);
			// In its first or last instructions a function has no frame yet, or none any more.
			const samples = sumOf(inside, 'count');
			assert.ok(sumOf(whole, 'count') >= 0.98 * samples - 1, `${i}: ${samples} samples`);
			return samples;
		});
		const all = counts.reduce((sum, count) => sum + count, 0);
		for (const [i, count] of counts.entries()) {
			const share = (told[i] ?? 0) / 1e9;
			const error = 0.01 + 5 * Math.sqrt((2 * share * (1 - share)) / all);
			assert.ok(Math.abs(count / all - share) < error, `${i}: ${count} of ${all}, not ${share}`);
		}
	});
}
