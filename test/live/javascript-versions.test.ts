/** Names of JavaScript functions of versions of Node.js that are known beside the one that runs tests. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FETCHED_NODES, fetchedNode } from './fetched-nodes.js';
import {
	assertDeoptimised,
	assertInlined,
	assertInModules,
	assertInSource,
	isChain,
	namedShare,
	traced,
} from './javascript.js';
import type { JsonStack } from './stacks.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-versions-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Tier {
	readonly flags: readonly string[];
	/** What V8's log marks code of it with. */
	readonly mark: string;
	/** It is not compiled into earlier ones. */
	readonly since?: number;
}

/** How V8 runs functions, with none inlined. */
const TIERS: Readonly<Record<string, Tier>> = {
	interpreted: { flags: ['--no-opt', '--no-maglev', '--no-sparkplug'], mark: '~' },
	Sparkplug: { flags: ['--no-opt', '--no-maglev', '--always-sparkplug'], mark: '^' },
	Maglev: { flags: ['--no-opt', '--maglev', '--no-maglev-inlining'], mark: '+', since: 24 },
	TurboFan: { flags: ['--no-maglev', '--no-turbo-inlining'], mark: '*' },
};
/** As V8 does it by itself. */
const INLINING: Readonly<Record<string, readonly string[]>> = {
	Maglev: ['--maglev', '--no-turbofan'],
	TurboFan: [],
};
const CHAIN = 'onTurn runMethod runStatic runLast runArrow runInCallback burnInModule'.split(' ');

/** V8 says in its log what it has compiled how. */
function assertCompiled(log: string, mark: string): void {
	const code = readFileSync(log, 'utf8').match(/^code-creation,.*burnInModule .*$/gm) ?? [];
	// "*'": optimised for the one context that it runs in.
	const marks = code.map((line) => /(.)'?$/.exec(line)?.[1]);
	assert.ok(marks.includes(mark), code.join('\n'));
	// What has run was no further compiled.
	const all = Object.values(TIERS).map((tier) => tier.mark);
	for (const later of all.slice(all.indexOf(mark) + 1)) assert.ok(!marks.includes(later), later);
}

function assertNamed(stacks: readonly JsonStack[], names: readonly string[]): void {
	const met = assertInSource(stacks);
	for (const name of names) assert.ok(met.has(name), `${name} of ${[...met]}`);
	assert.ok(namedShare(stacks) >= 0.98, `${namedShare(stacks)}`);
}

for (const version of FETCHED_NODES) {
	const node = fetchedNode(version);

	for (const [name, { flags, mark, since = 0 }] of Object.entries(TIERS)) {
		if (Number.parseInt(version, 10) < since) continue;
		test(`Node.js ${version}, ${name}: functions that run`, async () => {
			const log = join(folder, `${version}-${name}`);
			const logging = ['--log-code', '--no-logfile-per-isolate', `--logfile=${log}`];
			const args = ['-F', '499'];
			const { stacks, notices } = await traced(node, 'profile', [...flags, ...logging], ...args);
			assertCompiled(log, mark);
			assertNamed(stacks, ['burnInModule', 'burnInCommonJs', 'turnForever', 'onTurn']);
			assert.ok(
				stacks.some((stack) => isChain(stack, CHAIN)),
				stacks.map(({ frames }) => frames.join(';')).join('\n'),
			);
			assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
		});
	}

	for (const [name, flags] of Object.entries(INLINING)) {
		if (name === 'Maglev' && Number.parseInt(version, 10) < 24) continue;
		test(`Node.js ${version}, ${name}: functions in the code of others`, () =>
			assertInlined(node, flags));
	}

	test(`Node.js ${version}: a function that is not optimised any more`, () =>
		assertDeoptimised(node));

	test(`Node.js ${version}, as it does: functions that wait`, async () => {
		const { stacks, notices } = await traced(node, 'offcputime', [], '--exact');
		assertNamed(stacks, ['waitHere', 'waitInMethod', 'waitForChild', 'waitInThread']);
		const inThread = stacks.filter(({ frames }) =>
			frames.some((frame) => frame.startsWith('waitInThread (')),
		);
		assertInModules(node, stacks);
		// It is in one wait from the beginning to the end, and is walked from outside.
		assert.ok(inThread.reduce((sum, { value }) => sum + value, 0) > 1.5e9);
		assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
	});
}
