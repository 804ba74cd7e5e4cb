/** Memory that a process made to do harm: it costs names, and neither time nor memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printAt } from '../../../../src/runtimes/v8/frame.js';
import { Heap } from '../../../../src/runtimes/v8/heap.js';
import { scopeAt } from '../../../../src/runtimes/v8/scope.js';
import { FakeMemory, FUNCTION_FLAGS, functionsIn, LAYOUT, TYPE } from './memory.js';

/** Counts what is read. */
class Counted extends FakeMemory {
	reads = 0;
	mostBytes = 0;

	override read(address: number, length_bytes: number): DataView | undefined {
		this.reads++;
		this.mostBytes = Math.max(this.mostBytes, length_bytes);
		return super.read(address, length_bytes);
	}
}

test('strings that refer to themselves end', () => {
	const memory = new Counted();
	const heap = new Heap(memory, LAYOUT);
	const cons = memory.cons(0, 0, 1 << 30);
	memory.point(cons, 16, cons);
	memory.point(cons, 24, cons);
	assert.equal(heap.text(cons, 1 << 20) ?? '', '');
	const thin = memory.object(TYPE.thinOneByte, 24);
	memory.int32(thin, 12, 5);
	memory.point(thin, LAYOUT.thinActual, thin);
	assert.equal(heap.text(thin, 100), undefined);
	assert.ok(memory.reads < 5000, `${memory.reads}`);
});

test('lengths that are no lengths are not believed', () => {
	const memory = new Counted();
	const heap = new Heap(memory, LAYOUT);
	const string = memory.string('short');
	memory.int32(string, 12, -1);
	assert.equal(heap.text(string, 512), undefined);
	memory.int32(string, 12, 0x7fff_ffff);
	assert.equal(heap.text(string, 512)?.length, 512);
	const sliced = memory.object(TYPE.slicedOneByte, 32);
	memory.int32(sliced, 12, 5);
	memory.point(sliced, LAYOUT.slicedParent, memory.string('abc'));
	memory.smi(sliced, LAYOUT.slicedOffset, 2);
	assert.equal(heap.text(sliced, 100), undefined);
	// Nor is what lies in front of a string.
	memory.int32(sliced, 12, 2);
	memory.smi(sliced, LAYOUT.slicedOffset, -2);
	assert.equal(heap.text(sliced, 100), undefined);
	for (const locals of [-1, 1 << 17, 0x7fff_ffff])
		assert.equal(scopeAt(heap, memory.scope([FUNCTION_FLAGS, 0, locals, 'x'])), undefined);
	assert.ok(memory.mostBytes <= 512);
});

test('a source that says it is huge is not read', () => {
	const memory = new Counted();
	const source = memory.string('x');
	memory.int32(source, 12, 0x7fff_fff0);
	const scope = memory.scope([FUNCTION_FLAGS, 0, 0, 'f', -1, '', 3, 5]);
	const shared = memory.shared(scope, memory.script('/a.js', source));
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	const found = functionsIn(memory).functionAt({
		place: shared,
		print,
		isCallers: false,
	});
	assert.deepEqual(found, { language: 'javascript', name: 'f', file: '/a.js', line: undefined });
	assert.ok(memory.mostBytes <= 4096);
});

test('a name is one line, however it is forged', () => {
	const memory = new FakeMemory();
	const scope = memory.scope([FUNCTION_FLAGS, 0, 0, `a\n\u2028b${'x'.repeat(5000)}`, -1, '', 0, 5]);
	const shared = memory.shared(scope, memory.script('/a\r\nb.js', memory.string('x')));
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	const found = functionsIn(memory).functionAt({
		place: shared,
		print,
		isCallers: false,
	});
	assert.ok(typeof found === 'object');
	assert.doesNotMatch(`${found.name}${found.file}`, /[\n\r\u2028]/);
	assert.ok(found.name.length <= 512);
});

test('whatever is in memory, reading a function ends and throws nothing', () => {
	fc.assert(
		fc.property(fc.uint8Array({ minLength: 256, maxLength: 2048 }), fc.nat(), (bytes, seed) => {
			let reads = 0;
			const read = (address: number, length_bytes: number) => {
				reads++;
				if (length_bytes > 1 << 24) return undefined;
				// Every address is one of these bytes, so that pointers lead on.
				const view = new DataView(new ArrayBuffer(length_bytes));
				for (let i = 0; i < Math.min(length_bytes, 1 << 12); i++)
					view.setUint8(i, bytes[(Math.floor(address) + i) % bytes.length] as number);
				return view;
			};
			const place = (seed % 4096) * 8;
			const print = printAt(new Heap({ read }, LAYOUT), place) ?? 0;
			functionsIn({ read }).functionAt({ place, print, isCallers: false });
			assert.ok(reads < 20_000, `${reads}`);
		}),
	);
});
