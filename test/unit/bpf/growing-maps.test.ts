/** On which kernels maps take memory as it is needed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapsCanGrow } from '../../../src/bpf/growing-maps.js';
import { Btf } from '../../../src/loader/btf.js';
import { BtfBuilder, INT, STRUCT } from '../loader/btf-builder.js';

function kernel(version: string, struct: string) {
	const b = new BtfBuilder();
	const int = b.type('int', INT, 4, [32]);
	b.type(struct, STRUCT, 4, [b.string('caches'), int, 0], 1);
	return { version, realtime: undefined, btf: new Btf(b.build()) };
}

test('maps grow where the kernel has memory for programs, and fills it up at once', () => {
	assert.equal(mapsCanGrow(kernel('#1 SMP PREEMPT_DYNAMIC Debian', 'bpf_mem_alloc')), true);
	assert.equal(mapsCanGrow(kernel('#1 SMP PREEMPT_RT Debian', 'bpf_mem_alloc')), false);
	assert.equal(mapsCanGrow(kernel('#1 SMP Debian 5.10', 'bpf_map')), false);
});
