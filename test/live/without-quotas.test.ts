/** Kernels without CPU quotas, and with other types in task_struct, take the programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importing, tstrace } from './support.js';

const OTHER = importing('seems-without-quotas');

for (const args of [
	['offcputime', '0.1'],
	['runqlat', '--split', '0.1', '1'],
	['runqlat', '--slower', '1000', '0.1'],
	['schedlat', '0.1', '1'],
	['timehist', '-w', '-M', '0.1'],
]) {
	test(`${args.join(' ')}: no quotas, and on_rq in a byte`, () => {
		const { status, stderr } = tstrace(args, OTHER);
		assert.equal(status, 0, stderr);
	});
}
