/** Changes to files, which of them are asked for, and what has to be compiled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programsWith } from '../../mutants/includes.js';
import { applied, isAskedFor, type Mutation, Unfit } from '../../mutants/mutation.js';
import { drawn, type Mutant } from '../../mutants/sample-checker.js';

const MUTATION: Mutation = {
	id: 'X1',
	file: 'bpf/lib/filter.h',
	from: 'a < b',
	to: 'a <= $& b',
	bug: 'one too many',
	test: 'live/schedlat-more',
};

test('a text that is there once is changed, and nothing else is', () => {
	assert.equal(applied('if (a < b)\n\treturn;', MUTATION), 'if (a <= $& b)\n\treturn;');
});

test('a text that is not there, there twice, or the same afterwards is refused', () => {
	for (const [text, mutation] of [
		['if (a > b)', MUTATION],
		['a < b && a < b', MUTATION],
		['a < b', { ...MUTATION, to: MUTATION.from }],
	] as const)
		assert.throws(() => applied(text, mutation), Unfit, text);
});

test('mutations by id, by file or folder, and by tool, in the code or in its tests', () => {
	const asked = (ids: string[], file?: string, tool?: string) =>
		isAskedFor(MUTATION, { ids, file, tool });
	assert.ok(asked([]));
	assert.ok(asked(['X1']) && !asked(['X']));
	assert.ok(asked([], 'bpf/lib/filter.h') && asked([], 'bpf/lib') && asked([], 'bpf/'));
	assert.ok(!asked([], 'bpf/li') && !asked([], 'bpf/lib/filter'));
	assert.ok(asked([], undefined, 'schedlat') && !asked([], undefined, 'sched'));
	const own = { ...MUTATION, file: 'src/tools/runqlat.ts' };
	assert.ok(isAskedFor(own, { ids: [], file: undefined, tool: 'runqlat' }));
	assert.ok(!asked([], 'src', 'schedlat'));
});

test('the programs that include a file, by way of others and around circles', () => {
	const files: Record<string, string> = {
		'bpf/a.bpf.c': '#include "lib/one.h"\n',
		'bpf/b.bpf.c': '#include "lib/two.h"\n#include <bpf/bpf_helpers.h>\n',
		'test/bpf/c.bpf.c': '#define X\n#include "../../bpf/lib/one.h"\n',
		'bpf/lib/one.h': '#include "two.h"\n#include "three.h"\n',
		'bpf/lib/two.h': '',
		'bpf/lib/three.h': '#include "one.h"\n',
	};
	const programs = Object.keys(files).filter((name) => name.endsWith('.c'));
	const changed = (file: string) => programsWith(file, programs, (name) => files[name] ?? '');
	assert.deepEqual(changed('bpf/lib/two.h'), programs);
	assert.deepEqual(changed('bpf/lib/three.h'), ['bpf/a.bpf.c', 'test/bpf/c.bpf.c']);
	assert.deepEqual(changed('bpf/b.bpf.c'), ['bpf/b.bpf.c']);
});

test('a sample is as large as was asked for, the same each time, and another by another seed', () => {
	const mutants = (folder: string): Mutant[] =>
		Array.from({ length: 100 }, (_, id) => ({
			id: `${id}`,
			fileName: `${folder}/src/x.ts`,
			mutatorName: 'BooleanLiteral',
			replacement: 'true',
			location: { line: id },
		}));
	const of = (folder: string, size: number, seed: number) => [
		...drawn(mutants(folder), { size, seed }),
	];
	assert.equal(of('/tmp/a', 10, 1).length, 10);
	assert.deepEqual(of('/tmp/a', 10, 1), of('/home/b', 10, 1));
	assert.notDeepEqual(of('/tmp/a', 10, 1), of('/tmp/a', 10, 2));
	assert.equal(of('/tmp/a', 1000, 1).length, 100);
});
