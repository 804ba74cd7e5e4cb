/** dist/main.cache: V8 takes it, and only for the bundle that it was made of. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Script } from 'node:vm';

const HEADER_BYTES = 128;
const source = readFileSync('dist/main.cjs', 'latin1');
const cache = readFileSync('dist/main.cache');

/** What `tstrace --help` prints with this bundle and this cache. */
function helpOf(bundle: string, cached?: Buffer): string {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-cache-'));
	try {
		mkdirSync(join(folder, 'dist'));
		cpSync('bin', join(folder, 'bin'), { recursive: true });
		cpSync('package.json', join(folder, 'package.json'));
		writeFileSync(join(folder, 'dist/main.cjs'), bundle, 'latin1');
		if (cached) writeFileSync(join(folder, 'dist/main.cache'), cached);
		const { stdout, stderr } = spawnSync(join(folder, 'bin/tstrace'), ['--help'], {
			encoding: 'utf8',
		});
		assert.equal(stderr, '');
		return stdout;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

test('V8 takes the cache of the build', () => {
	const header = cache.toString('latin1', 0, HEADER_BYTES);
	assert.match(header, new RegExp(`^${source.slice(-16)} ${process.version} ${process.arch} `));
	const script = new Script(source, { cachedData: cache.subarray(HEADER_BYTES) });
	assert.equal(script.cachedDataRejected, false);
});

test('a bundle of the same length, with the cache of the one before, runs as it is written', () => {
	const changed = source
		.replaceAll('Shows where programs wait', 'Shows WHERE programs wait')
		.replace(/.{16}$/, '0123456789abcdef');
	assert.equal(changed.length, source.length);
	assert.match(helpOf(changed, cache), /^Shows WHERE programs wait/m);
});

test('what another node compiled is left alone', () => {
	// V8 would take it, and crash: it is the other version's header that tells.
	const damaged = Buffer.from(cache);
	damaged.fill(0xff, HEADER_BYTES + 1000);
	for (const [ours, other] of [
		[process.version, 'v20.12.1'],
		[process.arch, 'm68k'],
		[String(statSync(process.execPath).size), '12345'],
		[String(statSync(process.execPath).mtimeMs), '1700000000000'],
	] as const) {
		const header = cache.toString('latin1', 0, HEADER_BYTES).replace(` ${ours}`, ` ${other}`);
		damaged.write(header.trimEnd().padEnd(HEADER_BYTES).slice(0, HEADER_BYTES), 'latin1');
		assert.match(helpOf(source, damaged), /^Shows where programs wait/m, other);
	}
});

test('tstrace runs with a cache that is cut short, and without one', () => {
	for (const cached of [cache.subarray(0, cache.length / 2), cache.subarray(0, 3), undefined])
		assert.match(helpOf(source, cached), /^Shows where programs wait/m);
});
