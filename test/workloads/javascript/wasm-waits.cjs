/*
 * Waits in functions of JavaScript that modules of WebAssembly call.
 *
 * usage: node wasm-waits.cjs
 *
 * Prints "ready PID TID", and begins at the first byte on standard input. Three modules, one with all names, one without
 * any, and one that is long and has no name itself; each waits by one way, and twice as often by another one. Then prints
 * "done WAITS HASH HASH HASH": how often each module waited by the first way, and the number that V8 has in each
 * module's address. Ends at the next byte.
 */
'use strict';
const { readSync } = require('node:fs');
const { exportsOf } = require('./wasm-bytes.cjs');

const WAIT_MS = 1;
const WAITS = 100;
const WARM_UP = 2000;
const LONG_BYTES = 20_000;
const cell = new Int32Array(new SharedArrayBuffer(4));
let wait_ms = 0;
let stack = '';

function waitHere(number) {
	if (wait_ms > 0) Atomics.wait(cell, 0, 0, wait_ms);
	else stack = new Error('where').stack;
	return number;
}
const functions = [
	{ name: 'waitInside', calls: ['waitHere'] },
	{ name: 'byOne', calls: ['waitInside'] },
	{ name: 'byOther', calls: ['waitInside', 'waitInside'] },
];
const form = { imports: ['waitHere'], functions, exports: ['byOne', 'byOther'] };
const modules = [
	{ ...form, module: 'truth' },
	{ ...form, hasNames: false },
	{ ...form, padding: LONG_BYTES },
].map((each) => exportsOf(each, { waitHere }));

function outermost(module, times) {
	for (let i = 0; i < times; i++) module.byOne(i) + module.byOther(i);
}

const hashes = modules.map((module) => {
	Error.stackTraceLimit = 50;
	outermost(module, WARM_UP);
	return Number.parseInt(/wasm:\/\/wasm\/(?:truth-)?([0-9a-f]{8}):/.exec(stack)[1], 16);
});
wait_ms = WAIT_MS;
process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
readSync(0, Buffer.alloc(1));
for (const module of modules) outermost(module, WAITS);
process.stdout.write(`done ${WAITS} ${hashes.join(' ')}\n`);
readSync(0, Buffer.alloc(1));
