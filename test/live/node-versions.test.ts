/** Each tool to its end, on a terminal, with the oldest Node.js that package.json allows. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { tools } from '../../src/generated/tools.js';
import { runToEnd, TSTRACE, Workload } from './support.js';

const NODE = resolve('build/nodes/20.12.0/node');
/** npm has this version for one architecture only. */
const HAVE_IT = process.arch === 'x64' ? {} : { skip: 'npm has no Node.js 20.12.0 for it' };

/** In colour: what is printed goes to a terminal. */
function onTerminal(command: string) {
	return runToEnd('script', ['-qec', command, '/dev/null'], { TERM: 'xterm', NO_COLOR: '' });
}

/** With what each prints at the least; a colour's beginning, where it has any. */
const COLOUR = '\u001b[';
const TOOLS = Object.keys(tools).length;

const RUNS = [
	['runqlat 0.3 1', 'usecs'],
	['schedlat 0.3 1', COLOUR],
	['timehist 0.3', 'wait'],
	['offcputime 0.3', COLOUR],
	['profile 0.3', COLOUR],
	['syscount --latency 0.3 1', 'calls'],
	['syscount -P 0.3 1', 'calls'],
	['doctor', `${TOOLS} of ${TOOLS} tools can run here`],
	['runqlat -- true', 'Tracing run queue latency'],
] as const;

for (const [args, says] of RUNS) {
	test(`${args}: to its end with the oldest Node.js`, HAVE_IT, () => {
		const { status, stdout } = onTerminal(`${NODE} ${TSTRACE} ${args}`);
		assert.equal(status, 0, stdout);
		assert.ok(stdout.includes(says), stdout);
		assert.doesNotMatch(stdout, /is not a function|SyntaxError/);
	});
}

test('memleak: to its end with the oldest Node.js', HAVE_IT, async () => {
	const leaks = await Workload.start('leaks');
	try {
		const { status, stdout } = onTerminal(`${NODE} ${TSTRACE} memleak -p ${leaks.pid} 0.3 1`);
		assert.equal(status, 0, stdout);
		assert.doesNotMatch(stdout, /is not a function/);
	} finally {
		await leaks.end();
	}
});

test('recordings, pictures and comparisons with the oldest Node.js', HAVE_IT, () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-node-'));
	try {
		const at = (name: string) => join(folder, name);
		const oldest = (...args: string[]) => {
			const { status, stderr } = runToEnd(NODE, [TSTRACE, ...args]);
			assert.equal(status, 0, stderr);
		};
		oldest('offcputime', '-q', '--json', '-o', at('stacks.json'), '0.3');
		for (const extension of ['svg', 'html', 'pb.gz', 'speedscope.json', 'folded']) {
			oldest('flamegraph', '-o', at(`out.${extension}`), at('stacks.json'));
			assert.ok(readFileSync(at(`out.${extension}`)).length > 0, extension);
		}
		oldest('fold', '-o', at('again.folded'), at('out.pb.gz'));
		oldest('diff', at('out.folded'), at('again.folded'));
	} finally {
		rmSync(folder, { recursive: true });
	}
});
