import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

test('an address of memory is as far behind its symbol in the file as perf says', async () => {
	const [outer, here] = ['outer', 'inlined_here'].map((name) => BigInt(`0x${addressOf(name)}`));
	const offset = ((here as bigint) - (outer as bigint)).toString(16);
	assert.equal(
		await inlined(
			`\t7f0000000001 outer+0x${offset} (${PROGRAM})\n\t7f0000000002 outer+0x0 (${PROGRAM})\n`,
		),
		'inlined;outer;outer;middle_[i];innermost_[i] 7\n',
	);
});

test('frames that read alike are others at another address, in another file, of another name', async () => {
	const [main, outer, here] = ['main', 'outer', 'inlined_here'].map(addressOf);
	for (const [frames, expected] of [
		[
			[`${here} [unknown] (${PROGRAM})`, `${main} [unknown] (${PROGRAM})`],
			'main;outer;middle_[i];innermost_[i]',
		],
		[
			[`${here} outer (${PROGRAM})`, `${outer} outer (${PROGRAM})`],
			'outer;outer;middle_[i];innermost_[i]',
		],
		[
			[`${here} outer (${PROGRAM})`, `${here} outer (/nowhere/inlined)`],
			'outer;outer;middle_[i];innermost_[i]',
		],
		[[`1 f1 (${PROGRAM})`, `1 f2 (${PROGRAM})`], 'f2;f1'],
		// Whose folder is that?
		[[`${here} outer (build/workloads/inlined)`], 'outer'],
	] as const)
		assert.equal(
			await inlined(frames.map((frame) => `\t${frame}\n`).join('')),
			`inlined;${expected} 7\n`,
		);
});

/** Runs with these programs found before all others. */
async function withPrograms<T>(
	programs: Readonly<Record<string, string>>,
	mode: number,
	run: (folder: string) => Promise<T>,
): Promise<T> {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	const { PATH, DEBUGINFOD_URLS } = process.env;
	for (const [name, script] of Object.entries(programs))
		writeFileSync(join(folder, name), `#!/bin/sh\ncd ${folder} && ${script}\n`, { mode });
	process.env.PATH = mode === 0o755 ? `${folder}:${PATH}` : folder;
	process.env.DEBUGINFOD_URLS = 'file:///nowhere';
	try {
		return await run(folder);
	} finally {
		process.env.PATH = PATH;
		if (DEBUGINFOD_URLS === undefined) delete process.env.DEBUGINFOD_URLS;
		else process.env.DEBUGINFOD_URLS = DEBUGINFOD_URLS;
		rmSync(folder, { recursive: true });
	}
}

test('servers are not asked for what is missing', async () => {
	const addr2line = `printf '%s' "($DEBUGINFOD_URLS)" > urls; cat > /dev/null`;
	await withPrograms({ addr2line }, 0o755, async (folder) => {
		assert.equal(await inlined(`\t1 f (${PROGRAM})\n`), 'inlined;f 7\n');
		assert.equal(readFileSync(join(folder, 'urls'), 'utf8'), '()');
	});
});

test('an addr2line that is there and cannot be started is not said to be missing', async () => {
	await withPrograms({ addr2line: 'true' }, 0o644, async () => {
		await assert.rejects(inlined(`\t1 f (${PROGRAM})\n`), {
			name: 'TstraceError',
			message: /^addr2line cannot be started: .*, or leave out --inline$/,
		});
	});
});
