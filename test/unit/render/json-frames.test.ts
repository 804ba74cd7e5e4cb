import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Frame } from '../../../src/aggregate/stack.js';
import { framesOf, framesTextBy } from '../../../src/render/json-frames.js';

const FRAMES: readonly Frame[] = [
	{ name: 'main', kind: 'user' },
	{ name: 'do_"poll"\n', kind: 'kernel' },
	{
		name: 'handle (/srv/"a".js:12)',
		kind: 'javascript',
		source: { language: 'javascript', name: 'handle', file: '/srv/"a".js', line: 12 },
	},
	{
		name: 'load (/srv/b.py)',
		kind: 'python',
		source: { language: 'python', name: 'load', file: '/srv/b.py', line: undefined },
	},
	{
		name: 'eval (no file)',
		kind: 'javascript',
		source: { language: 'javascript', name: 'eval', file: undefined, line: 3 },
	},
];

test('frames in JSON: the text of stacks is that of their fields', () => {
	fc.assert(
		fc.property(fc.array(fc.array(fc.constantFrom(...FRAMES))), (stacks) => {
			const textOf = framesTextBy(JSON.stringify);
			for (const frames of stacks)
				assert.equal(`{${textOf(frames)}}`, JSON.stringify(framesOf(frames)));
		}),
	);
});
