/** System calls as users write them: names, numbers, sets; and as they are listed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOfSet } from '../../../src/abi/syscall-sets.js';
import { allCalls, callName } from '../../../src/abi/syscalls.js';
import { CALL_NUMBERS, callAt, indexesOf } from '../../../src/bpf/calls/calls.js';
import { callsParser, listCalls } from '../../../src/options/call-words.js';

const parse = callsParser('tstrace syscount --list');

test('a list has names, numbers and sets, and goes on where the one before ended', () => {
	const [read, write] = [indexesOf('read'), indexesOf('write')];
	assert.deepEqual(parse('read,write'), [...read, ...write]);
	assert.deepEqual(parse('write', read), [...read, ...write]);
	const network = callsOfSet('network').flatMap(indexesOf);
	assert.ok(network.length > 10);
	for (const word of ['network', '%network']) assert.deepEqual(parse(word), network);
	assert.throws(() => parse('nothing'), /no system call or set "nothing"; .* lists them$/);
	assert.throws(() => parse('%netwrk'), /"%netwrk": did you mean network\?/);
});

test('a call without a name is chosen by its number, also as it is shown', () => {
	const nr = CALL_NUMBERS - 1;
	for (const word of [`${nr}`, callName(callAt(nr))]) assert.deepEqual(parse(word), [nr]);
	for (const word of [`${nr + 1}`, `syscall_${nr + 1}`])
		assert.throws(() => parse(word), /no system call or set/);
});

test('all calls are listed with their numbers, in a column, and all sets with their calls', () => {
	const lines = listCalls().split('\n');
	const native = allCalls().filter(({ abi }) => abi === 'native');
	for (const { nr, name } of native)
		assert.ok(lines.includes(`${`${nr}`.padStart(4)}  ${name}`), name);
	assert.ok(lines.includes(`memory: ${callsOfSet('memory').join(' ')}`));
});
