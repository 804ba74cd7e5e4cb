/** One program: what the kernel says of it, and whether it is to be loaded. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bpf_prog_info } from '../../../src/generated/uapi.js';
import { libbpf } from '../../../src/loader/ffi.js';
import { BpfProgram } from '../../../src/loader/program.js';
import { structs } from '../tools/structs.js';
import { replace } from './replaced.js';

function programOf(t: TestContext, info: Uint8Array | number) {
	const loaded: unknown[] = [];
	replace(t, libbpf(), {
		bpf_program__name: () => 'enters',
		bpf_program__fd: () => 44,
		bpf_program__set_autoload: (pointer, autoload) => {
			loaded.push([pointer, autoload]);
			return 0;
		},
		bpf_obj_get_info_by_fd: (fd, out, [length]) => {
			assert.deepEqual([fd, length], [44, bpf_prog_info.size]);
			if (typeof info === 'number') return info;
			out.set(info);
			return 0;
		},
	});
	return { program: new BpfProgram(7n), loaded };
}

test('how often it ran, how long that took, and how often it could not', (t) => {
	const numbers = { run_cnt: 2 ** 33 + 5, run_time_ns: 2 ** 40 + 7, recursion_misses: 9 };
	const info = new Uint8Array(structs(bpf_prog_info, [numbers]).buffer as ArrayBuffer);
	const { program } = programOf(t, info);
	assert.deepEqual(program.info(), { runs: 2 ** 33 + 5, time_ns: 2 ** 40 + 7, missed: 9 });
	assert.throws(() => programOf(t, -1).program.info(), {
		message: 'cannot read the statistics of a BPF program: EPERM',
	});
});

test('it is to be loaded unless it is said that it is not', (t) => {
	const { program, loaded } = programOf(t, 0);
	assert.equal(program.wanted, true);
	program.setAutoload(false);
	assert.deepEqual([program.wanted, loaded], [false, [[7n, false]]]);
	program.setAutoload(true);
	assert.deepEqual([program.wanted, loaded.at(-1)], [true, [7n, true]]);
});
