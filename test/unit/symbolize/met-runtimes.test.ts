/** The runtimes that walks have met, and where their files are mapped. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PythonLayout } from '../../../src/runtimes/python/layout.js';
import type { RuntimeFile } from '../../../src/runtimes/recognise.js';
import {
	AddressSpace,
	type Life,
	type Mapping,
	MappingIndex,
} from '../../../src/symbolize/mappings/address-space.js';
import { MappedFile } from '../../../src/symbolize/mappings/mapped-file.js';
import { lifeKey, MetRuntimes } from '../../../src/symbolize/met-runtimes.js';
import { LAYOUT, LAYOUT_3_9 } from '../runtimes/python/memory.js';

const python = (layout: PythonLayout, version: string): RuntimeFile => {
	return { runtime: 'python', version, layout, problem: undefined };
};
const OLD = python(LAYOUT_3_9, '3.9');
const NEW = python(LAYOUT, '3.11');
/** The code of its interpreter is in the middle of the file. */
const { evalStart, evalEnd } = LAYOUT_3_9;
const BASE = 0x5555_0000_0000;

const DEVICE = { major: 0x103, minor: 0x1234 };
const fileOf = (inode: number) =>
	new MappedFile(`/usr/bin/python${inode}`, inode, DEVICE.major, DEVICE.minor);

/** Part of a file, from one place of it to another. */
const mapped = (file: MappedFile, base: number, from: number, to: number): Mapping => {
	const where = { start: base + from, end: base + to, fileOffset: from };
	return { time_ns: 1, ...where, path: file.path, file };
};

function spaceOf(pid: number, ...mappings: readonly Mapping[]): AddressSpace {
	const life: Life = { pid, since_ns: 0, index: new MappingIndex(mappings), parentPid: undefined };
	return new AddressSpace(life, [{ life, until_ns: 10 }]);
}

/** As the kernel numbers devices: 12 bits, 20 bits. */
const known = (files: Readonly<Record<number, RuntimeFile>>) => ({
	runtimeIn: ({ inode, device }: { inode: bigint; device: number }) =>
		device === DEVICE.major * 2 ** 20 + DEVICE.minor ? files[Number(inode)] : undefined,
});

const keyOf = (space: AddressSpace) => lifeKey(space.life);

test('a file is mapped in parts: its base is told by the one that has the code of the interpreter', () => {
	const file = fileOf(7);
	const other = fileOf(8);
	const parts = [
		mapped(other, 0x7000_0000_0000, 0, evalEnd + 4096),
		// Nobody promises that the parts have one base.
		mapped(file, BASE + 0x1000_0000, 0, evalStart),
		mapped(file, BASE, evalStart, evalEnd),
		mapped(file, BASE + 0x2000_0000, evalEnd, evalEnd + 0x1000),
	];
	const met = new MetRuntimes(known({ 7: OLD }));
	const space = spaceOf(1, ...parts);
	assert.equal(met.runtimeOf(space), OLD);
	assert.equal(met.codeBaseOf(space, OLD), BASE);
	assert.equal(met.runtimeOf(spaceOf(2, parts[0] as Mapping)), undefined);
	assert.equal(met.codeBaseOf(spaceOf(2, parts[1] as Mapping), OLD), 0, 'only the beginning of it');
	assert.equal(met.codeBaseOf(spaceOf(2, parts[3] as Mapping), OLD), 0, 'only what is behind');
});

test('what a walk came to is believed where a file has the code mapped there, and nowhere else', () => {
	const met = new MetRuntimes(known({}));
	const file = fileOf(9);
	const space = spaceOf(1, mapped(file, BASE, evalStart - 0x1000, evalEnd));
	met.add(keyOf(space), { runtime: OLD, base: BASE });
	assert.equal(met.runtimeOf(space), OLD);
	assert.equal(met.codeBaseOf(space, OLD), BASE);
	const moved = spaceOf(1, mapped(file, BASE + 4096, evalStart - 0x1000, evalEnd));
	assert.equal(met.runtimeOf(moved), undefined);
	assert.equal(met.codeBaseOf(moved, OLD), 0);
	// The latest counts.
	met.add(keyOf(space), { runtime: OLD, base: BASE + 4096 });
	assert.equal(met.codeBaseOf(moved, OLD), BASE + 4096);
	assert.equal(
		met.runtimeOf(spaceOf(2, mapped(file, BASE, 0, evalEnd))),
		undefined,
		'not met there',
	);
});

test('functions of Python 3.9 are put to the frames that run them; of others they are where walks found them', () => {
	const file = fileOf(7);
	const space = spaceOf(1, mapped(file, BASE, 0, evalEnd));
	const word = { place: 1, print: 2, isCallers: false };
	const loop = BASE + evalStart + 8;
	// The innermost has begun, and has no function yet.
	const addresses = [loop, BASE + 0x10, loop + 8, BASE + 0x20];
	const taken = new Map([[0, [word]]]);
	const placed = (runtime: RuntimeFile, as = space) =>
		new MetRuntimes(known({ 7: runtime })).placedIn(as, addresses, taken);
	assert.deepEqual([...placed(OLD).keys()], [2]);
	assert.equal(placed(NEW), taken);
	assert.equal(placed(OLD, spaceOf(1)), taken, 'nobody knows where it is');
	// A walk came to another runtime in this process: what is mapped is not looked at.
	const met = new MetRuntimes({ runtimeIn: () => assert.fail('it is looked at') });
	met.add(keyOf(space), { runtime: NEW, base: BASE });
	assert.equal(met.placedIn(space, addresses, taken), taken);
});

test('of 10,000 processes it is known what walks came to', () => {
	const met = new MetRuntimes(known({}));
	for (let i = 0; i <= 10_000; i++) met.add(`${i}`, { runtime: OLD, base: i });
	assert.deepEqual(
		['0', '9999', '10000'].map((life) => met.of(life)),
		[OLD, OLD, undefined],
	);
	// One that is known runs another one by now.
	met.add('5', { runtime: NEW, base: 0 });
	assert.equal(met.of('5'), NEW);
});
