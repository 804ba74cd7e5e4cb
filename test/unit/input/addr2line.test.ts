import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { TstraceError } from '../../../src/errors.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import { renderFolded } from '../../../src/render/folded.js';

const PROGRAM = resolve('build/workloads/inlined');

/** A symbol's address in the program, from nm: an independent source. */
function addressOf(symbol: string): string {
	const line = execFileSync('nm', [PROGRAM], { encoding: 'utf8' })
		.split('\n')
		.find((line) => line.endsWith(` ${symbol}`));
	return line?.split(' ')[0]?.replace(/^0+/, '') ?? assert.fail(symbol);
}

/** A sample with these frames, read with --inline. */
async function inlined(frames: string): Promise<string> {
	const text = `inlined 12 3.5: 7 cycles: \n${frames}\n`;
	const chunks = (async function* () {
		yield Buffer.from(text);
	})();
	const options = { identify: 'none', addresses: false, inline: true, event: undefined } as const;
	const [profile] = await readPerfScript(chunks, options, () => undefined);
	assert.ok(profile);
	const all = { divisor: 1, marks: new Set(['inlined' as const]), sorted: true };
	return [...renderFolded(profile, all)].join('');
}

test('functions that the compiler inlined are frames of their own', async () => {
	const here = addressOf('inlined_here');
	assert.equal(
		await inlined(
			`\t${here} outer+0x4 (${PROGRAM})\n\t${addressOf('main')} main+0x0 (${PROGRAM})\n`,
		),
		'inlined;main;outer;middle_[i];innermost_[i] 7\n',
	);
});

test('an address of memory is found by the symbol it is in', async () => {
	assert.equal(
		await inlined(`\t7f0012345678 inlined_here+0x0 (${PROGRAM})\n`),
		'inlined;outer;middle_[i];innermost_[i] 7\n',
	);
});

test('of several addresses in one function, each has the functions that were inlined there', async () => {
	const [first, second] = [0, 1].map(
		(offset) => `7f001234567${8 + offset} inlined_here+0x${offset} (${PROGRAM})`,
	);
	const shown = 'outer;middle_[i];innermost_[i]';
	assert.equal(await inlined(`\t${second}\n\t${first}\n`), `inlined;${shown};${shown} 7\n`);
});

test('what addr2line knows nothing of keeps the name that perf gave', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	const fifo = join(folder, 'fifo');
	execFileSync('mkfifo', [fifo]);
	try {
		assert.equal(
			await inlined(
				`\tffffffff f1+0x1 (${PROGRAM})\n\tzz\n\t1 f2+0x1 (/nowhere/at all)\n\t1 f3 (${fifo})\n\t1 f4 (-e)\n` +
					`\t1 f5(int)+0x1 (inlined)\n\t1 k ([kernel.kallsyms])\n\t1 f6 (${folder})\n\t1 j (/tmp/perf-1.map)\n`,
			),
			'inlined;j;f6;k;f5_[i];f4;f3;f2;f1 7\n',
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('without addr2line there is an error that says what to install', async () => {
	const path = process.env.PATH;
	process.env.PATH = '/nowhere';
	try {
		await assert.rejects(inlined(`\t1 f (${PROGRAM})\n`), (error: Error) => {
			assert.ok(error instanceof TstraceError);
			assert.match(error.message, /addr2line is not installed: install binutils/);
			return true;
		});
	} finally {
		process.env.PATH = path;
	}
});
