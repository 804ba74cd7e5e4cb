/** Which of several ways is taken, and what is said of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseWay, type Way } from '../../../src/bpf/fallback.js';
import { TstraceError, UsageError } from '../../../src/errors.js';

/** Ways with what the kernel lacks for each. */
const ways = (missing: Readonly<Record<string, string | undefined>>): Way<string>[] =>
	Object.entries(missing).map(([name, why]) => ({ name, missing: () => why }));

/** With TSTRACE_FORCE. */
function forced(name: string, missing: Readonly<Record<string, string | undefined>>) {
	process.env.TSTRACE_FORCE = name;
	try {
		return chooseWay(ways(missing), 'it is the best');
	} finally {
		delete process.env.TSTRACE_FORCE;
	}
}

test('the first way that the kernel has is taken, and it is told what the better ones lack', () => {
	const all = { a: undefined, b: undefined, c: undefined };
	assert.deepEqual(chooseWay(ways(all), 'it is the best'), {
		name: 'a',
		because: 'it is the best',
	});
	const last = { a: 'no a', b: 'no b', c: undefined, d: undefined };
	assert.deepEqual(chooseWay(ways(last), ''), { name: 'c', because: 'no a; no b' });
	assert.throws(() => chooseWay(ways({ a: 'no a', b: 'no b' }), ''), {
		name: 'TstraceError',
		message: 'this tool cannot trace on this kernel: no a; no b',
	});
});

test('another way can be forced, if there is one of that name, and the kernel has it', () => {
	const missing = { a: undefined, b: undefined, c: 'no c' };
	assert.deepEqual(forced('b', missing), { name: 'b', because: 'forced by TSTRACE_FORCE' });
	assert.throws(
		() => forced('c', missing),
		(error) => error instanceof TstraceError && error.message === 'TSTRACE_FORCE=c: no c',
	);
	assert.throws(
		() => forced('x', missing),
		(error) =>
			error instanceof UsageError && error.message === 'TSTRACE_FORCE=x: must be one of a, b, c',
	);
	assert.equal(forced('', missing).name, 'a', 'empty is not set');
});
