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
const SAMPLES_HZ = 997;
const WINDOW_S = 3;
/** Both sample: of what is counted n times, an error is at most half of the root of n. */
const MOST_ERRORS = 5;
/** V8's profiler has its samples taken at the next instruction where a signal may come. */
const MOST_OFF = 0.01;

test(
	'ten functions: order and shares as the inspector’s profiler has them',
	HAS_NAMES,
	async () => {
		const workload = await Workload.startBy(process.execPath, SCRIPT);
		const args = [
			'profile',
			'--json',
			'-F',
			`${SAMPLES_HZ}`,
			'-p',
			`${workload.pid}`,
			`${WINDOW_S}`,
		];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		const expected = (await workload.end()).map((share) => share / 1e9);
		assert.equal(expected.length, FUNCTIONS);
		const counts = expected.map((_, number) => {
			const name = new RegExp(`^hot_${number} \\(`);
			// Interrupts come in between.
			const inside = stacks.filter(({ frames, kinds }) =>
				name.test(frames.filter((_frame, i) => kinds[i] !== 'k').at(-1) ?? ''),
			);
			return inside.reduce((sum, { count }) => sum + count, 0);
		});
		const all = counts.reduce((sum, count) => sum + count, 0);
		assert.ok(all > 300, `${all}`);
		const most = MOST_OFF + (MOST_ERRORS * 0.5) / Math.sqrt(all);
		const shown = counts.map((count, i) => [count / all, expected[i]]);
		for (const [share = 0, its = 0] of shown)
			assert.ok(Math.abs(share - its) < most, `${JSON.stringify(shown)}, ${most}`);
		const isOrdered = (values: readonly number[]) =>
			values.every((value, i) => i === 0 || value > (values[i - 1] as number));
		assert.ok(isOrdered(expected) && isOrdered(counts), JSON.stringify(shown));
	},
);
