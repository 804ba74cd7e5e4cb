/** Maps, over a library that answers as the test says: what it is asked, and what is made of its answers. */
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { type TestContext, test } from 'node:test';
import { libbpf } from '../../../src/loader/ffi.js';
import { BpfMap, possibleCpus, u32Key } from '../../../src/loader/map.js';
import { replace } from './replaced.js';

const { ENOENT, ENOSPC, EPERM, E2BIG } = constants.errno;
const FD = 33;
const POINTER = 7n;

type Libbpf = ReturnType<typeof libbpf>;

/** A map with keys of 4 bytes. */
function mapOf(
	t: TestContext,
	answers: Partial<Libbpf>,
	value_bytes = 12,
	entries = 10_000,
): BpfMap {
	const usual: Partial<Libbpf> = {
		bpf_map__name: () => 'sums',
		bpf_map__key_size: () => 4,
		bpf_map__value_size: () => value_bytes,
		bpf_map__max_entries: () => entries,
		bpf_map__fd: () => FD,
	};
	replace(t, libbpf(), { ...usual, ...answers });
	return new BpfMap(POINTER);
}

/** Answers batches of so many elements, numbered from 0 on, one after the other; `last`: with the final one. */
function inBatches(sizes: readonly number[], last: number) {
	const asked: (number | undefined)[] = [];
	let next = 0;
	const answer: Libbpf['bpf_map_lookup_batch'] = (fd, position, out, keys, _values, count) => {
		assert.equal(fd, FD);
		asked.push(position?.[0]);
		const some = sizes[asked.length - 1] ?? assert.fail('asked once more');
		assert.ok(some <= count[0]);
		for (let i = 0; i < some; i++) new DataView(keys.buffer).setUint32(4 * i, next++, true);
		count[0] = some;
		out[0] = asked.length;
		return asked.length === sizes.length ? last : 0;
	};
	return { answer, asked };
}

/** The keys of all elements, and how many each batch had. */
function read(map: BpfMap, how: 'drain' | 'readAll') {
	const keys: number[] = [];
	const counts: number[] = [];
	map[how]((view, _values, count) => {
		counts.push(count);
		for (let i = 0; i < count; i++) keys.push(view.getUint32(4 * i, true));
	});
	return { keys, counts };
}

test('all elements come, batch by batch, each from where the one before ended', (t) => {
	const { answer, asked } = inBatches([3, 2, 1], -ENOENT);
	const map = mapOf(t, { bpf_map_lookup_batch: answer });
	assert.deepEqual(read(map, 'readAll'), { keys: [0, 1, 2, 3, 4, 5], counts: [3, 2, 1] });
	assert.deepEqual(asked, [undefined, 1, 2]);
});

test('elements are taken out by the call that does so, and where none is left none is told', (t) => {
	const { answer } = inBatches([2, 0], -ENOENT);
	const map = mapOf(t, { bpf_map_lookup_and_delete_batch: answer });
	assert.deepEqual(read(map, 'drain'), { keys: [0, 1], counts: [2] });
});

test('a bucket with more elements than a batch has room for: there is more room, from the same place on', (t) => {
	const rooms: number[] = [];
	const answer: Libbpf['bpf_map_lookup_batch'] = (_fd, position, _out, keys, values, count) => {
		assert.equal(position, null);
		assert.deepEqual([keys.length, values.length], [count[0] * 4, count[0] * 12]);
		rooms.push(count[0]);
		const isEnough = count[0] >= 10_000;
		count[0] = isEnough ? 1 : 0;
		return isEnough ? -ENOENT : -ENOSPC;
	};
	const map = mapOf(t, { bpf_map_lookup_batch: answer });
	assert.equal(read(map, 'readAll').keys.length, 1);
	assert.deepEqual(rooms, [4096, 8192, 10_000]);
	// Where all of the map has room, more would not help.
	const never = mapOf(t, { bpf_map_lookup_batch: () => -ENOSPC }, 12, 10);
	assert.throws(() => read(never, 'readAll'), { message: 'cannot read BPF map sums: ENOSPC' });
});

