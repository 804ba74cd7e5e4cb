/** Which functions of a runtime stand in a stack, for which of its frames. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FunctionWord, LanguageFunction } from '../../../src/runtimes/runtime.js';
import { Place } from '../../../src/symbolize/code-place.js';
import type { FunctionNames } from '../../../src/symbolize/function-names.js';
import { FunctionPlaces } from '../../../src/symbolize/function-places.js';
import type { PlacedFrame } from '../../../src/symbolize/language-frames.js';
import type { AddressSpace } from '../../../src/symbolize/mappings/address-space.js';
import { MappedFile } from '../../../src/symbolize/mappings/mapped-file.js';

const SPACE = {} as AddressSpace;
const word = (place: number, isCallers = false): FunctionWord => ({ place, print: 1, isCallers });
const named = (name: string): LanguageFunction => ({
	language: 'python',
	name,
	file: '/srv/a.js',
	line: 3,
});

type Name = LanguageFunction | 'none' | 'unread';

interface World {
	/** Of functions, by their places. */
	readonly names?: Readonly<Record<number, Name>>;
	/** Of code that was made, by address. */
	readonly made?: Readonly<Record<number, Name>>;
	/** Functions in the code of another one, by its place. */
	readonly inlined?: Readonly<Record<number, readonly FunctionWord[]>>;
}

/** Everything else is not to be asked. */
function placesIn({ names = {}, made = {}, inlined = {} }: World) {
	const calls: (number | undefined)[] = [];
	const known = {
		placedIn: (_space: AddressSpace, _addresses: readonly number[], taken: unknown) => taken,
		nameOf: (_space: AddressSpace, { place }: FunctionWord) => names[place] ?? assert.fail(),
		madeAt: (_space: AddressSpace, address: number) => made[address] ?? assert.fail(`${address}`),
		withInlined(_space: AddressSpace, call: number | undefined, words: readonly FunctionWord[]) {
			calls.push(call);
			return [...(inlined[words[0]?.place ?? 0] ?? []), ...words];
		},
	} as unknown as FunctionNames;
	return { places: new FunctionPlaces(known), calls };
}

const FILE = new MappedFile('/usr/bin/node', 1, 0, 0);
const inFile = (name: string) => new Place({ name, kind: 'user' }, FILE);
const madeCode = () => new Place({ name: '[anon]', kind: 'user' });

/** What runs in a frame, and what is said of it. */
function told({ code, runs, isCallers, isUnread }: PlacedFrame) {
	const names = runs?.map(({ frame }) => frame.name);
	return { code: code.frame.name, runs: names, isCallers, isUnread };
}

test('each frame has the functions that were taken of it; where a call is made, those put into its code', () => {
	const [leaf, outer, inner] = [named('leaf'), named('outer'), named('inner')];
	const { places, calls } = placesIn({
		names: { 10: leaf, 20: outer, 30: inner },
		inlined: { 20: [word(30)] },
	});
	const taken = new Map([
		[0, [word(10)]],
		[2, [word(20)]],
	]);
	const frames = places.framesOf(SPACE, [0x1000, 0x2000, 0x3000], taken);
	const [first, second, third] = ['a', 'b', 'c'].map(inFile).map(frames) as [
		PlacedFrame,
		PlacedFrame,
		PlacedFrame,
	];
	assert.deepEqual(
		first.runs?.map(({ frame }) => frame),
		[{ name: 'leaf (/srv/a.js:3)', kind: 'python', source: leaf }],
	);
	assert.equal(second.runs, undefined);
	assert.deepEqual(told(third).runs, ['inner (/srv/a.js:3)', 'outer (/srv/a.js:3)']);
	// The leaf is where it is, and calls nobody.
	assert.deepEqual(calls, [undefined, 0x3000]);
});

test('code for a function that could not be read; nothing for those that have names in the runtime’s file', () => {
	const { places } = placesIn({ names: { 1: named('f'), 2: 'unread', 3: 'none', 4: named('g') } });
	const of = (...words: readonly FunctionWord[]) =>
		told(places.framesOf(SPACE, [0x1000], new Map([[0, words]]))(inFile('code'), 0));
	const [f, g] = ['f (/srv/a.js:3)', 'g (/srv/a.js:3)'];
	const known = { code: 'code', isCallers: false, isUnread: undefined };
	assert.deepEqual(of(word(1), word(3), word(4)), { ...known, runs: [f, g] });
	assert.deepEqual(of(word(1), word(2)), { ...known, runs: [f, 'code'], isUnread: true });
	const none = { code: 'code', runs: undefined, isCallers: undefined };
	assert.deepEqual(of(word(3)), { ...none, isUnread: undefined });
	assert.deepEqual(of(word(2), word(3)), { ...none, isUnread: true });
	assert.equal(of(word(1, true)).isCallers, true);
	// Those that were put into its code have frames of their own.
	assert.equal(of(word(4), word(1, true)).isCallers, true);
});

test('code that was made has the function whose it is; code of a file is not looked up so', () => {
	const f = named('f');
	const { places } = placesIn({ made: { 4096: f, 8192: 'none', 12288: 'unread' } });
	const frames = places.framesOf(SPACE, [0x1000, 0x2000, 0x3000, 0x4000], undefined);
	const none = { code: '[anon]', runs: undefined, isCallers: undefined, isUnread: undefined };
	assert.deepEqual(
		[0, 1, 2].map((i) => told(frames(madeCode(), i))),
		[{ ...none, runs: ['f (/srv/a.js:3)'] }, none, { ...none, isUnread: true }],
	);
	assert.deepEqual(told(frames(inFile('main'), 3)), { ...none, code: 'main' });
	// What a walk took of a frame goes before.
	const { places: others } = placesIn({ names: { 7: named('g') } });
	const taken = others.framesOf(SPACE, [0x1000], new Map([[0, [word(7)]]]));
	assert.deepEqual(told(taken(madeCode(), 0)).runs, ['g (/srv/a.js:3)']);
});

test('a function is one place in all stacks that are named together', () => {
	const f = named('f');
	const { places } = placesIn({ made: { 4096: f, 8192: f } });
	const frames = places.framesOf(SPACE, [0x1000, 0x2000], undefined);
	const placeOf = (i: number) => frames(madeCode(), i).runs?.[0];
	const first = placeOf(0);
	assert.equal(placeOf(1), first);
	places.forget();
	assert.notEqual(placeOf(1), first);
});
