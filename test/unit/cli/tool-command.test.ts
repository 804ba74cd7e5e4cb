/** What numbers on the command line ask a tool for, and how long it runs where there are none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command as Cli } from 'commander';
import type { TableFindings } from '../../../src/aggregate/report.js';
import { type Action, addTool, askedOf } from '../../../src/cli/tool-command.js';
import { UsageError } from '../../../src/errors.js';
import type { CommonChoices, ToolKind, ToolWithOptions } from '../../../src/tool.js';

type Counter = ToolWithOptions<never, CommonChoices, TableFindings, Record<never, never>>;

const toolOf = (more: object = {}) =>
	({
		...{ name: 'counter', summary: '', description: '', examples: [], kind: 'table' },
		options: () => ({}),
		settings: (_values: object, common: CommonChoices) => common,
		...more,
	}) as unknown as Counter;

/** What is asked for by the numbers that were typed. */
function asked(more: object, interval_s?: number, count?: number, command: string[] = []) {
	const typed = { raw: {}, interval_s, count, command };
	const { settings, ...numbers } = askedOf(toolOf(more), typed);
	return [numbers.interval_s, numbers.count, settings.intervals];
}

test('an interval and a count; a tool hears whether there are to be several results', () => {
	assert.deepEqual(asked({}), [undefined, undefined, false]);
	assert.deepEqual(asked({}, 5), [5, undefined, true]);
	assert.deepEqual(asked({}, 5, 3), [5, 3, true]);
	assert.deepEqual(asked({}, 5, 1), [5, 1, false]);
});

test('the usual duration is for who says nothing, and not for COMMAND', () => {
	const more = { duration_s: 10 };
	assert.deepEqual(asked(more, undefined, 1)[0], 10);
	assert.deepEqual(asked(more, 5, 1)[0], 5);
	assert.deepEqual(asked(more, undefined, 1, ['true'])[0], undefined);
	assert.deepEqual(asked(more, 5, 1, ['true'])[0], 5);
});

test('the time between results is given once: by a number, or by an option of the tool', () => {
	const more = { interval: () => ({ option: '--interval', s: 2 }) };
	assert.deepEqual(asked(more), [2, undefined, false]);
	assert.throws(
		() => asked(more, 5),
		new UsageError('give the time between results once: --interval, or the number 5'),
	);
	assert.deepEqual(asked({ ...more, duration_s: 10 })[0], 2);
});

test('lines as they come have one end: a second number is refused', () => {
	const more = { lines: () => '--slower' };
	assert.deepEqual(asked(more, 5).slice(0, 2), [5, 1]);
	assert.throws(
		() => asked(more, 5, 1),
		/^Error: --slower prints events as they happen: give only one number/,
	);
});

test('what is typed reaches the tool: one number is a duration, where there is one result', async () => {
	const typed = async (more: object, ...words: string[]) => {
		const cli = new Cli().exitOverride();
		let got: Parameters<Action> | undefined;
		addTool(cli, toolOf(more) as never, async (...all) => {
			got = all;
		});
		await cli.parseAsync(['counter', ...words], { from: 'user' });
		return got?.slice(1, 3);
	};
	const kinds: readonly ToolKind[] = ['stacks', 'events'];
	for (const kind of kinds) {
		assert.deepEqual(await typed({ kind }, '500ms'), [0.5, 1]);
		assert.deepEqual(await typed({ kind }), [undefined, 1]);
	}
	for (const more of [{ kind: 'latency' }, { kind: 'table' }, { kind: 'stacks', repeats: true }]) {
		assert.deepEqual(await typed(more, '2', '3'), [2, 3]);
		assert.deepEqual(await typed(more, '2'), [2, undefined]);
	}
});

test('help says what a number means: a duration where there is one result, else an interval', () => {
	const help = (more: object) => {
		const cli = new Cli();
		addTool(cli, toolOf(more) as never, async () => undefined);
		return cli.commands[0]?.helpInformation() ?? '';
	};
	assert.match(help({ kind: 'events' }), / 5: print events for 5 seconds/);
	assert.match(help({ kind: 'stacks' }), / 5: one result after 5 seconds/);
	for (const more of [{ kind: 'stacks', repeats: true }, { kind: 'table' }, { kind: 'latency' }])
		assert.match(help(more), / 5: a result every 5 seconds .*; 5 1: one result/);
	assert.match(help({ kind: 'stacks' }), /\(default: until Ctrl-C\)/);
	assert.match(
		help({ kind: 'stacks', duration_s: 10 }),
		/\(default: 10 s, or as long as COMMAND\)/,
	);
	assert.match(
		help({ linesHelp: '--slower 5: for 5 seconds' }),
		/^ {7}--slower 5: for 5 seconds$/m,
	);
});

test('options of which one leaves the other nothing to do are refused together', async () => {
	const refused = async (...words: string[]) => {
		const cli = new Cli().exitOverride().configureOutput({ writeErr: () => undefined });
		addTool(cli, toolOf() as never, async () => undefined);
		for (const command of cli.commands) command.exitOverride().copyInheritedSettings(cli);
		await assert.rejects(
			cli.parseAsync(['counter', ...words], { from: 'user' }),
			({ code }: { code: string }) => code === 'commander.conflictingOption',
			words.join(' '),
		);
	};
	await refused('--no-cost', '--max-overhead', '5');
	await refused('--user-threads', '--kernel-threads');
	await refused('--container', '0123456789ab', '--cgroup', '/');
});
