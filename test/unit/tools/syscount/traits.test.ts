/** Which argument is a path: what syscount's programs are told, beside what `trace` shows as one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexesOf } from '../../../../src/bpf/calls/calls.js';
import { syscount } from '../../../../src/generated/syscount.js';
import { traitConstants } from '../../../../src/tools/syscount/traits.js';
import { SIGNATURES } from '../../../../src/tools/trace/signatures.js';

const { CALL_PATH, CALL_DESCRIPTOR } = syscount.enums.call_trait;

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
