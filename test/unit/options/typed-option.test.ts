/** Options and the types of their values. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { converters } from '../../../src/generated/converters.js';
import { tools } from '../../../src/generated/tools.js';
import {
	flag,
	listed,
	type Options,
	offered,
	oneOf,
	oneOfOr,
	parsed,
	parsedOr,
	textOption,
	valuesOf,
} from '../../../src/options/typed-option.js';
import { commonOptions, fileOptions } from '../../../src/run/common-options.js';

const options = () => ({
	all: flag('-a, --all', ''),
	edges: flag('--no-edges', ''),
	name: textOption('--name <name>', ''),
	rate: parsed('--rate <hz>', '', Number),
	room: parsedOr('--room <n>', '', Number, 7),
	pids: listed<number>('--pids <pid>', '', (pid, before = []) => [...before, Number(pid)]),
	sort: oneOfOr('--sort <key>', '', ['time', 'count'], 'time'),
	by: oneOf('--by <what>', '', ['comm', 'thread']),
	absent: undefined,
});

/** As commander gives them for these words. */
function given(words: readonly string[], declared: Options = options()) {
	const cli = new Command().exitOverride();
	for (const option of offered(declared)) cli.addOption(option);
	return cli.parse([...words], { from: 'user' }).opts();
}

test('what is not given has a value of the same type', () => {
	const values = valuesOf(options(), given([]));
	assert.deepEqual(values, {
		all: false,
		edges: true,
		name: undefined,
		rate: undefined,
		room: 7,
		pids: [],
		sort: 'time',
		by: undefined,
		absent: undefined,
	});
	// And help says what it is.
	const shown = offered(options()).filter(({ defaultValue }) => defaultValue !== undefined);
	assert.deepEqual(
		shown.map(({ long, defaultValue }) => [long, defaultValue]),
		[
			['--room', 7],
			['--sort', 'time'],
		],
	);
	// Nobody asked commander: the same.
	assert.deepEqual(valuesOf(options(), {}), values);
});

test('a flag that says no is true unless it is given, wherever it says so', () => {
	for (const flags of ['--no-x', '-n, --no-x', '-n|--no-x', '-n --no-x']) {
		const declared = { x: flag(flags, '') };
		assert.deepEqual(valuesOf(declared, given([], declared)), { x: true }, flags);
		assert.deepEqual(valuesOf(declared, {}), { x: true }, flags);
		assert.deepEqual(valuesOf(declared, given(['--no-x'], declared)), { x: false }, flags);
	}
	const notes = { noted: flag('-n, --noted', '') };
	assert.deepEqual(valuesOf(notes, {}), { noted: false });
});

test('what is given comes as it was parsed', () => {
	const words = [
		'-a',
		'--no-edges',
		'--name',
		'x',
		'--rate',
		'9',
		'--room',
		'0',
		'--sort',
		'count',
	];
	const values = valuesOf(options(), given([...words, '--pids', '1', '--pids', '2']));
	const { all, edges, name, rate, room, pids, sort } = values;
	assert.deepEqual(
		[all, edges, name, rate, room, pids, sort],
		[true, false, 'x', 9, 0, [1, 2], 'count'],
	);
});

test('every option of a tool and of a converter has its default from commander, too', async () => {
	const declared: Options[] = [];
	for (const load of Object.values(tools)) {
		const { options: own, kind } = await load();
		declared.push(own(), commonOptions(kind));
	}
	for (const load of Object.values(converters))
		declared.push((await load()).options(), fileOptions());
	for (const each of declared) {
		assert.deepEqual(valuesOf(each, given([], each)), valuesOf(each, {}));
	}
});
