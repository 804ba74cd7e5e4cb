import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../../soak/flat.js';

const SLACK = { add: 1, share: 0.1 };

test('what warms up and then stays is flat; what keeps growing is not', () => {
	const warm = [1, 20, 50, 100, 100, 101, 99, 100, 100, 100, 102, 100, 100, 101, 99, 100];
	assert.ok(judge(warm, SLACK).flat);
	const leak = Array.from({ length: 40 }, (_, i) => 100 + 2 * i);
	assert.ok(!judge(leak, SLACK).flat);
});

test('too few values are no answer', () => {
	assert.ok(!judge([1, 1, 1], SLACK).flat);
});
