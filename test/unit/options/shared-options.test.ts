/** Options that several tools share: each is there, says what it does, and gives what it says. */
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import tty from 'node:tty';
import { Command } from 'commander';
import { UsageError } from '../../../src/errors.js';
import { formatHelp, formatOption, formatOptions } from '../../../src/options/choose-format.js';
import { lookOptions } from '../../../src/options/look.js';
import { maxBucketsOption, timestampsOption, topOption } from '../../../src/options/parsers.js';
import {
	chosenEventName,
	eventOptions,
	inputsOf,
	PLAIN_READING,
} from '../../../src/options/recordings.js';
import {
	groupingOption,
	stackOptions,
	stackSettings,
	stackView,
} from '../../../src/options/stack-options.js';
import {
	type Options,
	offered,
	type ValuesOf,
	valuesOf,
} from '../../../src/options/typed-option.js';

const FORMATS = ['text', 'json', 'folded', 'svg'] as const;

const stacks = () => ({ ...stackOptions(), by: groupingOption() });
const others = () => ({
	...lookOptions(),
	...eventOptions(),
	...formatOptions(FORMATS, 'to draw'),
	timestamps: timestampsOption(),
	maxBuckets: maxBucketsOption(),
});

/** The values after these words. Throws what commander throws. */
function given<O extends Options>(options: O, ...words: string[]): ValuesOf<O> {
	const cli = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
	for (const option of offered(options)) cli.addOption(option);
	return valuesOf(options, cli.parse(words, { from: 'user' }).opts());
}

