/**
 * Programs as they are installed, at work, stopped at moments that nobody has chosen: both walks find the
 * return addresses that gdb finds. `make exact` does this with more programs, and more stacks.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { Child, type Command } from '../../bench/children.js';
import { compare } from '../../bench/exact/compare.js';
import { HeldProcess, type HeldStack } from '../../bench/exact/held.js';
import { PERL, PYTHON } from '../../bench/whole/loads.js';
import { MAX_DEPTH } from '../../src/bpf/stacks.js';

const STACKS = 25;
/** Some machines hide switches now and then: a stack that was not walked is asked for again. */
const MAX_STOPS = 2 * STACKS;

const PROGRAMS: readonly Command[] = [
	['/usr/bin/python3', '-c', PYTHON],
	['/usr/bin/perl', '-e', PERL],
];

const hex = (addresses: ArrayLike<number>) =>
	Array.from(addresses, (address) => address.toString(16)).join(' ');

function assertSame({ thread, inKernel, outside }: HeldStack): void {
	for (const stack of [inKernel, outside]) {
		if (!stack) continue;
		const { frames, agree } = compare(thread.addresses, stack.user, MAX_DEPTH);
		const shown = `${hex(stack.user)} (${stack.userEnd})\nnot ${hex(thread.addresses)}`;
		assert.equal(agree, frames, shown);
	}
}

for (const command of PROGRAMS) {
	const [file = ''] = command;
	test(`${file} at work: frame by frame what gdb finds`, async (t) => {
		if (!existsSync(file)) return t.skip(`needs ${file}`);
		const child = new Child(command, 'ignore');
		const held = new HeldProcess(child.pid);
		let walked = 0;
		try {
			for (let stop = 0; stop < MAX_STOPS && walked < STACKS; stop++) {
				const stacks = await held.stacks();
				for (const stack of stacks) assertSame(stack);
				walked += stacks.filter(({ inKernel, outside }) => inKernel && outside).length;
			}
			assert.ok(walked >= STACKS, `${walked} stacks were walked by both`);
		} finally {
			await held.close();
			await child.end();
		}
	});
}
