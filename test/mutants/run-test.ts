/** Runs one test as `make test` would. */
import { decode } from '../vm/lines.js';
import type { TestRun } from './judge.js';
import { runInGroup } from './run-group.js';

/**
 * `test`: a file below test/, without .test.ts; `only`: a part of the names of the tests that count. The
 * current folder is the scratch copy. What the test leaves behind is ended and told.
 */
export async function runTest(
	test: string,
	only: string | undefined,
	limit_ms: number,
): Promise<TestRun> {
	const { said, ...run } = await runInGroup(argumentsFor(test, only), limit_ms);
	const results = said.split('\n').flatMap((line) => {
		const decoded = decode(line);
		return decoded?.type === 'test' ? decoded : [];
	});
	return { ...run, results };
}

function argumentsFor(test: string, only: string | undefined): string[] {
	const pattern = only?.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
	return [
		'--enable-source-maps',
		'--test',
		'--test-timeout=600000',
		'--test-reporter=./build/test/test/vm/reporter.js',
		...(pattern ? [`--test-name-pattern=${pattern}`] : []),
		`build/test/test/${test}.test.js`,
	];
}
