/** Which argument is a path: what syscount's programs are told, beside what `trace` shows as one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callAt, indexesOf } from '../../../../src/bpf/calls/calls.js';
import { syscount } from '../../../../src/generated/syscount.js';
import { moves, traitConstants } from '../../../../src/tools/syscount/traits.js';
import { SIGNATURES } from '../../../../src/tools/trace/signatures.js';

const { CALL_PATH, CALL_DESCRIPTOR, CALL_READS, CALL_WRITES } = syscount.enums.call_trait;

/** One is about many descriptors; of the other the path is the fifth argument, further than programs look. */
const LEFT_OUT = new Set(['close_range', 'fanotify_mark']);

test('where a call has a path and a descriptor is what its signature says', () => {
	const traits = new DataView(new ArrayBuffer(4096));
	traitConstants({ constantBytes: () => traits });
	const wrong: string[] = [];
	let paths = 0;
	for (const [name, words] of SIGNATURES) {
		const [index] = indexesOf(name);
		if (index === undefined || LEFT_OUT.has(name)) continue;
		const path = words.indexOf('path') + 1;
		const told = Math.floor((traits.getUint8(index) % CALL_DESCRIPTOR) / CALL_PATH);
		const descriptor = /^(at|fd)\b/.test(words[0] ?? '');
		const toldDescriptor = traits.getUint8(index) >= CALL_DESCRIPTOR;
		if (path !== told || descriptor !== toldDescriptor)
			wrong.push(`${name} ${path} ${told} ${descriptor} ${toldDescriptor}`);
		if (path) paths++;
	}
	assert.deepEqual(wrong, []);
	assert.ok(paths > 60, `${paths}`);
});

test('what a call reads and writes, in either ABI, and that it is about a descriptor then', () => {
	const traits = new DataView(new ArrayBuffer(4096));
	traitConstants({ constantBytes: () => traits });
	const told = (name: string) =>
		indexesOf(name).map((index) => {
			const bits = traits.getUint8(index);
			assert.equal(moves(callAt(index)), bits & (CALL_READS | CALL_WRITES), name);
			return bits % CALL_PATH;
		});
	const both = CALL_READS | CALL_WRITES;
	for (const [moved, names] of [
		[CALL_READS, ['read', 'readv', 'pread64', 'preadv', 'preadv2', 'recvfrom', 'recvmsg']],
		[CALL_WRITES, ['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'sendto', 'sendmsg']],
		[CALL_WRITES, ['vmsplice']],
		[both, ['sendfile', 'splice', 'copy_file_range']],
		// Their results are messages, and numbers of descriptors.
		[0, ['recvmmsg', 'sendmmsg', 'openat', 'poll']],
	] as const)
		for (const name of names) {
			assert.ok(indexesOf(name).length > 0, name);
			assert.deepEqual(new Set(told(name)), new Set([moved]), name);
			if (moved)
				for (const index of indexesOf(name))
					assert.ok(traits.getUint8(index) >= CALL_DESCRIPTOR, name);
		}
	// x32 has numbers of its own, which are those of other calls here.
	const [nr] = indexesOf('read') as [number];
	assert.equal(moves({ nr, abi: 'x32' }), 0);
});
