/** Tests that would disturb the machine they run on: its CPUs, its clock. */
import { test } from 'node:test';

const elsewhere = process.env.TSTRACE_VM === '1' ? false : 'only in a VM: make test-kernels';

/** A test that is run in a virtual machine of our own only; its runner sets TSTRACE_VM=1. */
export function testInVm(name: string, body: () => Promise<void>): void {
	test(name, { skip: elsewhere }, body);
}
