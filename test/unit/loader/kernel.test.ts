import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('../../../src/loader/kernel.js', import.meta.url).href;

/** Uses up the descriptors, and prints what the error then says. */
const WITHOUT_DESCRIPTORS = `
import { openSync } from 'node:fs';
const kernel = await import(process.argv[1]);
try {
	for (;;) openSync('/dev/null');
} catch (error) {
	if (error.code !== 'EMFILE') throw error;
}
for (const ask of [kernel.ownCapabilities, kernel.kernelBtf]) {
	try {
		ask();
	} catch (error) {
		console.log(error.message);
	}
}
`;

test('without a descriptor left, the kernel is not said to lack anything', () => {
	const node = [process.execPath, '--input-type=module', '-e', WITHOUT_DESCRIPTORS, MODULE];
	const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$@"', ...node], {
		encoding: 'utf8',
	});
	assert.match(stdout, /^cannot read \/proc\/self\/status: too many open files; .*\n/);
	assert.match(stdout, /^cannot read \/sys\/kernel\/btf\/vmlinux: too many open files; .*\n$/m);
});
