/** Stacks of threads that wait. Those of built programs, function by function: test/live/sleeping.test.ts. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileBytes, MemoryBytes } from '../../../../src/elf/bytes.js';
import { AddressSpace, type Mapping } from '../../../../src/symbolize/mappings/address-space.js';
import { MappedFile } from '../../../../src/symbolize/mappings/mapped-file.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';
import { readVdso } from '../../../../src/symbolize/mappings/vdso.js';
import {
	SleepingStacks,
	type WaitingThread,
} from '../../../../src/symbolize/walks/sleeping-stacks.js';
import { ruleLookup } from '../../../../src/unwind/lookup.js';
import { callOf, waitingChild } from '../waiting-child.js';

/** Above any process number. */
const NOBODY = 4_194_305;
const HIGH = 2 ** 46;

/** Walks threads of processes of which everything up to now is known. */
function walker(t: TestContext, { known = [process.pid], limit_ms = 5000 } = {}) {
	const history = new ProcessHistory();
	const sleeping = new SleepingStacks(limit_ms);
	t.after(() => {
		sleeping.close();
		history.close();
	});
	for (const pid of known) history.snapshot(pid);
	const now_ns = Number(process.hrtime.bigint());
	const walk = (thread: WaitingThread, depth = 127) =>
		sleeping.walk(thread, history.at(thread.pid, now_ns), depth);
	return Object.assign(walk, { begin: () => sleeping.begin() });
}

const threadOf = (pid: number, registers: { ip: number; sp: number; fp: number }) => {
	return { pid, tid: pid, registers };
};

test('a kernel thread has no user stack', (t) => {
	const registers = { ip: 0, sp: 0, fp: 0 };
	assert.deepEqual(walker(t)(threadOf(process.pid, registers)).addresses, []);
});

test('the leaf alone: of a process that is gone or not known, of 32-bit code, with registers that lie', (t) => {
	const leaf = { ip: HIGH, sp: HIGH, fp: HIGH };
	const walk = walker(t);
	const unknown = walker(t, { known: [] });
	for (const { addresses, end } of [
		walk(threadOf(NOBODY, leaf)),
		unknown(threadOf(process.pid, leaf)),
		walk(threadOf(process.pid, { ip: 0x8048000, sp: 0xffff0000, fp: 0xffff0000 })),
		walk(threadOf(process.pid, leaf)),
		walk(
			threadOf(process.pid, { ip: HIGH, sp: Number.MAX_SAFE_INTEGER, fp: Number.MAX_SAFE_INTEGER }),
		),
	]) {
		assert.equal(addresses.length, 1);
		assert.equal(end, 'no way on');
	}
});

test('cat as it waits for input: up to its first function, and not deeper than was asked for', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const walk = walker(t, { known: [pid] });
	const { addresses, end } = walk(threadOf(pid, registers));
	assert.equal(end, 'whole');
	assert.equal(addresses[0], registers.ip);
	// read, what calls it, main, what calls that, and _start.
	assert.ok(addresses.length >= 4, `${addresses.length}`);
	const less = walk(threadOf(pid, registers), 2);
	assert.deepEqual(less, { addresses: addresses.slice(0, 2), end: 'too deep' });
});

test('a thread that is no longer where it was has its leaf alone', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const walk = walker(t, { known: [pid] });
	const alone = { addresses: [registers.ip], end: 'no way on' };
	// Its memory is there, and it has ended; or its number is another process's.
	assert.deepEqual(walk({ pid, tid: NOBODY, registers }), alone);
	assert.deepEqual(walk({ pid, tid: process.pid, registers }), alone);
	assert.equal(walk(threadOf(pid, registers)).end, 'whole');
});

test('a process that executes another program after its registers were read', async (t) => {
	const { pid, stdin, registers } = await waitingChild(t, 'sh', '-c', 'read x; exec sleep 1000');
	const walk = walker(t, { known: [pid] });
	stdin.write('\n');
	const isAsleep = () =>
		readFileSync(`/proc/${pid}/comm`, 'latin1') === 'sleep\n' && callOf(pid)[0] !== 'running';
	while (!isAsleep()) await sleep(1);
	assert.deepEqual(walk(threadOf(pid, registers)), {
		addresses: [registers.ip],
		end: 'no way on',
	});
});

