/** Several runs of COMMAND, and the result they have together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rounds } from '../../../src/run/rounds.js';

const joined = (all: readonly string[]) => all.join('+');

test('one round: its own result', () => {
	const rounds = new Rounds(1, joined);
	assert.equal(rounds.isFirst, true);
	assert.equal(rounds.isOver, false);
	assert.equal(rounds.take('a', false), 'a');
	assert.equal(rounds.isOver, true);
});

test('three rounds: a result with the last one', () => {
	const rounds = new Rounds(3, joined);
	assert.equal(rounds.take('a', false), undefined);
	assert.equal(rounds.isFirst, false);
	assert.equal(rounds.take('b', false), undefined);
	assert.equal(rounds.isOver, false);
	assert.equal(rounds.take('c', false), 'a+b+c');
	assert.equal(rounds.isOver, true);
});

test('a round that is cut is the last, and has no part in the result; unless it is the only one', () => {
	const rounds = new Rounds(5, joined);
	rounds.take('a', false);
	rounds.take('b', false);
	assert.equal(rounds.take('half', true), 'a+b');
	assert.equal(rounds.isOver, true);
	const only = new Rounds(5, joined);
	assert.equal(only.take('half', true), 'half');
	assert.equal(only.isOver, true);
	const second = new Rounds(5, joined);
	second.take('a', false);
	assert.equal(second.take('half', true), 'a', 'nothing to join');
});

test('all rounds are from when the first one began', () => {
	const rounds = new Rounds(2, joined);
	const moment = (ns: bigint) => ({ date: new Date(0), ns, own_ns: 0 });
	assert.equal(rounds.begin(moment(7n)).ns, 7n);
	assert.equal(rounds.begin(moment(9n)).ns, 7n);
});
