/** What a result is written as where nobody says it, and that all help texts say so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stackToolNamed } from '../../../src/converters/flamegraph/stack-tools.js';
import { tools } from '../../../src/generated/tools.js';
import { formatOption, unnamedFormat } from '../../../src/options/choose-format.js';
import { runToEnd, TSTRACE } from '../../live/support.js';

test('stacks to draw are folded where no terminal shows them; reports are text anywhere', async () => {
	assert.equal(unnamedFormat('to draw', false), 'folded');
	assert.equal(unnamedFormat('to draw', true), 'text');
	assert.equal(unnamedFormat('report', false), 'text');
	assert.equal(unnamedFormat('report', true), 'text');
	const uses: Record<string, string | undefined> = {};
	for (const name of Object.keys(tools)) uses[name] = (await stackToolNamed(name))?.use;
	const { offcputime, offwaketime, wakeuptime, profile, memleak, why, ...others } = uses;
	const drawn = [offcputime, offwaketime, wakeuptime, profile];
	assert.ok(drawn.every((use) => use === 'to draw'));
	assert.deepEqual([memleak, why], ['report', 'report']);
	assert.ok(Object.values(others).every((use) => use === undefined));
	assert.equal(await stackToolNamed('constructor'), undefined);
});

test('a format is named by --format, --folded or --json, and by one of them', () => {
	const formats = ['text', 'json', 'folded'] as const;
	const none = { format: undefined, folded: false, json: false };
	assert.equal(formatOption(none, formats), undefined);
	assert.equal(formatOption({ ...none, folded: true }, formats), 'folded');
	assert.equal(formatOption({ ...none, json: true, format: 'json' }, formats), 'json');
	assert.throws(
		() => formatOption({ ...none, json: true, folded: true }, formats),
		/one format, not folded and json/,
	);
});

/** What the help of --format says is the default, on one line. */
function defaultInHelp(tool: string): string | undefined {
	const { stdout } = runToEnd(TSTRACE, [tool, '--help']);
	const [, text] = /--format <format>(.*?)\(choices/s.exec(stdout) ?? [];
	return /default: (.*)/.exec((text ?? '').replace(/\s+/g, ' '))?.[1]?.trim();
}

for (const [otherwise, tools] of [
	['text on a terminal, folded elsewhere', ['offcputime', 'profile']],
	['text', ['memleak', 'runqlat', 'schedlat', 'syscount', 'timehist', 'trace', 'diff']],
	['svg', ['flamegraph']],
] as const) {
	for (const tool of tools) {
		test(`${tool} --help says what it writes: ${otherwise}`, () => {
			assert.equal(defaultInHelp(tool), `by the ending of -o FILE, else ${otherwise}`);
		});
	}
}
