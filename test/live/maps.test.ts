/** Reading maps in batches: all that is there, once each; what cannot be read is an error, not an empty map. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TstraceError } from '../../src/errors.js';
import { runqlat } from '../../src/generated/runqlat.js';
import { u32Key } from '../../src/loader/map.js';
import { BpfObject } from '../../src/loader/object.js';
import { descriptorsOf } from './held-maps.js';
import { until } from './support.js';

const OBJECT = `dist/bpf/${process.arch}/runqlat.bpf.o`;

function loaded(waits: number): BpfObject<typeof runqlat> {
	const object = new BpfObject(OBJECT, runqlat);
	for (const half of ['groups_0', 'groups_1'] as const) object.map(half).setMaxEntries(16);
	object.map('hash_waits').setMaxEntries(waits);
	object.load(['wakeup_hash']);
	return object;
}

test('10,000 elements, in several batches: each is handed out once; drained, the map is empty', () => {
	const COUNT = 10_000;
	const object = loaded(COUNT);
	try {
		const map = object.map('hash_waits');
		const value = new Uint8Array(map.valueSize);
		for (let key = 0; key < COUNT; key++) {
			new DataView(value.buffer).setBigUint64(0, BigInt(3 * key), true);
			map.update(u32Key(key), value);
		}
		for (const read of ['readAll', 'drain'] as const) {
			const seen = new Map<number, bigint>();
			let all = 0;
			map[read]((keys, values, count) => {
				all += count;
				for (let i = 0; i < count; i++)
					seen.set(keys.getUint32(i * 4, true), values.getBigUint64(i * map.valueSize, true));
			});
			assert.equal(all, COUNT, read);
			assert.equal(seen.size, COUNT, read);
			for (const [key, three] of seen) assert.equal(three, BigInt(3 * key));
			assert.equal(map.isEmpty(), read === 'drain');
		}
		map.drain(() => assert.fail('there is nothing any more'));
	} finally {
		object.close();
	}
});

test('what the kernel refuses to read is an error that names the map', () => {
	const object = loaded(16);
	const map = object.map('hash_waits');
	try {
		// Of no array can elements be taken out.
		assert.throws(
			() => object.map('hists').drain(() => undefined),
			(error) =>
				error instanceof TstraceError && /cannot read BPF map hists: E\w+/.test(error.message),
		);
	} finally {
		object.close();
	}
	// A descriptor that is not open.
	Object.defineProperty(map, 'fd', { get: () => -1 });
	for (const read of ['readAll', 'drain'] as const) {
		assert.throws(() => map[read](() => undefined), /cannot read BPF map hash_waits: EBADF/);
	}
});

test('a map is put into a map of maps by another thread, which keeps no descriptor', async () => {
	const TIMES = 20;
	const object = loaded(16);
	try {
		const [outer, inner] = [object.map('barrier'), object.map('barrier_inner')];
		const held = () => descriptorsOf(process.pid).get('anon_inode:bpf-map');
		const before = held();
		for (let i = 0; i < TIMES; i++) {
			outer.addInner(u32Key(0), inner.fd);
			assert.ok(outer.lookup(u32Key(0)));
			assert.ok(outer.delete(u32Key(0)));
		}
		// The thread goes on for some milliseconds.
		await until(
			() => held() === before,
			() => `${held()} descriptors, ${before} before`,
		);
	} finally {
		object.close();
	}
});
