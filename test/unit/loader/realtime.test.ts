/** Whether a ring buffer may be used in the scheduler, by kernels' signs and types. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Btf } from '../../../src/loader/btf.js';
import { isRealtime, type KernelSigns, ringBufferForbidden } from '../../../src/loader/realtime.js';
import { BtfBuilder, INT, STRUCT, TYPEDEF, UNION } from './btf-builder.js';

type Lock = 'spinlock_t' | 'raw_spinlock_t' | 'rqspinlock_t';

/** The locks of a kernel, and what its ring buffer uses; undefined: BTF does not say. */
function locks(realtime: 'no' | '5.10' | '6.1', ring: Lock | undefined): Btf {
	const b = new BtfBuilder();
	const int = b.type('int', INT, 4, [32]);
	const member = (name: string, type: number, bits = 0) => [name ? b.string(name) : 0, type, bits];
	const queued = b.type('qspinlock', STRUCT, 4, member('val', int), 1);
	const raw = b.type('raw_spinlock', STRUCT, 4, member('raw_lock', queued), 1);
	let inside: number[];
	if (realtime === 'no') {
		inside = member('', b.type('', UNION, 4, member('rlock', raw), 1));
	} else {
		const mutex = realtime === '5.10' ? 'rt_mutex' : 'rt_mutex_base';
		inside = member('lock', b.type(mutex, STRUCT, 32, member('wait_lock', raw), 1));
	}
	const spin = b.type('spinlock', STRUCT, 32, inside, 1);
	const types: Record<Lock, number> = {
		spinlock_t: b.type('spinlock_t', TYPEDEF, spin),
		raw_spinlock_t: b.type('raw_spinlock_t', TYPEDEF, raw),
		rqspinlock_t: b.type('rqspinlock_t', TYPEDEF, queued),
	};
	if (ring) {
		const fields = [...member('mask', int), ...member('spinlock', types[ring], 1024)];
		b.type('bpf_ringbuf', STRUCT, 12288, fields, 2);
	}
	return new Btf(b.build());
}

const NO_SIGN = { version: '#1 SMP PREEMPT_DYNAMIC Debian 6.1.4-1', realtime: undefined };

test('PREEMPT_RT is known by each of its signs alone', () => {
	const plain: KernelSigns = { ...NO_SIGN, btf: locks('no', 'spinlock_t') };
	assert.equal(isRealtime(plain), false);
	assert.equal(isRealtime({ ...plain, realtime: '0\n' }), false);
	assert.equal(isRealtime({ ...plain, version: '#1 SMP PREEMPT_DYNAMIC PREEMPT_RTX' }), false);
	assert.equal(isRealtime({ ...plain, realtime: '1\n' }), true);
	assert.equal(isRealtime({ ...plain, version: '#1 SMP PREEMPT_RT Debian 6.1.4-1' }), true);
	assert.equal(isRealtime({ ...plain, version: '#1 SMP PREEMPT RT Debian' }), true);
	assert.equal(isRealtime({ ...plain, btf: locks('6.1', 'spinlock_t') }), true);
	assert.equal(isRealtime({ ...plain, btf: locks('5.10', 'spinlock_t') }), true);
});

test('a ring buffer is forbidden where its lock sleeps, and only there', () => {
	const cases: [...Parameters<typeof locks>, RegExp | undefined][] = [
		['no', 'spinlock_t', undefined],
		['no', 'raw_spinlock_t', undefined],
		['no', undefined, undefined],
		['5.10', 'spinlock_t', /ring buffer's lock can sleep/],
		['6.1', 'spinlock_t', /ring buffer's lock can sleep/],
		['6.1', 'raw_spinlock_t', undefined],
		['6.1', 'rqspinlock_t', undefined],
		['6.1', undefined, /BTF does not show/],
	];
	for (const [realtime, ring, why] of cases) {
		const found = ringBufferForbidden({ ...NO_SIGN, btf: locks(realtime, ring) });
		const what = `${realtime} ${ring}: ${found}`;
		if (why) assert.match(found ?? '', why, what);
		else assert.equal(found, undefined, what);
	}
});
