/** Where a converter's result goes, and what is shown beside it. */
import assert from 'node:assert/strict';
import fs, { readFileSync, readlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import tty from 'node:tty';
import { convert } from '../../../src/cli/convert.js';
import type { AnyConverter, ResultDestination } from '../../../src/converter.js';
import { temporaryFolder } from '../symbolize/support.js';

const linkOf = (fd: number) => readlinkSync(`/proc/self/fd/${fd}`);

/** What is on the screen, and in the file, of a converter that shows something beside its result. */
async function converted(t: TestContext, isTerminal: boolean, toFile: boolean) {
	const path = join(temporaryFolder(), 'result');
	const { writeSync } = fs;
	let screen = '';
	const mocks = [
		t.mock.method(tty, 'isatty', (fd: number) => isTerminal && linkOf(fd) !== path),
		t.mock.method(fs, 'writeSync', (fd: number, bytes: Uint8Array, from = 0) => {
			if (linkOf(fd) === path) return writeSync(fd, bytes, from);
			screen += Buffer.from(bytes.subarray(from)).toString();
			return bytes.length - from;
		}),
	];
	syncBuiltinESMExports();
	const run = async (_files: unknown, _raw: unknown, here: ResultDestination) => {
		await here.show(() => 'shown\n');
		return ['result\n'];
	};
	try {
		await convert({ run } as unknown as AnyConverter, [], toFile ? { output: path } : {});
	} finally {
		for (const { mock } of mocks) mock.restore();
		syncBuiltinESMExports();
	}
	return { screen, file: toFile ? readFileSync(path, 'utf8') : undefined };
}

test('a terminal shows what there is to say of a result that goes to a file, and nothing else', async (t) => {
	assert.deepEqual(await converted(t, true, true), { screen: 'shown\n', file: 'result\n' });
	assert.deepEqual(await converted(t, true, false), { screen: 'result\n', file: undefined });
	assert.deepEqual(await converted(t, false, true), { screen: '', file: 'result\n' });
});
