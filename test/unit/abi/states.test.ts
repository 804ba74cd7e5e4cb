/** Letters of states against the kernel's bits: what is shown as a letter is what that letter asks for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStates, STATE_LETTERS, stateLetter } from '../../../src/abi/states.js';

/** include/linux/sched.h of Linux 6.18: every state in which a thread can wait, and ps's letter for it. */
const WAITS = {
	TASK_INTERRUPTIBLE: [0x1, 'S'],
	TASK_UNINTERRUPTIBLE: [0x2, 'D'],
	__TASK_STOPPED: [0x4, 'T'],
	__TASK_TRACED: [0x8, 't'],
	TASK_PARKED: [0x40, 'P'],
	TASK_IDLE: [0x402, 'I'],
	TASK_RTLOCK_WAIT: [0x1000, 'D'],
	TASK_FROZEN: [0x8000, 'D'],
	TASK_KILLABLE: [0x102, 'D'],
	// With bits that only say how it may be woken: TASK_FREEZABLE, TASK_FREEZABLE_UNSAFE.
	'TASK_INTERRUPTIBLE | TASK_FREEZABLE': [0x2001, 'S'],
	'TASK_UNINTERRUPTIBLE | TASK_FREEZABLE': [0x2002, 'D'],
} as const;
const UNINTERRUPTIBLE = 0x2;
const NOLOAD = 0x400;
const LETTERS = Object.keys(STATE_LETTERS);

/** As bpf/lib/waits/chosen.h, state_wanted() compares them. */
function chooses(text: string, state: number): boolean {
	const { mask, letters } = parseStates(text);
	return ((letters && state & NOLOAD ? state & ~UNINTERRUPTIBLE : state) & mask) !== 0;
}

for (const [name, [state, letter]] of Object.entries(WAITS)) {
	test(`${name}: shown as ${letter}, chosen by ${letter} and by no other letter`, () => {
		assert.equal(stateLetter(state), letter);
		assert.deepEqual(
			LETTERS.filter((each) => chooses(each, state)),
			[letter],
		);
		// Other letters beside it take nothing away.
		for (const other of LETTERS) assert.ok(chooses(`${other},${letter}`, state), other);
		assert.ok(chooses(`0x${state.toString(16)}`, state));
	});
}

test('a mask is what it says: letters exclude each other, bits do not', () => {
	assert.ok(chooses('2', WAITS.TASK_IDLE[0]) && !chooses('D', WAITS.TASK_IDLE[0]));
	assert.deepEqual(parseStates('SD').mask, parseStates('S').mask | parseStates('D').mask);
	assert.ok(!chooses('2', WAITS.TASK_FROZEN[0]));
});

test('R, 0 and 0x0 are threads that could have gone on', () => {
	for (const text of ['R', '0', '0x0']) {
		const { mask } = parseStates(text);
		assert.equal(stateLetter(mask), 'R');
		for (const [state] of Object.values(WAITS)) assert.ok(!chooses(text, state), text);
	}
});

test('one that has ended is neither', () => {
	for (const dead of [0x10, 0x20, 0x80]) {
		assert.equal(stateLetter(dead), 'X');
		assert.deepEqual(
			LETTERS.filter((each) => chooses(each, dead)),
			[],
		);
	}
});

test('letters are those of ps, each with what it means', () => {
	assert.equal(LETTERS.join(''), 'RSDTtPI');
	const words = Object.values(STATE_LETTERS);
	assert.equal(new Set(words).size, LETTERS.length);
	for (const text of words) assert.match(text, /^[a-z]/);
});

test('a mask has 16 bits', () => {
	assert.equal(parseStates('0xffff').mask, 0xffff);
	assert.equal(parseStates('0XFFFF').mask, 0xffff);
	for (const text of ['0x10000', '65536', '99999999999'])
		assert.throws(() => parseStates(text), { message: 'give a mask of 0 to 0xffff' }, text);
});

test('what is no state is refused; the error names the letter that may be meant', () => {
	const rest = 'give letters of RSDTtPI, such as D, or a mask, such as 0x2';
	const said = {
		d: `d is no state: D? ${rest}`,
		p: `p is no state: P? ${rest}`,
		SDi: `i is no state: I? ${rest}`,
		Z: rest,
		z: rest,
		'': rest,
		',': rest,
		'0x': rest,
		'2S': rest,
		x2: rest,
		'2,': rest,
	};
	for (const [text, message] of Object.entries(said))
		assert.throws(() => parseStates(text), { message }, text);
});
