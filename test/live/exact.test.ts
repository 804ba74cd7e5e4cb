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
/**
 * Stacks that are said to be cut, of all. Node's crypto runs OpenSSL's assembler, which keeps its caller's
 * stack pointer in other registers for a few instructions (docs/stacks.md, known gaps).
 */
const MAX_CUT = 2;

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

/** Whether a walk of it is cut. What was walked is what gdb finds, in any case. */
function isCut({ thread, inKernel, outside }: HeldStack): boolean {
	const walks = [inKernel, outside].filter((walk) => walk !== undefined);
	const cut = walks.filter(({ userEnd }) => userEnd === 'no way on');
	for (const { user, userEnd } of walks) {
		const most = userEnd === 'no way on' ? user.length : MAX_DEPTH;
		const { frames, agree } = compare(thread.addresses, user, most);
		assert.equal(agree, frames, `${hex(user)} (${userEnd})\nnot ${hex(thread.addresses)}`);
	}
	return cut.length > 0;
}

for (const { name, command, isKnown } of SUBJECTS) {
	test(`${name}, at work: frame by frame what gdb finds`, async (t) => {
		const [file = ''] = command;
		if (!existsSync(file)) return t.skip(`needs ${file}`);
		const folder = mkdtempSync(join(tmpdir(), 'exact-'));
		const child = new Child(['env', '-C', folder, ...command], 'ignore');
		let held: HeldProcess | undefined;
		let walked = 0;
		const cut: string[] = [];
		try {
			await becomes(child.pid, file);
			held = new HeldProcess(child.pid);
			for (let stop = 0; stop < MAX_STOPS && walked < STACKS; stop++) {
				const stacks = (await held.stacks()).filter(({ thread }) => isKnown(thread.tid, child.pid));
				for (const stack of stacks) if (isCut(stack)) cut.push(hex(stack.thread.addresses));
				walked += stacks.filter(({ inKernel, outside }) => inKernel && outside).length;
			}
			assert.ok(walked >= STACKS, `${walked} stacks were walked by both`);
			assert.ok(cut.length <= MAX_CUT, `cut, though gdb finds:\n${cut.join('\n')}`);
		} finally {
			await held?.close();
			await child.end();
			rmSync(folder, { recursive: true });
		}
	});
}
