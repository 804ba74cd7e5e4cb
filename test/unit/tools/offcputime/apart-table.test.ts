/** The table of --by, for each of its values, on a terminal of 80 columns: which there are, and what does not fit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackFindings, StackRow } from '../../../../src/aggregate/stack-rows.js';
import { APART, type Apart, renderApart } from '../../../../src/tools/offcputime/apart-table.js';

const STYLE = { colour: false, width: 80, columns: 80 };
const KIND = 'other: a_function_of_the_kernel_with_a_long_name';
const OBJECT = '/var/lib/postgresql/15/main/base/16384/2619 ↔ postgres (4711)';
const WAKER = 'a thread of ksoftirqd (12)';

const TABLES: Readonly<Record<Apart, readonly string[]>> = {
	kind: [
		'   TIME    SHARE  KIND                      LARGEST  WHO              IN',
		'4.00 ms  100.0 %  other: a_fun…a_long_name     75 %  postgres (4321)  WaitE…Wait',
	],
	object: [
		'   TIME    SHARE  WAITS  OBJECT                        LARGEST  WHO',
		'4.00 ms  100.0 %  1,235  …/base/16384/2619 ↔ postgres     75 %  postgres (4321)',
	],
	'kind,object': [
		'   TIME    SHARE  KIND                      OBJECT              LARGEST  WHO',
		'4.00 ms  100.0 %  other: a_fun…a_long_name  …4/2619 ↔ postgres     75 %  postgres (4321)',
	],
	waker: [
		'   TIME    SHARE  WOKEN BY                  LARGEST  WHO              IN',
		'4.00 ms  100.0 %  a thread of …ftirqd (12)     75 %  postgres (4321)  WaitE…Wait',
	],
	'kind,waker': [
		'   TIME    SHARE  KIND                      WOKEN BY            WHO',
		'4.00 ms  100.0 %  other: a_fun…a_long_name  a thread of ksoft…  postgres (4321)',
	],
	'object,waker': [
		'   TIME    SHARE  WAITS  OBJECT              WOKEN BY            WHO',
		'4.00 ms  100.0 %  1,235  …4/2619 ↔ postgres  a thread of ksoft…  postgres (4321)',
	],
	'kind,object,waker': [
		'   TIME    SHARE  KIND            OBJECT          WOKEN BY        WHO',
		'4.00 ms  100.0 %  other: …g_name  …19 ↔ postgres  a thread of k…  postgre…(4321)',
	],
};

/** What `apart` has in the keys. */
function keyOf(apart: Apart): Record<string, string> {
	const texts: Record<string, string> = { kind: KIND, object: OBJECT, waker: WAKER };
	return Object.fromEntries(apart.split(',').map((name) => [name, texts[name] ?? '']));
}

function table(apart: Apart): string[] {
	const row = (name: string, value: number, count: number): StackRow => ({
		key: { ...keyOf(apart), pid: 4321, comm: 'postgres' },
		frames: [{ name, kind: 'user' }],
		parts: [value, 0, 0, 0],
		value,
		count,
		variance: 0,
	});
	const findings: StackFindings = {
		kind: 'stacks',
		unit: 'ns',
		about: {},
		noun: 'wait',
		parts: ['blocked', 'run queue', 'preempted', 'throttled'],
		stacks: [row('WaitEventSetWait', 3_000_000, 1234), row('LWLockAcquire', 1_000_000, 1)],
		notices: [],
	};
	return renderApart(findings, { top: 0, style: STYLE, apart }).split('\n').slice(1, 3);
}

for (const apart of APART)
	test(`--by ${apart}`, () => assert.deepEqual(table(apart), TABLES[apart]));

test('the most time first, however often that was; estimates are marked, and what is left out is counted by rows', () => {
	const row = (waker: string, value: number, count: number, variance = 0): StackRow => ({
		key: { waker, pid: 1, comm: 'app' },
		frames: [{ name: `${waker}${value}`, kind: 'user' }],
		...{ parts: [value, 0, 0, 0], value, count, variance },
	});
	const findings: StackFindings = {
		...{ kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', notices: [] },
		parts: ['blocked', 'run queue', 'preempted', 'throttled'],
		stacks: [
			row('often', 1e6, 900),
			row('long', 2e6, 2, 1e10),
			row('long', 5e6, 3),
			row('seldom', 6e6, 0.25, 1e10),
			row('other', 10, 1),
			row('other', 20, 1),
		],
	};
	const wide = { style: { colour: false, width: 200 }, apart: 'waker' } as const;
	const lines = renderApart(findings, { ...wide, top: 3 })
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => line.trim().split(/ {2,}/));
	assert.deepEqual(
		lines.slice(1, 4).map((cells) => cells.slice(0, 5)),
		[
			['7.00 ms', '50.0 %', '~5', 'long', '71 %'],
			['6.00 ms', '42.9 %', '~1', 'seldom', '100 %'],
			['1.00 ms', '7.1 %', '900', 'often', '100 %'],
		],
	);
	assert.deepEqual(lines[4], ['1 more; --top 0 shows them']);
});
