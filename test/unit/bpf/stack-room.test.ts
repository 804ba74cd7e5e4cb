/** Old kernels allow a BPF program 512 bytes of stack, with all that it calls. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { deepestWay } from './stack-room.js';

/** MAX_BPF_STACK */
const MOST_BYTES = 512;

for (const arch of ['x64', 'arm64'])
	for (const file of readdirSync(`dist/bpf/${arch}`).filter((name) => name.endsWith('.bpf.o')))
		test(`${file} for ${arch}: no way of calls takes more stack than Linux 5.10 allows`, () => {
			const { bytes, names } = deepestWay(readFileSync(`dist/bpf/${arch}/${file}`));
			assert.ok(bytes > 0 && bytes <= MOST_BYTES, `${bytes} bytes: ${names.join(' > ')}`);
		});
