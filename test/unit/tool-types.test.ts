/** What the types of a tool promise; the compiler is the judge of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LatencyFindings, RowFindings } from '../../src/aggregate/report.js';
import { valuesOf } from '../../src/options/typed-option.js';
import type { AnyTool, TextView } from '../../src/tool.js';
import { runqlat } from '../../src/tools/runqlat.js';
import { syscount } from '../../src/tools/syscount/syscount.js';

test('text is asked to show what the tool finds, and nothing else', () => {
	const view: TextView<LatencyFindings | RowFindings> = {
		// Rows never come here: else `groups` would not be known without a question.
		report: async ({ groups }) => `${groups.length}`,
	};
	const other: TextView<RowFindings> = {
		// @ts-expect-error: such a tool finds no histograms
		report: async ({ groups }) => `${groups.length}`,
	};
	assert.ok(view && other);
});

test('some tool hands its settings to itself, and to no other', () => {
	const tool: AnyTool = runqlat;
	const subject = tool.use((each) => {
		const values = valuesOf(each.options(), { slower: 5 });
		const format = {
			format: undefined,
			output: undefined,
			hdr: undefined,
			timestamps: false,
			ofText: [],
			intervals: false,
			hasCommand: false,
		};
		const common = { filter: NOBODY, ...format };
		const settings = each.settings(values, common);
		assert.throws(() => {
			// @ts-expect-error: settings of some tool are not syscount's
			syscount.subject(settings, undefined);
			throw new Error('compiled');
		}, /compiled/);
		return each.subject(settings, { filter: NOBODY, command: undefined, words: [] });
	});
	assert.equal(subject, 'waits for a CPU (5 us or more)');
});

const NOBODY = {
	pids: [],
	tids: [],
	comms: [],
	cgroups: [],
	cpus: [],
	userThreads: false,
	kernelThreads: false,
	follow: false,
};