test('when the time is over, the leaf alone, up to the next moment that is looked at', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const walk = walker(t, { known: [pid], limit_ms: 0.001 });
	assert.equal(walk(threadOf(pid, registers)).end, 'whole');
	assert.equal(walk(threadOf(pid, registers)).end, 'no way on');
	walk.begin();
	assert.equal(walk(threadOf(pid, registers)).end, 'whole');
});

test('memory is read anew at each moment that is looked at', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const walk = walker(t, { known: [pid] });
	assert.equal(walk(threadOf(pid, registers)).end, 'whole');
	const memory = openSync(`/proc/${pid}/mem`, 'r+');
	writeSync(memory, new Uint8Array(256), 0, 256, registers.sp);
	closeSync(memory);
	walk.begin();
	assert.notEqual(walk(threadOf(pid, registers)).end, 'whole');
});

const descriptors = () => readdirSync('/proc/self/fd').length;

test('threads of several processes in turn, each by its own memory; files are read once, and nothing stays open', async (t) => {
	const [one, two] = [await waitingChild(t, 'cat'), await waitingChild(t, 'cat')];
	const history = new ProcessHistory();
	t.after(() => history.close());
	for (const { pid } of [one, two]) history.snapshot(pid);
	const now_ns = Number(process.hrtime.bigint());
	const sleeping = new SleepingStacks();
	const before = descriptors();
	const walk = ({ pid, registers }: typeof one) =>
		sleeping.walk(threadOf(pid, registers), history.at(pid, now_ns), 127);
	const first = walk(one);
	assert.equal(first.end, 'whole');
	const opened = t.mock.method(MappedFile.prototype, 'open').mock;
	const second = walk(two);
	assert.deepEqual([second.end, second.addresses[0]], ['whole', two.registers.ip]);
	assert.equal(second.addresses.length, first.addresses.length);
	assert.deepEqual(walk(one), first);
	assert.equal(opened.callCount(), 0);
	sleeping.begin();
	assert.equal(descriptors(), before);
	assert.deepEqual(walk(one), first);
	sleeping.close();
	assert.equal(descriptors(), before);
});

/** The same address space, but for the code at one address: it is said to be the vdso's, as of `offset`. */
class WithVdso extends AddressSpace {
	constructor(
		private readonly other: AddressSpace,
		private readonly ip: number,
		private readonly offset: number,
	) {
		super(other.life, []);
	}

	override find(address: number): Mapping | undefined {
		if (address !== this.ip) return this.other.find(address);
		const where = { start: address, end: address + 1, fileOffset: this.offset };
		return { time_ns: 0, ...where, path: '[vdso]', file: undefined };
	}
}

test('code of the vdso leads on by the rules of the vdso, which no file is behind', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const history = new ProcessHistory();
	const sleeping = new SleepingStacks();
	t.after(() => {
		sleeping.close();
		history.close();
	});
	history.snapshot(pid);
	const space = history.at(pid, Number(process.hrtime.bigint())) ?? assert.fail();
	const walkIn = (each: AddressSpace) => sleeping.walk(threadOf(pid, registers), each, 127);
	const whole = walkIn(space);
	assert.equal(whole.end, 'whole');
	// read has put nothing on the stack, as a function of the vdso has not when it begins.
	const vdso = ruleLookup(new MemoryBytes(readVdso() ?? assert.fail()));
	const own = space.find(registers.ip) ?? assert.fail();
	const file = own.file?.open() ?? assert.fail();
	const { cfa, cfaOffset, ra, raOffset } = ruleLookup(
		new FileBytes(file.fd, file.stat.size),
	).ruleAt(registers.ip - own.start + own.fileOffset);
	closeSync(file.fd);
	const places = Array.from({ length: 2 ** 13 }, (_, offset) => offset);
	const beginning = places.find((offset) => {
		const rule = vdso.ruleAt(offset);
		return (
			rule.cfa === cfa &&
			rule.cfaOffset === cfaOffset &&
			rule.ra === ra &&
			rule.raOffset === raOffset
		);
	});
	assert.ok(beginning !== undefined, 'none of its functions has such a place');
	assert.deepEqual(walkIn(new WithVdso(space, registers.ip, beginning)), whole);
});
