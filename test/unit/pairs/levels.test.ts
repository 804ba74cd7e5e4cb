/** Each two options of a tool, with each of their values: they can be together, or one line says why not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tools } from '../../../src/generated/tools.js';
import type { AnyTool } from '../../../src/tool.js';
import { type Level, levelsOf, namesIt, neededBy, refusal, rowsOf } from '../../pairs/levels.js';

const words = (row: readonly Level[]) => row.flatMap((level) => level.words).join(' ');

/** Whether a line refuses two: it names both. */
function refusesBoth(tool: AnyTool, row: readonly Level[], a: Level, b: Level): boolean {
	const line = refusal(tool, row);
	return line !== undefined && !line.includes('\n') && namesIt(line, a) && namesIt(line, b);
}

for (const load of Object.values(tools)) {
	const tool: AnyTool = await load();
	const { levels, covering } = rowsOf(tool);
	const at = (i: number) => levels[i] as Level;

	test(`${tool.name}: two that cannot be together are both named, in one line`, () => {
		for (const [i, j] of covering.apart) {
			const [a, b] = [at(i), at(j)];
			// What one of them needs may be what the other one cannot be with.
			const clashes = [a, b].flatMap((needy) => {
				const other = needy === a ? b : a;
				return neededBy(tool, needy, levels).map((third) => [other, third] as const);
			});
			const said =
				refusesBoth(tool, [a, b], a, b) ||
				(clashes.length > 0 &&
					clashes.every(([one, third]) => refusesBoth(tool, [one, third], one, third)));
			assert.ok(said, `${words([a, b])}: ${refusal(tool, [a, b])}`);
		}
	});

	test(`${tool.name}: the rows have each option, and each two that are not refused`, () => {
		const rows = covering.rows.map((row) => row.map(at));
		for (const row of rows) assert.equal(refusal(tool, row), undefined, words(row));
		for (const level of levels)
			assert.ok(
				rows.some((row) => row.includes(level)),
				words([level]),
			);
		const options = [...new Set(levels.map(({ option }) => option))];
		const has = (row: readonly Level[], name: string) => row.some(({ option }) => option === name);
		const isApart = (a: string, b: string) => {
			const both =
				levels.filter(({ option }) => option === a).length *
				levels.filter(({ option }) => option === b).length;
			const refused = covering.apart.filter(
				([i, j]) =>
					(at(i).option === a && at(j).option === b) || (at(i).option === b && at(j).option === a),
			);
			return refused.length === both;
		};
		for (const [i, a] of options.entries()) {
			for (const b of options.slice(i + 1))
				assert.ok(isApart(a, b) || rows.some((row) => has(row, a) && has(row, b)), `${a} ${b}`);
		}
		// Each is a run of half a second: `make test` has to stay short.
		assert.ok(rows.length <= 20, `${rows.length}`);
	});

	test(`${tool.name}: what a format has nothing for is refused, and with text it is not`, () => {
		const of = (option: string) => levels.filter((level) => level.option === option);
		for (const option of ['timestamps', 'top', 'delimited', 'annotated']) {
			for (const level of of(option)) {
				for (const json of of('json'))
					assert.ok(refusesBoth(tool, [level, json], level, json), option);
				const folded = of('folded').map((other) => refusal(tool, [level, other]) !== undefined);
				const isOfText = option === 'timestamps' || option === 'top';
				assert.deepEqual(
					folded,
					of('folded').map(() => isOfText),
					option,
				);
				assert.equal(refusal(tool, [level]), undefined, option);
			}
		}
		for (const room of of('maxPaths')) {
			assert.match(refusal(tool, [room]) ?? '', /--max-paths .*: add --paths/);
			for (const paths of of('paths')) assert.equal(refusal(tool, [room, paths]), undefined);
		}
	});

	test(`${tool.name}: nothing is refused for what has nothing to do with it`, () => {
		const alone = levelsOf(tool).filter((level) => refusal(tool, [level]) !== undefined);
		// They say what they need.
		for (const level of alone) {
			const line = refusal(tool, [level]) ?? '';
			assert.match(line, /: add -|\badd --latency\b|needs /, words([level]));
			assert.ok(neededBy(tool, level, levels).length > 0, words([level]));
		}
	});
}
