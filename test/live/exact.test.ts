/**
 * Programs as they are installed, at work, stopped at moments that nobody has chosen: both walks find the
 * return addresses that gdb finds. `make exact` does this with more programs, and more stacks.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { compare } from '../../bench/exact/compare.js';
import { HeldProcess, type HeldStack } from '../../bench/exact/held.js';
import { Child, type Command } from '../../bench/shared/children.js';
import { NODE, PYTHON } from '../../bench/whole/loads.js';
import { MAX_DEPTH } from '../../src/bpf/stacks/stacks.js';

const STACKS = 50;
const START_LIMIT_MS = 60_000;
const LOOK_PERIOD_MS = 20;
/** Some machines hide switches now and then: a stack that was not walked is asked for again. */
const MAX_STOPS = 2 * STACKS;

interface Subject {
	readonly name: string;
	readonly command: Command;
	/** Whether gdb knows all code that it runs. */
	readonly isKnown: (tid: number, pid: number) => boolean;
}

const SUBJECTS: readonly Subject[] = [
	{ name: 'python3', command: ['/usr/bin/python3', '-c', PYTHON], isKnown: () => true },
	{
		name: "node's threads that run no JavaScript",
		command: [process.execPath, '-e', NODE],
		isKnown: (tid, pid) => tid !== pid,
	},
];

/** Waits until a process has executed a program, and has begun a second thread. */
async function becomes(pid: number, file: string): Promise<void> {
	const limit_ms = Date.now() + START_LIMIT_MS;
	const isReady = () =>
		readlinkSync(`/proc/${pid}/exe`) === realpathSync(file) &&
		readdirSync(`/proc/${pid}/task`).length > 1;
	while (!isReady()) {
		assert.ok(Date.now() < limit_ms, `${file} does not begin`);
		await sleep(LOOK_PERIOD_MS);
	}
}

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

for (const { name, command, isKnown } of SUBJECTS) {
	test(`${name}, at work: frame by frame what gdb finds`, async (t) => {
		const [file = ''] = command;
		if (!existsSync(file)) return t.skip(`needs ${file}`);
		const folder = mkdtempSync(join(tmpdir(), 'exact-'));
		const child = new Child(['env', '-C', folder, ...command], 'ignore');
		let held: HeldProcess | undefined;
		let walked = 0;
		try {
			await becomes(child.pid, file);
			held = new HeldProcess(child.pid);
			for (let stop = 0; stop < MAX_STOPS && walked < STACKS; stop++) {
				const stacks = (await held.stacks()).filter(({ thread }) => isKnown(thread.tid, child.pid));
				for (const stack of stacks) assertSame(stack);
				walked += stacks.filter(({ inKernel, outside }) => inKernel && outside).length;
			}
			assert.ok(walked >= STACKS, `${walked} stacks were walked by both`);
		} finally {
			await held?.close();
			await child.end();
			rmSync(folder, { recursive: true });
		}
	});
}
