/** A reporter of node --test: each test as a line of its result. */
import { encode, type TestResult } from './lines.js';

/** What node says of those that --test-name-pattern leaves out. */
const NOT_NAMED = 'test name does not match pattern';

interface TestEvent {
	readonly type: string;
	readonly data: {
		readonly name: string;
		readonly file?: string;
		readonly nesting: number;
		readonly skip?: string | boolean;
		readonly details?: {
			readonly duration_ms: number;
			readonly type?: string;
			readonly error?: {
				readonly message?: string;
				readonly cause?: string | { readonly stack?: string };
			};
		};
	};
}

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
	let failures = 0;
	for await (const { type, data } of events) {
		if (type !== 'test:pass' && type !== 'test:fail') continue;
		if (data.skip === NOT_NAMED) continue;
		const passed = type === 'test:pass';
		// A file is a test itself; what matters of it is whether it failed with no test to name.
		if (isFile(data) && (passed || failures > 0)) continue;
		if (!passed) failures++;
		yield encode(resultOf(data, passed));
	}
}

const isFile = ({ name }: TestEvent['data']) => name.endsWith('.test.js');

function resultOf(data: TestEvent['data'], passed: boolean): TestResult {
	// A bare `t.skip()` gives `true`; that it has no reason is for the results to find fault with.
	const skipped = data.skip !== undefined && data.skip !== false;
	return {
		type: 'test',
		tool: process.env.TSTRACE_TOOL ?? '',
		name: isFile(data) ? 'the file as a whole' : data.name,
		result: skipped ? 'skipped' : passed ? 'passed' : 'failed',
		why: skipped ? `${data.skip}` : passed ? '' : failureOf(data).slice(0, 1500),
		ms: Math.round(data.details?.duration_ms ?? 0),
	};
}

function failureOf({ details }: TestEvent['data']): string {
	const { cause, message } = details?.error ?? {};
	return `${typeof cause === 'object' ? cause.stack : (cause ?? message)}`;
}
