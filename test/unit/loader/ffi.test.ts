/** Functions of the C libraries that are called. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TstraceError } from '../../../src/errors.js';
import { libbpfFunction } from '../../../src/loader/ffi.js';

test('where libbpf lacks a function, that is said, and among the causes which', () => {
	assert.throws(
		() => libbpfFunction('int bpf_of_the_next_century(int fd)'),
		(error) =>
			error instanceof TstraceError &&
			error.message.startsWith('libbpf is too old') &&
			/bpf_of_the_next_century/.test(error.detail ?? ''),
	);
});
