/** What samples of `perf script` text count in, by the name of their event. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPerfScript } from '../../../src/input/perf-script.js';

async function unitOf(event: string): Promise<string | undefined> {
	const chunks = (async function* () {
		yield Buffer.from(`program 12 3.5: 7 ${event}: \n\t400000 main+0x0 (/bin/program)\n`);
	})();
	const options = { identify: 'none', addresses: false, inline: false, event: undefined } as const;
	const [profile] = await readPerfScript(chunks, options, () => undefined);
	return profile?.origin.unit;
}

test('clocks count nanoseconds, with modifiers, too; other events themselves', async () => {
	for (const clock of ['cpu-clock', 'task-clock', 'cpu-clock:u', 'cpu-clock:ppp', 'task-clock:k'])
		assert.equal(await unitOf(clock), 'ns', clock);
	assert.equal(await unitOf('page-faults:u'), 'page-faults');
	assert.equal(await unitOf('cycles:P'), 'cycles');
});
