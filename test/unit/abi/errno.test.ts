/** Names and numbers of errors; include/uapi/asm-generic/errno*.h and include/linux/errno.h have them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { ERRNO_NAMES, errnoName, parseErrno } from '../../../src/abi/errno.js';

const refused = (text: string, said: RegExp) =>
	assert.throws(
		() => parseErrno(text),
		(error: Error) => error instanceof InvalidArgumentError && said.test(error.message),
		text,
	);

test('numbers have their names, also those that only the kernel sees', () => {
	const names = { 1: 'EPERM', 2: 'ENOENT', 11: 'EAGAIN', 95: 'EOPNOTSUPP', 110: 'ETIMEDOUT' };
	const ofKernel = {
		...{ 512: 'ERESTARTSYS', 513: 'ERESTARTNOINTR', 514: 'ERESTARTNOHAND', 515: 'ENOIOCTLCMD' },
		...{ 516: 'ERESTART_RESTARTBLOCK', 517: 'EPROBE_DEFER', 518: 'EOPENSTALE', 519: 'ENOPARAM' },
		...{ 524: 'ENOTSUPP', 529: 'EIOCBQUEUED' },
	};
	for (const [number, name] of Object.entries({ ...names, ...ofKernel })) {
		assert.equal(errnoName(Number(number)), name);
		assert.equal(parseErrno(name), Number(number));
	}
	assert.equal(errnoName(190), 'errno_190');
	assert.equal(errnoName(0), 'errno_0');
});

test('each name is a number, and that number has a name that is the same number', () => {
	assert.ok(ERRNO_NAMES.length > 80);
	for (const name of ERRNO_NAMES) {
		const number = parseErrno(name);
		assert.ok(number > 0 && number <= 4095, name);
		assert.equal(parseErrno(errnoName(number)), number, name);
		assert.equal(parseErrno(name.toLowerCase()), number);
		assert.equal(parseErrno(`${number}`), number);
	}
	assert.equal(parseErrno('EWOULDBLOCK'), parseErrno('EAGAIN'));
});

test('numbers are those that the kernel can return: to 4095', () => {
	assert.deepEqual([parseErrno('1'), parseErrno('4095')], [1, 4095]);
	for (const text of ['0', '4096', '99999999999'])
		refused(text, /^give a number from 1 to 4095, or a name such as ENOENT$/);
});

test('what is no error is refused; the error names the nearest one', () => {
	refused('ENOENTT', /^there is no error "ENOENTT".*ENOENT/);
	for (const text of ['', '-1', '1x', 'x1', '1.5', 'toString', '__proto__', 'qqqqqqqqqq'])
		refused(text, /^there is no error ".*"; give a number, or a name such as ENOENT$/);
});