test('each says in the help what it does', () => {
	for (const { flags, description } of [...offered(stacks()), ...offered(others())]) {
		assert.match(flags, /^(-\w, )?--[a-z-]+( <\w+>)?$/);
		assert.match(description, /^[\p{L}\d"'(-].{8,}[^.]$/u, flags);
	}
	assert.match(topOption(10).description, /show the N groups that waited longest; 0 shows all/);
	assert.match(formatHelp('text'), /else text$/);
});

const recorded = (...words: string[]) => stackSettings(given(stacks(), ...words));

test('how stacks are recorded: all of them, unless it is said', () => {
	const usual = {
		maxStacks: 32_768,
		maxDepth: 127,
		kernel: true,
		user: true,
		byThread: false,
		unwind: 'tables',
		runtimeFrames: 'both',
		executingLines: false,
		debuginfod: true,
	};
	assert.deepEqual(recorded(), usual);
	assert.deepEqual(recorded('-U'), { ...usual, kernel: false });
	assert.deepEqual(recorded('--kernel-stacks'), { ...usual, user: false });
	assert.deepEqual(recorded('-L'), { ...usual, byThread: true });
	assert.deepEqual(recorded('--by', 'thread'), { ...usual, byThread: true });
	assert.deepEqual(recorded('--by', 'process'), usual);
	assert.deepEqual(recorded('--unwind', 'fp'), { ...usual, unwind: 'fp' });
	assert.deepEqual(recorded('--runtime-frames', 'native'), { ...usual, runtimeFrames: 'native' });
	assert.deepEqual(recorded('--lines'), { ...usual, executingLines: true });
	for (const words of [
		['--unwind', 'fp'],
		['--runtime-frames', 'native'],
	])
		assert.throws(
			() => recorded('--lines', ...words),
			(error) => error instanceof UsageError && error.message.includes(`with ${words.join(' ')} `),
		);
	assert.deepEqual(recorded('--no-debuginfod'), { ...usual, debuginfod: false });
	assert.deepEqual(recorded('--max-stacks', '4194304', '--max-depth', '1'), {
		...usual,
		maxStacks: 4_194_304,
		maxDepth: 1,
	});
	for (const words of [
		['-U', '-K'],
		['-L', '--by', 'comm'],
		['--by', 'cpu'],
		['--unwind', 'lbr'],
		['--runtime-frames', 'all'],
		['--max-stacks', '4194305'],
		['--max-stacks', '0'],
		['--max-depth', '128'],
	])
		assert.throws(() => recorded(...words), { name: 'CommanderError' }, words.join(' '));
});

test('how stacks are shown: the ten largest, unless it is said', () => {
	const shown = (...words: string[]) => stackView(given(stacks(), ...words));
	const usual = {
		annotated: false,
		delimited: false,
		top: 10,
		by: undefined,
		grep: undefined,
		exclude: undefined,
		runtimeFrames: 'both',
	};
	assert.deepEqual(shown(), usual);
	assert.equal(shown('--runtime-frames', 'language').runtimeFrames, 'language');
	assert.deepEqual(shown('-d', '--annotated', '--top', '0'), {
		...usual,
		delimited: true,
		annotated: true,
		top: 0,
	});
	assert.equal(shown('-L').by, 'thread');
	for (const by of ['comm', 'process', 'thread']) assert.equal(shown('--by', by).by, by);
	assert.deepEqual(shown('--grep', 'tcp', '--exclude', 'Idle'), {
		...usual,
		grep: /tcp/iu,
		exclude: /Idle/u,
	});
});

test('a format is named once, by --format or by what is short for it', () => {
	const format = (...words: string[]) =>
		formatOption(given(formatOptions(FORMATS, 'report'), ...words), FORMATS);
	assert.equal(format(), undefined);
	for (const each of FORMATS) assert.equal(format('--format', each), each);
	assert.equal(format('--json'), 'json');
	assert.equal(format('--folded'), 'folded');
	assert.equal(format('--json', '--format', 'json'), 'json');
	assert.throws(() => format('--json', '--folded'), {
		message: 'give only one format, not folded and json',
	});
	assert.throws(() => format('--folded', '--format', 'svg'), /not folded and svg/);
	// Of formats that a tool does not have there is nothing short.
	const plain = formatOptions(['text', 'svg'], 'report');
	assert.deepEqual([plain.folded, plain.json], [undefined, undefined]);
	const said = (use: 'report' | 'to draw') => formatOptions(FORMATS, use).format.description;
	assert.match(said('report'), /else text$/);
	assert.match(said('to draw'), /else text on a terminal, folded elsewhere$/);
	assert.match(formatOptions(FORMATS, 'report').json?.description ?? '', /--format json$/);
});

test('room in the kernel: as much as there may be, and a number where nobody asks', () => {
	const values = (...words: string[]) => given(others(), ...words);
	assert.equal(values().maxBuckets, 65_536);
	assert.equal(values('--max-buckets', `${2 ** 26}`).maxBuckets, 2 ** 26);
	for (const words of [
		['--max-buckets', `${2 ** 26 + 1}`],
		['--max-buckets', '0'],
	])
		assert.throws(() => values(...words), { name: 'CommanderError' }, words.join(' '));
	assert.deepEqual([values().timestamps, values('-T').timestamps], [false, true]);
});

test('which event, by either name, and not by both', () => {
	const event = (...words: string[]) => chosenEventName(given(eventOptions(), ...words));
	assert.equal(event(), undefined);
	assert.equal(event('-e', 'cycles'), 'cycles');
	assert.equal(event('--event-filter', 'faults'), 'faults');
	assert.throws(() => event('-e', 'a', '--event-filter', 'b'), { name: 'CommanderError' });
});

test('what is read: the files that are named; how: as it is', () => {
	assert.deepEqual(inputsOf(['a', 'b']), ['a', 'b']);
	assert.deepEqual(PLAIN_READING, {
		identify: 'none',
		addresses: false,
		inline: false,
		event: undefined,
	});
});

test('standard input is read where nothing is named, but not from a terminal', (t) => {
	for (const isTerminal of [true, false]) {
		const isatty = t.mock.method(tty, 'isatty', () => isTerminal);
		syncBuiltinESMExports();
		try {
			assert.deepEqual(inputsOf(['a', 'b']), ['a', 'b']);
			for (const files of [[], ['-'], ['a', '-']]) {
				const expected = files.length === 0 ? ['-'] : files;
				if (!isTerminal) assert.deepEqual(inputsOf(files), expected);
				else assert.throws(() => inputsOf(files), { message: /^standard input is a terminal/ });
			}
		} finally {
			isatty.mock.restore();
			syncBuiltinESMExports();
		}
	}
});
