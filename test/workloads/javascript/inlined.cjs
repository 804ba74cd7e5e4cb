/*
 * Waits by functions that V8 puts into the code of their callers.
 *
 * usage: node inlined.cjs
 *
 * Prints "ready PID TID" when they are optimised, and begins at the first byte on standard input. Waits by one way, and
 * twice as often by another one. Then prints "done ONE OTHER", how often, and ends at the next byte.
 */
'use strict';
const { readSync } = require('node:fs');

const WAIT_MS = 0.2;
const WAITS = 400;
const WARM_UP_MS = 1000;
const cell = new Int32Array(new SharedArrayBuffer(4));

function waitHere(ms) {
	return ms > 0 ? Atomics.wait(cell, 0, 0, ms) : ms;
}
function addInlined(a, ms) {
	return waitHere(ms) === 'x' ? 1 : a + 1;
}
function byOne(a, ms) {
	return addInlined(a, ms) + 1;
}
function byOther(a, ms) {
	return addInlined(a + 1, ms) + addInlined(a + 2, ms);
}
function middle(a, ms) {
	return byOne(a, ms) + byOther(a, ms);
}
function outermost(times, every, ms) {
	let sum = 0;
	for (let i = 0; i < times; i++) sum = (sum + middle(i, i % every === 0 ? ms : 0)) | 0;
	return sum;
}

for (const end = Date.now() + WARM_UP_MS; Date.now() < end; ) outermost(20_000, 5000, WAIT_MS);
process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
readSync(0, Buffer.alloc(1));
for (let i = 0; i < WAITS / 4; i++) outermost(4, 1, WAIT_MS);
process.stdout.write(`done ${WAITS} ${2 * WAITS}\n`);
readSync(0, Buffer.alloc(1));
