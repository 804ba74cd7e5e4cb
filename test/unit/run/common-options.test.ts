/** What the common options say together, and what they refuse. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { commonSettings, type Format, refuseOfText } from '../../../src/run/common-options.js';
import type { ToolKind } from '../../../src/tool.js';

const given = (raw: object, kind: ToolKind = 'stacks') => commonSettings({ ...raw }, [], kind);
const refused = (raw: object, says: RegExp, kind: ToolKind = 'stacks') =>
	refuses(() => given(raw, kind), says);

function refuses(action: () => unknown, says: RegExp): void {
	assert.throws(action, (error) => {
		assert.ok(error instanceof UsageError);
		assert.match(error.message, says);
		return true;
	});
}

test('options of text are refused for a format that has no use for them, by the names of both', () => {
	refused({ top: 3, json: true }, /^--top is for text, and JSON has all entries: leave out --top$/);
	refused({ top: 0, folded: true }, /^--top is for text, and folded has all entries/);
	refused({ top: 3, output: 'x.svg' }, /^--top is for text, and svg has all entries/);
	refused({ timestamps: true, json: true }, /^--timestamps .* start of each result/, 'latency');
	refused({ delimited: true, json: true }, /^--delimited is for text, and JSON has the kind of /);
	// Folded stacks can have both.
	for (const format of [{ folded: true }, { output: 'x.txt' }, {}]) {
		const { ofText } = given({ ...format, delimited: true, annotated: true, timestamps: false });
		assert.deepEqual(ofText, ['delimited', 'annotated']);
	}
	assert.deepEqual(given({ format: 'text', top: 3 }).ofText, ['top']);
});

test('the same where nobody has named the format: then it is said how to get text', () => {
	const refusal = (names: string[], format: Format, unnamed: boolean) => () =>
		refuseOfText(names, format, unnamed);
	refuses(
		refusal(['top'], 'folded', true),
		/^--top is for text; a file or a pipe gets the format folded, which has all entries: leave out --top, or add --format text$/,
	);
	assert.doesNotThrow(refusal(['delimited', 'annotated'], 'folded', true));
	assert.doesNotThrow(refusal([], 'folded', true));
	assert.doesNotThrow(refusal(['top', 'timestamps', 'delimited'], 'text', true));
});

test('each common option is where the run looks for it', () => {
	const raw = {
		...{ pid: [1], tid: [2], comm: ['c'], cgroup: ['/d'], cpu: [3], output: 'o', hdr: 'h' },
		...{ maxOverhead: 4, timestamps: true },
	};
	const { filter, ...common } = given(raw, 'latency');
	assert.deepEqual(filter, {
		...{ pids: [1], tids: [2], comms: ['c'], cgroups: ['/d'], cpus: [3] },
		...{ userThreads: false, kernelThreads: false, follow: false },
	});
	const { output, hdr, maxOverhead_pct, timestamps, cost } = common;
	assert.deepEqual([output, hdr, maxOverhead_pct, timestamps, cost], ['o', 'h', 4, true, true]);
	for (const flag of ['userThreads', 'kernelThreads', 'follow'] as const) {
		const { userThreads, kernelThreads, follow } = given({ pid: [1], [flag]: true }).filter;
		const none = { userThreads: false, kernelThreads: false, follow: false };
		assert.deepEqual({ userThreads, kernelThreads, follow }, { ...none, [flag]: true });
	}
	for (const flag of ['quiet', 'verbose'] as const) {
		const { quiet, verbose } = given({ [flag]: true });
		assert.deepEqual({ quiet, verbose }, { ...{ quiet: false, verbose: false }, [flag]: true });
	}
	assert.equal(given({ cost: false }).cost, false);
});

test('--follow needs somebody: a process, a thread or COMMAND', () => {
	const follow = { follow: true };
	refused(follow, /^--follow needs a process to follow/);
	for (const more of [{ pid: [1] }, { tid: [1] }])
		assert.equal(given({ ...follow, ...more }).filter.follow, true);
	assert.equal(commonSettings(follow, ['true'], 'stacks').filter.follow, true);
});

test('each kind of tool has its own options, whichever was asked for before', () => {
	const raw = { hdr: 'LOG', kernelThreads: true };
	const of = (kind: ToolKind) => commonSettings(raw, [], kind);
	const kinds: ToolKind[] = ['stacks', 'latency', 'table', 'latency', 'events'];
	assert.deepEqual(
		kinds.map((kind) => of(kind).hdr),
		[undefined, 'LOG', undefined, 'LOG', undefined],
	);
	const others = commonSettings({}, [], 'latency');
	assert.deepEqual([others.hdr, others.filter.kernelThreads], [undefined, false]);
});
