/** The functions of JavaScript that run most: V8's own profiler, in the same process at the same time, says the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NODE_VERSIONS } from '../../src/runtimes/v8/versions.js';
import { stackReport } from './stacks.js';
import { runToEnd, TSTRACE, Workload } from './support.js';

const HAS_NAMES = NODE_VERSIONS.includes(Number.parseInt(process.versions.node, 10))
	? {}
	: { skip: `names of Node.js ${process.versions.node} are not read` };
const SCRIPT = fileURLToPath(new URL('../workloads/javascript/shares.cjs', import.meta.url));
const FUNCTIONS = 10;
const LEAST_KNOWN = 7;
const MOST_TRIES = 3;
const SAMPLES_HZ = 997;
const WINDOW_S = 3;
/** Standard errors. Both sample: the variance of their difference is twice that of one. */
const MOST_ERRORS = 5;
/** V8's profiler has its samples taken at the next instruction where a signal may come. */
const MOST_OFF = 0.01;

/** What tstrace and V8's profiler have found in the same window; `known`: functions that the latter knows. */
async function bothSampled() {
	for (let tries = 1; ; tries++) {
		const workload = await Workload.startBy(process.execPath, SCRIPT);
		const args = ['--json', '-F', `${SAMPLES_HZ}`, '-p', `${workload.pid}`, `${WINDOW_S}`];
		const { stacks } = stackReport(runToEnd(TSTRACE, ['profile', ...args]));
		const told = await workload.end();
		assert.equal(told.length, FUNCTIONS);
		// At times the profiler of Node.js 20 does not know a function that was compiled as it began.
		const known = told.flatMap((share, number) => (share > 0 ? number : []));
		if (known.length >= LEAST_KNOWN) return { stacks, told, known };
		assert.ok(tries < MOST_TRIES, `${told}`);
	}
}

test(
	'ten functions: order and shares as the inspector’s profiler has them',
	HAS_NAMES,
	async () => {
		const { stacks, told, known } = await bothSampled();
		const toldOfAll = known.reduce((sum, number) => sum + (told[number] ?? 0), 0);
		const expected = known.map((number) => (told[number] ?? 0) / toldOfAll);
		const counts = known.map((number) => {
			const name = new RegExp(`^hot_${number} \\(`);
			// Interrupts come in between.
			const inside = stacks.filter(({ frames, kinds }) =>
				name.test(frames.filter((_frame, i) => kinds[i] !== 'k').at(-1) ?? ''),
			);
			return inside.reduce((sum, { count }) => sum + count, 0);
		});
		const all = counts.reduce((sum, count) => sum + count, 0);
		assert.ok(all > 300, `${all}`);
		const shares = counts.map((count) => count / all);
		const shown = JSON.stringify({ shares, expected });
		// By both: of a share that one of them hardly saw, that one alone says too little.
		const errors = expected.map((share, i) => {
			const both = (share + (shares[i] ?? 0)) / 2;
			return MOST_OFF + MOST_ERRORS * Math.sqrt((2 * both * (1 - both)) / all);
		});
		for (const [i, share] of expected.entries()) {
			assert.ok(Math.abs((shares[i] ?? 0) - share) < (errors[i] ?? 0), shown);
			// Those that are clearly apart are in the same order.
			for (const [j, smaller] of expected.entries())
				if (share - smaller > (errors[i] ?? 0) + (errors[j] ?? 0))
					assert.ok((shares[i] ?? 0) > (shares[j] ?? 0), shown);
		}
	},
);
