/** A map that is put into a map of maps: by another thread, or by this one where no other does it. */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { libbpf, libc } from '../../../src/loader/ffi.js';
import { BpfMap, u32Key } from '../../../src/loader/map.js';
import { replace } from './replaced.js';

const [OUTER_FD, INNER_FD] = [33, 44];
const KEY = u32Key(5);

/** What was done by this thread and by the other, which has done it when it is asked, or never does. */
function machine(
	t: TestContext,
	other: 'does' | 'never does' | 'is not to be had' | 'has no descriptor',
) {
	/** Descriptors of the same, by those that they are of. */
	const owned = new Map<number, number>();
	const own: unknown[] = [];
	const aside: unknown[] = [];
	let isThere = false;
	let done: (() => void) | undefined;
	replace(t, libc(), {
		fcntl: (fd) => {
			if (other === 'has no descriptor' && fd === INNER_FD) return -1;
			owned.set(fd, openSync('/dev/null', 'r'));
			return owned.get(fd) ?? -1;
		},
	});
	replace(t, libbpf(), {
		bpf_map__name: () => 'rows',
		bpf_map__key_size: () => 4,
		bpf_map__value_size: () => 4,
		bpf_map__fd: () => OUTER_FD,
		bpf_map_lookup_elem: () => (isThere ? 0 : -2),
		bpf_map_update_elem: (fd, key, value) => {
			own.push([fd, [...(key ?? [])], [...value]]);
			return 0;
		},
		bpf_map_update_elem_aside: (fd, key, value, _flags, whenDone) => {
			if (other === 'is not to be had') throw new Error('too many calls');
			aside.push([fd, [...key], [...value]]);
			isThere = other === 'does';
			done = whenDone;
		},
	});
	new BpfMap(7n).addInner(KEY, INNER_FD);
	return { owned, own, aside, done: () => done?.() };
}

const assertClosed = (fds: Iterable<number>) => {
	for (const fd of fds) assert.throws(() => closeSync(fd), /EBADF/);
};
const BY_THIS_THREAD = [[OUTER_FD, [...KEY], [...u32Key(INNER_FD)]]];

test('another thread does it, with descriptors of its own, which are closed when it has', (t) => {
	const { owned, own, aside, done } = machine(t, 'does');
	const [outer = -1, inner = -1] = [owned.get(OUTER_FD), owned.get(INNER_FD)];
	assert.deepEqual(aside, [[outer, [...KEY], [...u32Key(inner)]]]);
	assert.deepEqual(own, []);
	done();
	assertClosed([outer, inner]);
});

test('where the other thread does not come to it in time, this one does it', (t) => {
	let now_ms = 0;
	t.mock.method(performance, 'now', () => {
		now_ms += 15;
		return now_ms;
	});
	const { owned, own, done } = machine(t, 'never does');
	assert.deepEqual(own, BY_THIS_THREAD);
	done();
	assertClosed(owned.values());
});

test('where no other thread can be asked, this one does it, and nothing stays open', (t) => {
	for (const why of ['is not to be had', 'has no descriptor'] as const) {
		const { owned, own, aside } = machine(t, why);
		assert.deepEqual([own, aside], [BY_THIS_THREAD, []], why);
		assert.ok(owned.size > 0);
		assertClosed(owned.values());
	}
});
