/** Options of syscount alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { offered, valuesOf } from '../../../../src/options/typed-option.js';
import { syscount } from '../../../../src/tools/syscount/syscount.js';

function maxPaths(...words: string[]): number | undefined {
	const options = { maxPaths: syscount.options().maxPaths };
	const cli = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
	for (const option of offered(options)) cli.addOption(option);
	return valuesOf(options, cli.parse(words, { from: 'user' }).opts()).maxPaths;
}

test('room for paths: as much as there may be, and no number where nobody asks', () => {
	assert.equal(maxPaths(), undefined);
	assert.equal(maxPaths('--max-paths', `${2 ** 20}`), 2 ** 20);
	for (const number of [`${2 ** 20 + 1}`, '1.5'])
		assert.throws(() => maxPaths('--max-paths', number), { name: 'CommanderError' }, number);
});
