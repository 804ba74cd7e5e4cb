/**
 * Whether this machine lets us load BPF programs: status 0, or 3 and a line that says why not. What
 * else is wrong, a library that is missing, say, is an error.
 */
import { TstraceError } from '../../src/errors.js';
import { BpfObject } from '../../src/loader/object.js';

const NOT_ALLOWED = 3;

const LAYOUT = {
	name: 'buckets',
	structs: {},
	enums: {},
	sections: {},
	maps: {},
	programs: ['bucket_of'],
} as const;

try {
	const object = new BpfObject(`build/test-bpf/${process.arch}/buckets.bpf.o`, LAYOUT);
	object.load(['bucket_of']);
	object.close();
} catch (error) {
	// The verifier's verdict is EACCES, too.
	const forbids =
		error instanceof TstraceError &&
		/\((EPERM|EACCES|ENOSYS)\)/.test(error.message) &&
		!/verifier/.test(error.message);
	if (!forbids) throw error;
	process.stderr.write(
		`BPF is not allowed here (${error.message});\n` +
			"the tools' own live tests are run in a virtual machine instead; those of faults, filters,\n" +
			'names and the command line are left out\n',
	);
	process.exitCode = NOT_ALLOWED;
}