test('what fails is said with what it was, and of which map', (t) => {
	const map = mapOf(t, {
		bpf_map__set_max_entries: () => -E2BIG,
		bpf_map__set_autocreate: () => -EPERM,
		bpf_map_update_elem: () => -E2BIG,
		bpf_map_delete_elem: () => -EPERM,
		bpf_map_lookup_elem: () => -EPERM,
		bpf_map_lookup_batch: () => -EPERM,
		bpf_map_get_next_key: () => -EPERM,
		bpf_map__initial_value: () => null,
	});
	const key = u32Key(1);
	for (const [work, what] of [
		[() => map.setMaxEntries(9), 'cannot resize BPF map sums: E2BIG'],
		[() => map.setAutocreate(false), 'cannot skip BPF map sums: EPERM'],
		[() => map.update(key, key), 'cannot write to BPF map sums: E2BIG'],
		[() => map.push(key), 'cannot add to BPF map sums: E2BIG'],
		[() => map.delete(key), 'cannot delete from BPF map sums: EPERM'],
		[() => map.lookup(key), 'cannot read BPF map sums: EPERM'],
		[() => map.lookupPerCpu(key), 'cannot read BPF map sums: EPERM'],
		[() => map.isEmpty(), 'cannot read BPF map sums: EPERM'],
		[() => read(map, 'readAll'), 'cannot read BPF map sums: EPERM'],
		[() => map.initialValue(), 'map sums has no memory of its own'],
	] as const)
		assert.throws(work, { name: 'TstraceError', message: what });
});

test('what is not there is no failure', (t) => {
	const map = mapOf(t, {
		bpf_map_lookup_elem: () => -ENOENT,
		bpf_map_delete_elem: () => -ENOENT,
		bpf_map_get_next_key: () => -ENOENT,
	});
	const key = u32Key(1);
	assert.deepEqual([map.lookup(key), map.lookupPerCpu(key)], [undefined, undefined]);
	assert.deepEqual([map.delete(key), map.isEmpty()], [false, true]);
	const full = mapOf(t, { bpf_map_delete_elem: () => 0, bpf_map_get_next_key: () => 0 });
	assert.deepEqual([full.delete(key), full.isEmpty()], [true, false]);
});

test('each CPU has its value, and as much room for it as the kernel gives it', (t) => {
	let given = 0;
	let cleared: Uint8Array | undefined;
	const map = mapOf(t, {
		bpf_map_lookup_elem: (_fd, key, value) => {
			given = value.length;
			value[value.length - 1] = key[0] ?? 0;
			return 0;
		},
		bpf_map_update_elem: (_fd, _key, value) => {
			cleared = value;
			return 0;
		},
	});
	assert.equal(map.perCpuStride, 16);
	const values = map.lookupPerCpu(u32Key(5));
	assert.equal(given, 16 * possibleCpus());
	assert.equal(values?.getUint8(given - 1), 5);
	map.clearPerCpu(u32Key(5));
	assert.deepEqual(cleared, new Uint8Array(given));
	// Of a map that is not by CPU there is one value, as long as it is.
	assert.equal(map.lookup(u32Key(5))?.byteLength, 12);
});

test('a map that grows keeps its other flags', (t) => {
	const set: number[] = [];
	const map = mapOf(t, {
		bpf_map__map_flags: () => 0x400,
		bpf_map__set_map_flags: (_map, flags) => set.push(flags) - 1,
	});
	map.setGrowing();
	assert.deepEqual(set, [0x401]);
});

test('keys that are numbers are little-endian, and of 32 bits', () => {
	assert.deepEqual([...u32Key(0x8123_4567)], [0x67, 0x45, 0x23, 0x81]);
});
