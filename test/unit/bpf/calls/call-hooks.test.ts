import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawCanBePreempted } from '../../../../src/bpf/calls/call-hooks.js';
import { versionOf } from '../../../../src/loader/kernel.js';

test('releases of kernels as numbers', () => {
	assert.deepEqual(versionOf('6.12.14-amd64'), [6, 12, 14]);
	assert.deepEqual(versionOf('7.0-rc3'), [7, 0, 0]);
	assert.deepEqual(versionOf('strange'), [0, 0, 0]);
});

test('programs at raw tracepoints are preempted since 7.0', () => {
	for (const kernel of ['5.10.0-46-amd64', '6.18.44']) assert.ok(!rawCanBePreempted(kernel));
	for (const kernel of ['7.0.0-rc1', '7.2.13-amd64', '10.1']) assert.ok(rawCanBePreempted(kernel));
});
