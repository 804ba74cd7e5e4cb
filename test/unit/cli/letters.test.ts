/** One letter, one name, one meaning: over all that tools declare. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Option } from 'commander';
import { doctorOptions } from '../../../src/cli/doctor.js';
import { converters } from '../../../src/generated/converters.js';
import { tools } from '../../../src/generated/tools.js';
import { offered } from '../../../src/options/typed-option.js';
import { commonOptions, fileOptions } from '../../../src/run/common-options.js';

/** What stackcollapse-perf.pl calls them: scripts that call it go on with `tstrace fold`. */
const OF_STACKCOLLAPSE = ['fold --pid', 'fold --tid', 'fold --all'];
/** What the tools that they are for call them: who comes from there types these without looking. */
const OF_OTHERS: Readonly<Record<string, readonly string[]>> = {
	/** strace. */
	trace: ['-e', '-s', '-z', '-Z', '-c', '-C', '-S', '-k'],
	/** perf stat. */
	stat: ['-a', '-d', '-I'],
};
/** What the letters that everybody types mean. */
const MEANINGS = {
	'-L': '--tids',
	'-T': '--timestamps',
	'-m': '--milliseconds',
	'-x': '--failed',
	'-e': '--event',
} as const;

interface Declared {
	readonly where: string;
	readonly option: Option;
}

async function allDeclared(): Promise<Declared[]> {
	const all: Declared[] = offered(doctorOptions()).map((option) => ({ where: 'doctor', option }));
	for (const load of Object.values(tools)) {
		const { name, options, kind } = await load();
		for (const option of [...offered(options()), ...offered(commonOptions(kind))])
			all.push({ where: name, option });
	}
	for (const load of Object.values(converters)) {
		const { name, options } = await load();
		for (const option of [...offered(options()), ...offered(fileOptions())])
			all.push({ where: name, option });
	}
	return all;
}

/** All values that belong to a key, each with the first place it was met at. */
function collect(pairs: Iterable<readonly [string, string, string]>) {
	const found = new Map<string, Map<string, string>>();
	for (const [key, value, where] of pairs) {
		const values = found.get(key) ?? new Map<string, string>();
		if (!values.has(value)) values.set(value, where);
		found.set(key, values);
	}
	return found;
}

test('a letter has one long name across tstrace, and an option a long name', async () => {
	const declared = await allDeclared();
	assert.ok(declared.length > 150);
	const isOfOthers = ({ where, option }: Declared) =>
		OF_OTHERS[where]?.includes(option.short ?? '') ?? false;
	const names = collect(
		declared
			.filter((each) => !isOfOthers(each))
			.map(({ where, option }) => {
				assert.ok(option.long, `${where} ${option.flags}`);
				return [option.short ?? '', option.long, where] as const;
			}),
	);
	// Each of them is there.
	for (const [tool, letters] of Object.entries(OF_OTHERS)) {
		const own = declared.filter((each) => each.where === tool && isOfOthers(each));
		const there = new Set(own.map(({ option }) => option.short));
		assert.deepEqual([...there].sort(), [...letters].sort(), tool);
	}
	for (const [letter, longs] of names) {
		if (letter === '') continue;
		assert.match(letter, /^-\w$/);
		assert.equal(longs.size, 1, `${letter}: ${JSON.stringify([...longs])}`);
	}
	for (const [letter, long] of Object.entries(MEANINGS)) {
		assert.deepEqual([...(names.get(letter)?.keys() ?? [])], [long]);
	}
});

test('a long name has the same letter and the same kind of value in all tools', async () => {
	const declared = (await allDeclared()).filter(
		({ where, option }) => !OF_STACKCOLLAPSE.includes(`${where} ${option.long}`),
	);
	const flags = collect(
		declared.map(({ where, option }) => [option.long ?? '', option.flags, where] as const),
	);
	for (const [long, forms] of flags) {
		assert.equal(forms.size, 1, `${long}: ${JSON.stringify([...forms])}`);
	}
});

test('no long name is another one in the plural', async () => {
	const longs = new Set((await allDeclared()).map(({ option }) => option.long ?? ''));
	// One takes a value to choose by, the other shows each of them.
	const two = ['--pid', '--tid', '--path'];
	for (const long of longs) {
		if (!two.includes(long)) assert.ok(!longs.has(`${long}s`), `${long} and ${long}s`);
	}
});

test('what other tools call differently is an option of the tool, and the other name is not', async () => {
	for (const load of Object.values(tools)) {
		const { name, options, kind, otherNames = {} } = await load();
		const all = [...offered(options()), ...offered(commonOptions(kind))];
		const flags = all.flatMap(({ short, long }) => [short, long]);
		for (const [other, ours] of Object.entries(otherNames)) {
			assert.ok(flags.includes(ours), `${name} ${ours}`);
			assert.ok(!flags.includes(other), `${name} ${other}`);
		}
	}
});
