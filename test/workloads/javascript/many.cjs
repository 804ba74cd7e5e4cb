/*
 * Very many functions, each of which waits as often as its number says.
 *
 * usage: node many.cjs FILE
 *
 * FILE exports an array of functions that call what they are given, or wait (many() of test/live/many.ts).
 * Prints "ready PID TID" and begins at the first byte on standard input. Each function calls the one that is
 * half the array further, which waits, once to three times. What is thrown away in between keeps the collector busy.
 * Then prints "done", and ends at the next byte.
 */
'use strict';
const { readSync } = require('node:fs');

const WAIT_MS = 0.1;
const GARBAGE = 2000;
const cell = new Int32Array(new SharedArrayBuffer(4));

globalThis.waitBriefly = function waitBriefly() {
	Atomics.wait(cell, 0, 0, WAIT_MS);
};

const functions = require(process.argv[2]);
const kept = [];
process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
readSync(0, Buffer.alloc(1));
for (const [i, outer] of functions.entries()) {
	const inner = functions[(i + functions.length / 2) % functions.length];
	for (let times = i % 3; times >= 0; times--) outer(inner);
	kept[i % 100] = Array.from({ length: GARBAGE }, () => ({ i }));
}
process.stdout.write('done\n');
readSync(0, Buffer.alloc(1));
