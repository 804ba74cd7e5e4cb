/** Whatever the arguments: an exit status of ours, and one line that a terminal can be shown. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { main } from '../../../src/cli/main.js';
import { converters } from '../../../src/generated/converters.js';
import { tools } from '../../../src/generated/tools.js';
import { anyText } from '../any-text.js';
import { HOSTILE } from '../support.js';

const STDERR = 2;
/** Comes first, so that nothing is traced, and nothing written, whatever follows. */
const REFUSED = '--no-such-option';
const COMMANDS = [...Object.keys(tools), ...Object.keys(converters), 'doctor'];

const word = fc.oneof(
	fc.constantFrom(
		...[
			'-p',
			'-t',
			'--pid=1',
			'-C',
			'--cpu',
			'--comm',
			'--cgroup',
			'-o',
			'--format',
			'--json',
			'--',
		],
		...['-F', '-e', '--hist', '-s', '--sort', '--by', '-v', '--title', '-l', '--max-overhead', '-'],
		...['0', '-1', '1e99', '0x10', 'NaN', '', ',', '1,', '0-99999999', '..', '/', 'json', 'svg'],
		...['__proto__', 'constructor', 'toString', '--__proto__', '--constructor=1', '--no-pid'],
		...HOSTILE,
	),
	anyText({ maxLength: 20 }),
	fc.string({ maxLength: 5 }).map((text) => `--${text}`),
	fc.constant('9'.repeat(5000)),
);
const words = fc.array(word, { maxLength: 6 });

interface Said {
	readonly status: number;
	readonly stderr: string;
}

/** What it would write goes nowhere. */
async function run(args: readonly string[]): Promise<Said> {
	const { writeSync } = fs;
	let stderr = '';
	fs.writeSync = ((fd: number, text: string | Uint8Array) => {
		if (fd === STDERR) stderr += text;
		return Buffer.byteLength(text);
	}) as typeof writeSync;
	syncBuiltinESMExports();
	try {
		return { status: await main(args), stderr };
	} finally {
		fs.writeSync = writeSync;
		syncBuiltinESMExports();
	}
}

function checkSaid({ status, stderr }: Said, args: readonly string[]): void {
	const what = JSON.stringify({ args, status, stderr });
	assert.ok([0, 1, 2].includes(status), what);
	assert.doesNotMatch(stderr, /[^\P{Cc}\n]|[\u200e\u200f\u202a-\u202e]/u);
	if (status === 0) return;
	assert.match(stderr, /^tstrace/, what);
	const verbose = args.includes('-v') || args.includes('--verbose');
	if (!verbose) assert.match(stderr, /^[^\n]+\n$/, what);
}

test('commands with options that do not exist', async () => {
	const property = fc.asyncProperty(fc.constantFrom(...COMMANDS), words, async (command, more) => {
		const args = [command, REFUSED, ...more];
		const said = await run(args);
		checkSaid(said, args);
		// Unless it is help that was asked for.
		assert.notEqual(said.status, 1);
	});
	await fc.assert(property, { numRuns: 250 });
});

test('commands that do not exist, and help of whatever', async () => {
	const first = fc.oneof(word, fc.constantFrom('help', 'completion', '-h', '--help', '-V'));
	const property = fc.asyncProperty(first, words, async (name, more) => {
		if (COMMANDS.includes(name)) return;
		const args = [name, ...more];
		// A command that an option stands in front of is one.
		if (more.some((each) => COMMANDS.includes(each))) return;
		checkSaid(await run(args), args);
	});
	await fc.assert(property, { numRuns: 150 });
});

test('files that do not exist', async () => {
	const names = fc.array(
		word.map((name) => `/nonexistent/${name}`),
		{ minLength: 2, maxLength: 2 },
	);
	const converter = fc.constantFrom(...Object.keys(converters));
	const property = fc.asyncProperty(converter, names, async (name, files) => {
		const said = await run([name, ...files]);
		checkSaid(said, [name, ...files]);
		assert.notEqual(said.status, 0);
	});
	await fc.assert(property, { numRuns: 150 });
});

test('a list is printed, whatever its options', async () => {
	const said = await run(['syscount', '--list']);
	assert.deepEqual(said, { status: 0, stderr: '' });
});
