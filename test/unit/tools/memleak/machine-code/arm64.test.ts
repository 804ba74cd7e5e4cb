import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MemoryBytes } from '../../../../../src/elf/bytes.js';
import { Elf } from '../../../../../src/elf/elf.js';
import { placeProbeArm64 } from '../../../../../src/tools/memleak/machine-code/arm64.js';
import { temporaryFolder } from '../../../symbolize/support.js';

const INSTRUCTIONS: [text: string, simulated: string | undefined][] = [
	['b .+8', 'b'],
	['b.eq .+8', 'b.cond'],
	['cbz x0, .+8', 'cbz'],
	['cbnz w3, .-8', 'cbnz'],
	['tbz x0, #63, .+8', 'tbz'],
	['tbnz w0, #1, .-8', 'tbnz'],
	['adr x1, .-4', 'adr'],
	['adrp x19, .', 'adrp'],
	['bl .+8', undefined],
	['br x16', undefined],
	['ret', undefined],
	['nop', undefined],
	['hint #34', undefined], // bti c
	['hint #25', undefined], // paciasp
	['stp x29, x30, [sp, #-32]!', undefined],
	['ldr x0, .+8', undefined],
	['mov x29, sp', undefined],
	['sub sp, sp, #16', undefined],
	['cmp x0, #0', undefined],
	['svc #0', undefined],
];

test('on arm64 the entry it is, and whether the kernel simulates what is there is said', () => {
	const folder = temporaryFolder();
	const [source, object] = [join(folder, 'x.s'), join(folder, 'x.o')];
	writeFileSync(source, `${INSTRUCTIONS.map(([text]) => text).join('\n')}\n`);
	const target = ['--target=aarch64-linux-gnu', '-c', '-o', object, source];
	execFileSync('scripts/clang.sh', target);
	const elf = new Elf(new MemoryBytes(readFileSync(object)));
	const section = elf.section('.text');
	assert.ok(section);
	const code = elf.contents(section);
	assert.equal(code.length, 4 * INSTRUCTIONS.length);
	for (const [i, [text, simulated]] of INSTRUCTIONS.entries()) {
		const placed = placeProbeArm64(code.subarray(4 * i));
		assert.deepEqual([placed.offset, placed.stackBytes], [0, 0]);
		assert.equal(placed.emulated, simulated !== undefined, `${text}: ${placed.why}`);
		if (simulated) assert.match(placed.why, new RegExp(`simulates ${simulated}$`));
	}
	assert.equal(placeProbeArm64(code.subarray(0, 3)).emulated, false);
});
