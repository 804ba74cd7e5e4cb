import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { SymbolError } from '../../../../src/elf/bytes.js';
import { unpackXz } from '../../../../src/symbolize/symbols/xz.js';

const text = Buffer.from('what was packed, again and again. '.repeat(5000));
const packed = execFileSync('xz', ['-c'], { input: text });

test('what was packed', async () => {
	assert.deepEqual(await unpackXz(packed, text.length), text);
});

test('no more than the limit', async () => {
	await assert.rejects(unpackXz(packed, text.length - 1), SymbolError);
	assert.deepEqual(await unpackXz(packed, text.length), text, 'works again');
});

test('a dictionary of a gigabyte is refused, not made', async () => {
	const greedy = execFileSync('xz', ['-c', '--lzma2=dict=1GiB'], { input: text });
	await assert.rejects(unpackXz(greedy, text.length), SymbolError);
});

test('damaged or cut short: an error, or what was packed', async () => {
	const attempt = async (bytes: Uint8Array) => {
		try {
			assert.ok((await unpackXz(bytes, 2 ** 20)).length <= 2 ** 20);
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
		}
	};
	for (let length = 0; length < packed.length; length++) await attempt(packed.subarray(0, length));
	const change = fc.tuple(fc.nat({ max: packed.length - 1 }), fc.integer({ min: 0, max: 255 }));
	await fc.assert(
		fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 5 }), async (changes) => {
			const changed = Uint8Array.from(packed);
			for (const [at, byte] of changes) changed[at] = byte;
			await attempt(changed);
		}),
		{ numRuns: 500 },
	);
	assert.deepEqual(await unpackXz(packed, text.length), text, 'works again');
});
