/** Which frames of stacks are placed anew, and which are those of the stacks before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { FunctionWord } from '../../../src/runtimes/runtime.js';
import { Place } from '../../../src/symbolize/code-place.js';
import {
	AddressSpace,
	type Life,
	type Mapping,
	MappingIndex,
} from '../../../src/symbolize/mappings/address-space.js';
import { PlacedStacks } from '../../../src/symbolize/placed-stacks.js';

/** A program that maps something at 100 ns. */
function lifeOf(pid: number): Life {
	const mapping: Mapping = {
		...{ time_ns: 100, start: 0x1000, end: 0x2000, fileOffset: 0, path: '', file: undefined },
	};
	return { pid, since_ns: 0, index: new MappingIndex([mapping]), parentPid: undefined };
}
const spaceAt = (life: Life, until_ns: number) => new AddressSpace(life, [{ life, until_ns }]);
const word = (place: number, print = 1): FunctionWord => ({ place, print, isCallers: false });

type Functions = ReadonlyMap<number, readonly FunctionWord[]>;

function nameOf(address: number, i: number, functions?: Functions): string {
	const words =
		functions
			?.get(i)
			?.map(
				({ place, print, instruction }) =>
					`${place}.${print}${instruction ? `+${instruction}` : ''}`,
			) ?? [];
	return `${i === 0 ? 'leaf ' : ''}${address}:${words}`;
}

/** Places stacks; says of each frame all that it may depend on, and which were asked for. */
function placing(isUnread = (_: string) => false) {
	const stacks = new PlacedStacks();
	let asked: string[] = [];
	return (space: AddressSpace, addresses: readonly number[], functions?: Functions) => {
		asked = [];
		const frames = stacks.frames({ space, addresses, functions }, (address, i) => {
			const name = nameOf(address, i, functions);
			asked.push(name);
			return { code: new Place({ name, kind: 'user' }), isUnread: isUnread(name) };
		});
		return { names: frames.map(({ code }) => code.frame.name), asked };
	};
}

test('frames: as if each stack were placed by itself', () => {
	const lives = [lifeOf(1), lifeOf(2)];
	const words = fc.option(
		fc.array(fc.constantFrom(word(8), word(16), word(8, 2), { ...word(8), instruction: 3 }), {
			minLength: 1,
		}),
	);
	const stack = fc.record({
		life: fc.constantFrom(...lives),
		frames: fc.array(fc.tuple(fc.constantFrom(1, 2, 3), words), { maxLength: 6 }),
	});
	fc.assert(
		fc.property(fc.array(stack), (all) => {
			const place = placing();
			for (const { life, frames } of all) {
				const addresses = frames.map(([address]) => address);
				const functions = new Map(frames.flatMap(([, own], i) => (own ? [[i, own] as const] : [])));
				const { names } = place(spaceAt(life, 200), addresses, functions);
				assert.deepEqual(
					names,
					addresses.map((address, i) => nameOf(address, i, functions)),
				);
			}
		}),
	);
});

test('frames that stacks of the program have had before are not asked for, except leaves', () => {
	const place = placing();
	const space = spaceAt(lifeOf(1), 200);
	assert.equal(place(space, [9, 2, 1]).asked.length, 3);
	assert.deepEqual(place(space, [9, 3, 2, 1]).asked, ['leaf 9:', '3:']);
	assert.deepEqual(place(space, [2, 7, 3, 1]).asked, ['leaf 2:', '7:']);
	assert.deepEqual(place(space, [9, 2, 1], new Map([[1, [word(8)]]])).asked, ['leaf 9:', '2:8.1']);
	assert.equal(place(spaceAt(lifeOf(2), 200), [9, 2, 1]).asked.length, 3);
});

test('frames are asked for again after something was mapped, and where they could not be read', () => {
	const life = lifeOf(1);
	const place = placing((name) => name.startsWith('2:'));
	assert.equal(place(spaceAt(life, 99), [9, 2, 1]).asked.length, 3);
	assert.equal(place(spaceAt(life, 100), [9, 2, 1]).asked.length, 3);
	assert.deepEqual(place(spaceAt(life, 300), [9, 2, 1]).asked, ['leaf 9:', '2:']);
});
