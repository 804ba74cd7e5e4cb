/** Arrays that are made when they are needed, over memory that the test has in place of the kernel's. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { map_create, uapi } from '../../../src/generated/uapi.js';
import { libc } from '../../../src/loader/ffi.js';
import { MappedArray } from '../../../src/loader/mapped-array.js';
import { temporaryFolder } from '../symbolize/support.js';
import { fails, replace } from './replaced.js';

const BYTES = 8192;
const path = join(temporaryFolder(), 'array');

/** The kernel, which makes an array of a file; what it was asked for. */
function kernel(t: TestContext, flags: string) {
	writeFileSync(path, Buffer.alloc(BYTES));
	const asked: Record<string, number>[] = [];
	const fds: number[] = [];
	replace(t, libc(), {
		bpf: (_number, command, bytes, length) => {
			assert.deepEqual([command, length], [uapi.CMD_MAP_CREATE, map_create.size]);
			const view = new DataView(bytes.buffer, bytes.byteOffset);
			const fields = Object.entries(map_create.fields);
			asked.push(
				Object.fromEntries(
					fields.map(([name, { offset }]) => [name, view.getUint32(offset, true)]),
				),
			);
			fds.push(openSync(path, flags));
			return fds.at(-1) ?? -1;
		},
	});
	return { asked, fds };
}

test('one element, whose memory is shared with the kernel', (t) => {
	const { asked, fds } = kernel(t, 'r+');
	const array = new MappedArray(BYTES);
	assert.deepEqual(asked, [
		{
			...{ map_type: uapi.MAP_TYPE_ARRAY, key_size: 4, value_size: BYTES },
			...{ max_entries: 1, map_flags: uapi.MAP_MMAPABLE },
		},
	]);
	assert.deepEqual([[array.fd], array.buffer.byteLength], [fds, BYTES]);
	new Uint8Array(array.buffer).set([1, 2, 3], BYTES - 3);
	assert.deepEqual([...readFileSync(path).subarray(-3)], [1, 2, 3]);
	array.close();
	assert.throws(() => closeSync(array.fd), /EBADF/);
	assert.ok(!readFileSync('/proc/self/maps', 'utf8').includes(path));
});

test('where the kernel makes none it is said why; where it cannot be mapped none is left', (t) => {
	const { fds } = kernel(t, 'r');
	assert.throws(() => new MappedArray(BYTES), {
		message: `cannot map ${BYTES} bytes of kernel memory: EACCES`,
		detail: 'EACCES',
	});
	for (const fd of fds) assert.throws(() => closeSync(fd), /EBADF/);
	replace(t, libc(), { bpf: () => fails('ENOMEM') });
	assert.throws(() => new MappedArray(BYTES), {
		message: `cannot make a BPF map of ${BYTES} bytes: ENOMEM`,
	});
});
