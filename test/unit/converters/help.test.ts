/** What converters say of themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inProcess } from '../in-process.js';

for (const [name, ...inputs] of [
	['fold', 'files'],
	['flamegraph', 'files'],
	['diff', 'before', 'after'],
] as const) {
	test(`${name} --help: each input is explained, and that - is standard input`, async () => {
		const { stdout, status } = await inProcess([name, '--help']);
		assert.equal(status, 0);
		for (const input of inputs) {
			const [line = ''] = new RegExp(`^  ${input} .*$`, 'm').exec(stdout) ?? [];
			assert.match(line, /recordings?;.* -(:| is) standard input/, stdout);
		}
	});
}
