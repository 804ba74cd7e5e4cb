/** What is mapped at an address, of mappings that lie over each other and come at different times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	AddressSpace,
	type Life,
	type Mapping,
	MappingIndex,
} from '../../../../src/symbolize/mappings/address-space.js';
import { MappedFile } from '../../../../src/symbolize/mappings/mapped-file.js';

const mapping = (start: number, end: number, time_ns = 0, path = ''): Mapping => {
	return { time_ns, start, end, fileOffset: 0, path, file: undefined };
};

test('a mapping holds its first address, and not its end', () => {
	const one = mapping(0x1000, 0x2000, 5);
	const index = new MappingIndex([one]);
	for (const [address, found] of [
		[0xfff, undefined],
		[0x1000, one],
		[0x1fff, one],
		[0x2000, undefined],
	] as const) {
		assert.equal(index.find(address, 9), found);
		assert.equal(index.findFirst(address), found);
	}
	assert.equal(index.find(0x1000, 5), one, 'from its very moment on');
	assert.equal(index.find(0x1000, 4), undefined, 'not before');
});

test('behind a small one that lies in a large one, it is the large one', () => {
	const large = mapping(0x1000, 0x9000, 1);
	const small = mapping(0x2000, 0x3000, 2);
	const index = new MappingIndex([small, large]);
	assert.equal(index.find(0x2800, 3), small);
	assert.equal(index.find(0x2800, 1), large);
	assert.equal(index.findFirst(0x2800), large);
	assert.equal(index.find(0x3000, 3), large);
	assert.equal(index.find(0x8fff, 3), large);
});

test('the same as to look at all of them', () => {
	const any = fc.record({
		start: fc.nat(40),
		size: fc.integer({ min: 1, max: 30 }),
	});
	fc.assert(
		fc.property(fc.array(any, { maxLength: 12 }), (places) => {
			// No two at the same time: which of them counts is not said.
			const all = places.map(({ start, size }, i) => mapping(start, start + size, (i * 7) % 13));
			const index = new MappingIndex(all);
			for (let address = 0; address < 72; address++) {
				const here = all
					.filter(({ start, end }) => address >= start && address < end)
					.sort((a, b) => a.time_ns - b.time_ns);
				assert.equal(index.findFirst(address), here[0]);
				for (const time_ns of [-1, 0, 6, 13])
					assert.equal(
						index.find(address, time_ns),
						here.findLast((each) => each.time_ns <= time_ns),
					);
			}
		}),
	);
});

const lifeOf = (pid: number, since_ns: number, ...mappings: Mapping[]): Life => {
	return { pid, since_ns, index: new MappingIndex(mappings), parentPid: undefined };
};

test('a child has what its parent had up to the fork; what nobody knew of yet is found at last', () => {
	const inherited = mapping(0x1000, 0x2000, 1, 'before');
	const later = mapping(0x3000, 0x4000, 20, "the parent's own");
	const own = mapping(0x5000, 0x6000, 15, 'own');
	const late = mapping(0x7000, 0x8000, 99, 'learnt late');
	const child = lifeOf(2, 10, own, late);
	const space = new AddressSpace(child, [
		{ life: child, until_ns: 16 },
		{ life: lifeOf(1, 0, inherited, later), until_ns: 10 },
	]);
	assert.equal(space.find(0x1800), inherited);
	assert.equal(space.find(0x3800), undefined);
	assert.equal(space.find(0x5800), own);
	assert.equal(space.find(0x7800), late);
	assert.deepEqual([...space.paths()].sort(), ['before', 'learnt late', 'own', "the parent's own"]);
});

test('whose memory a process began with a copy of: its parents, the nearest first, eight at most', () => {
	const lives = Array.from({ length: 12 }, (_, i) => lifeOf(i, 100 - i));
	const [own = assert.fail()] = lives;
	const space = new AddressSpace(
		own,
		lives.map((life) => ({ life, until_ns: 0 })),
	);
	assert.deepEqual(
		Array.from(space.parents(), ({ pid }) => pid),
		[1, 2, 3, 4, 5, 6, 7, 8],
	);
});

test('files are those of the process, and of whoever it has its memory from', () => {
	const file = (path: string) => new MappedFile(path, 1, 0, 0);
	const of = (path: string) => ({ ...mapping(0x1000, 0x2000, 1, path), file: file(path) });
	const own = lifeOf(2, 10, of('/own'), mapping(0x3000, 0x4000, 1, '[heap]'));
	const line = [own, lifeOf(1, 0, of('/parents'))].map((life) => ({ life, until_ns: 20 }));
	const paths = Array.from(new AddressSpace(own, line).files(), ({ path }) => path);
	assert.deepEqual(paths, ['/own', '/parents']);
});

test('of what was mapped at one place again and again, the last one that is not too late is found', () => {
	const many = Array.from({ length: 50 }, (_, i) => mapping(0x1000, 0x2000, i));
	const index = new MappingIndex(many.toReversed());
	for (const time_ns of [0, 7, 48, 49]) assert.equal(index.find(0x1800, time_ns), many[time_ns]);
});

test('spaces are mapped alike as long as the same program maps nothing in between', () => {
	const life = (pid: number): Life => {
		const index = new MappingIndex([mapping(0, 1, 20), mapping(0, 1, 10), mapping(0, 1, 20)]);
		return { pid, since_ns: 0, index, parentPid: undefined };
	};
	const [one, other] = [life(1), life(2)];
	const at = (of: Life, until_ns: number) => new AddressSpace(of, [{ life: of, until_ns }]);
	const isAlike = (a_ns: number, b_ns: number) => at(one, a_ns).isMappedAs(at(one, b_ns));
	assert.deepEqual(
		[isAlike(10, 19), isAlike(20, 99), isAlike(9, 10), isAlike(19, 20), isAlike(30, 5)],
		[true, true, false, false, false],
	);
	assert.equal(at(one, 15).isMappedAs(at(other, 15)), false);
});
