/** Results of tstrace --json, and what only looks like one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldedOf, profilesOf } from './formats.js';

const STACK = { frames: ['main', 'read'], kinds: 'uk', value: 7, key: { comm: 'sh', pid: 5 } };

/** The error that reading ends with. */
async function refused(content: unknown): Promise<string> {
	const text = typeof content === 'string' ? content : JSON.stringify(content);
	const error: Error = await profilesOf(text).then(
		() => assert.fail(`it is read: ${text.slice(0, 200)}`),
		(error) => error,
	);
	assert.equal(error.name, 'TstraceError');
	return error.message;
}

const originOf = async (result: object) => (await profilesOf(JSON.stringify(result)))[0]?.origin;

test('a result that was cut off says so, and in which line', async () => {
	const whole = JSON.stringify({ tool: 'profile', stacks: [STACK] });
	const cut = whole.slice(0, -20);
	assert.match(await refused(cut), /^it begins like JSON but is not valid, .* was cut off/);
	assert.match(await refused(`${whole}\n${cut}`), /^line 2 begins like JSON but is not valid/);
	for (const other of ['5', 'null', '"text"'])
		assert.match(
			await refused(`${whole}\n\n${other}\n`),
			/^line 3 is neither a result of tstrace nor /,
		);
});

test('a result without stacks names the tool, and one that has them', async () => {
	const said = 'has no stacks; give one of a tool that finds stacks, such as profile --json';
	assert.equal(await refused({ tool: 'runqlat', groups: [] }), `the result of runqlat ${said}`);
	assert.equal(await refused({ groups: [] }), `the result of tstrace ${said}`);
	assert.equal(await refused({ tool: 5 }), `the result of tstrace ${said}`);
});

test('a stack that is damaged is named by its number', async () => {
	const { frames, value, ...others } = STACK;
	for (const damaged of [
		{ ...others, value },
		{ ...others, frames },
		{ ...STACK, value: '7' },
		{ ...STACK, value: -1 },
		7,
		null,
	]) {
		const message = await refused({ tool: 'profile', stacks: [STACK, damaged] });
		assert.match(message, /^stack 2 of the JSON is damaged/, JSON.stringify(damaged));
	}
});

test('a file of speedscope is one by its $schema, whatever else it lacks', async () => {
	const $schema = 'https://www.speedscope.app/file-format-schema.json';
	assert.match(await refused({ $schema }), /it has no profiles/);
	assert.match(await refused({ profiles: [], shared: {} }), /it has no frames/);
	assert.match(await refused({ profiles: [] }), /^the result of tstrace has no stacks/);
});

test('how deep it is nested: brackets in texts do not count', async () => {
	const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
	const resultWith = (more: string) => `{"stacks":[${JSON.stringify(STACK)}],"more":${more}}`;
	const deepest = 99;
	assert.equal((await profilesOf(resultWith(nested(deepest)))).length, 1);
	assert.match(await refused(resultWith(nested(deepest + 1))), /^line 1 is nested too deeply/);
	for (const text of ['['.repeat(200), '\\"['.repeat(200), '{\\\\'.repeat(200)]) {
		assert.equal((await profilesOf(resultWith(`"${text}"`))).length, 1, text.slice(0, 9));
	}
});

test('whose a stack is, its frames and kinds, and what is missing of it', async () => {
	const stacks = [
		STACK,
		{ ...STACK, frames: ['j', 'i', 'x', 'none'], kinds: 'ji?', value: 1 },
		{ ...STACK, cut: 'no tables', value: 2 },
		{ ...STACK, caller_missing: true, value: 3 },
		{ ...STACK, caller_missing: 'yes', value: 4, key: { comm: 'sh', more: { pid: 5 } } },
		{ ...STACK, frames: [7, null], value: 5, key: null },
	];
	const [read] = await profilesOf(JSON.stringify({ tool: 'profile', stacks }));
	assert.deepEqual(foldedOf(read).split('\n'), [
		'sh;main;read_[k] 11',
		'sh;j_[j];i_[i];x;none 1',
		'sh;[cut];main;read_[k] 2',
		'sh;[caller not known];main;read_[k] 3',
		';7;null_[k] 5',
		'',
	]);
});

test('what a result says of itself is known; what is of another kind is not', async () => {
	const said = {
		tool: 'profile',
		event: 'cycles',
		unit: 'samples',
		start: '2026-01-31T12:00:00.500Z',
		host: 'web1',
		kernel: '6.1.0',
		duration_s: 5.25,
		period_ns: 3,
		frequency_hz: 99,
		period: 1000,
		command: ['tstrace', 'profile'],
		filters: { pids: [12] },
	};
	assert.deepEqual(await originOf({ ...said, stacks: [STACK], lost: {} }), said);
	const strange = Object.fromEntries(
		Object.keys(said).map((name) => [name, name.endsWith('_s') ? '5' : null]),
	);
	assert.deepEqual(await originOf({ ...strange, stacks: [STACK] }), {});
	assert.deepEqual(await originOf({ filters: 'all', command: 'x', stacks: [STACK] }), {});
});
