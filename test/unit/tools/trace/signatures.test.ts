/** The table of arguments, beside what the kernel's tracepoints declare. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentOf } from '../../../../src/tools/trace/argument-kinds.js';
import { type Declared, declaredArguments } from '../../../../src/tools/trace/kernel-formats.js';
import { SIGNATURES } from '../../../../src/tools/trace/signatures.js';

const NUMBERS =
	/^(fd|at|int|uint|size|off|long|hex|mode|openmode|sig|flags|enum|protocol|fcntlarg)$/;
/** What leads to something, or says which option another argument leads to. */
const EITHER = /^(sockopt|futexlast)$/;
/** What kernels call descriptors. */
const DESCRIPTOR = /fd$|^(fildes|mqdes|fd_?in|fd_?out)$/;
const LENGTH = /len$|^(count|size|nfds)$/;

function checkArgument(word: string, { type, name }: Declared, where: string): void {
	const { kind } = argumentOf(word);
	const isNumber = NUMBERS.test(kind);
	if (/\*|^(const )?cap_user_/.test(type)) assert.equal(isNumber, false, where);
	// Addresses may be declared as numbers.
	else if (!isNumber) assert.ok(type === 'unsigned long' || EITHER.test(kind), where);
	// The second one of pidfd_getfd is another process's.
	else if (!where.startsWith('pidfd_getfd 2'))
		assert.equal(/^(fd|at)$/.test(kind), DESCRIPTOR.test(name), where);
}

test('each call has as many arguments as in the kernel; addresses, descriptors and lengths are where it has them', (t) => {
	if (!declaredArguments('read')) return t.skip('needs tracefs');
	for (const [name, words] of SIGNATURES) {
		const declared = declaredArguments(name);
		if (!declared) continue;
		const given = words.filter((word) => !word.startsWith('='));
		assert.equal(given.length, declared.length, `${name}: ${given.join(' ')}`);
		for (const [i, word] of given.entries()) {
			const where = `${name} ${i + 1}: ${word}, ${JSON.stringify(declared[i])}`;
			checkArgument(word, declared[i] as Declared, where);
			const length = /:(\d)$/.exec(word)?.[1];
			if (length) assert.match(declared[Number(length) - 1]?.name ?? '', LENGTH, where);
		}
	}
});
