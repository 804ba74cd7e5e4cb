/** memleak that was told to trace less: what it then does not keep is not missed when it is freed. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { valuesOf } from '../../src/options/typed-option.js';
import { commonSettings } from '../../src/run/common-options.js';
import { BpfTracing } from '../../src/run/tracing.js';
import { memleak } from '../../src/tools/memleak/memleak.js';
import { Workload } from './support.js';

/** As the bundle finds them beside itself. */
process.env.TSTRACE_BPF_DIR = resolve('dist/bpf', process.arch);

/** Blocks of 1000 bytes, each round, which the next round frees. */
const BLOCKS = 200;

test('frees of what was not sampled since are no frees of what was never seen', async () => {
	const workload = await Workload.start('rounds');
	workload.begin();
	const round = async () => {
		workload.tell(`${BLOCKS} 0`);
		await workload.done();
	};
	const common = commonSettings({ pid: [workload.pid] }, [], memleak.kind);
	const settings = memleak.settings(valuesOf(memleak.options(), {}), common);
	const subjects = { filter: common.filter, command: undefined, words: [] };
	const tracing = new BpfTracing(memleak, settings, subjects, { verbose: false, note: () => {} });
	try {
		await round();
		assert.match(tracing.reader.slowDown?.() ?? '', /keeps about one allocation per 65,536 B/);
		await round();
		await round();
		tracing.detach();
		const found = await tracing.reader.read();
		assert.ok(found.kind === 'stacks');
		assert.deepEqual(found.about, { sample_bytes: 65_536, unseen_frees: 0 });
	} finally {
		tracing.close();
		await workload.end();
	}
});
