/** Files that are damaged cost their own names, and leave no descriptor open. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { MmapRecord } from '../../../src/perf/records.js';
import { parseMaps } from '../../../src/proc/maps.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { Symbolizer } from '../../../src/symbolize/symbolizer.js';
import { functionsOf, stackOf, temporaryFolder } from './support.js';

const folder = temporaryFolder();
const libc = realpathSync(
	parseMaps(readFileSync('/proc/self/maps', 'utf8')).find(({ path }) => /libc\.so\.6$/.test(path))
		?.path ?? assert.fail('no libc'),
);
const whole = readFileSync(libc);
const getenv = functionsOf(libc, '-D').find(({ name }) => name === 'getenv')?.address ?? 0;
const START = 0x10_0000_0000;

/** The whole file, with other bytes from `at` on. */
function changed(at: number, ...bytes: readonly number[]): Buffer {
	const damaged = Buffer.from(whole);
	damaged.set(bytes, at);
	return damaged;
}

/** Of the ELF header: e_phoff, e_shoff, e_shentsize, e_shnum. */
const FILES: Readonly<Record<string, Buffer>> = {
	empty: Buffer.alloc(0),
	'cut in its header': whole.subarray(0, 40),
	'cut behind its header': whole.subarray(0, 64),
	'cut in the middle': whole.subarray(0, whole.length >> 1),
	'no ELF file': Buffer.alloc(10_000, 'text'),
	'of another class': changed(4, 9),
	'segments beyond its end': changed(32, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
	'sections beyond its end': changed(40, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
	'sections of no size': changed(58, 0, 0, 0xff, 0xff),
	'all but its magic is noise': Buffer.concat([whole.subarray(0, 16), Buffer.alloc(50_000, 0x5a)]),
};

/** A process that has it mapped as libc is; what its getenv is called then. */
async function nameIn(file: string) {
	const { dev, ino } = statSync(file);
	const history = new ProcessHistory();
	const mapped: MmapRecord = {
		type: 'mmap',
		pid: process.pid,
		tid: process.pid,
		time_ns: Number(process.hrtime.bigint()),
		start: START,
		end: START + whole.length,
		fileOffset: 0,
		major: (dev >> 8) & 0xfff,
		minor: (dev & 0xff) | ((dev >> 12) & 0xfff00),
		inode: ino,
		path: file,
	};
	history.add(mapped);
	try {
		const at_ns = mapped.time_ns + 1;
		const [stack] = await new Symbolizer(history).resolve([stackOf([START + getenv], { at_ns })]);
		return stack?.user[0]?.name;
	} finally {
		history.close();
	}
}

const descriptors = () => readdirSync('/proc/self/fd').length;

test('a whole file: its names, and nothing stays open', async () => {
	const file = join(folder, 'whole');
	writeFileSync(file, whole);
	const before = descriptors();
	assert.equal(await nameIn(file), 'getenv');
	assert.equal(descriptors(), before);
});

for (const [what, bytes] of Object.entries(FILES)) {
	test(`${what}: what is known of an address is its place, and nothing stays open`, async () => {
		const file = join(folder, 'damaged');
		writeFileSync(file, bytes);
		const before = descriptors();
		for (let times = 0; times < 3; times++) {
			const name = await nameIn(file);
			assert.match(name ?? '', /^(damaged\+0x[0-9a-f]+|getenv)$/);
		}
		assert.equal(descriptors(), before);
	});
}
