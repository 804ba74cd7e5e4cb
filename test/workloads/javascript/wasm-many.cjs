/*
 * Waits by way of many modules of WebAssembly, which come and go.
 *
 * usage: node --expose-gc wasm-many.cjs
 *
 * Prints "ready PID TID", and begins at the first byte on standard input: makes one module after the other, and waits in
 * what it calls. There are never more than some: V8 frees the oldest as it makes the next ones. Then all are freed. Prints
 * "done MODULES FREED", how many there were, and how many V8 has freed; ends at the next byte.
 */
'use strict';
const { readSync } = require('node:fs');
const { exportsOf } = require('./wasm-bytes.cjs');

const WAIT_MS = 5;
const MODULES = 120;
/** At a time. */
const MOST = 20;
const cell = new Int32Array(new SharedArrayBuffer(4));
const modules = [];
const references = [];

function waitHere(number) {
	Atomics.wait(cell, 0, 0, WAIT_MS);
	return number;
}

/** No two have their calls at the same place. */
function waitInNew(number) {
	const functions = [
		{ name: `inside_${number}`, calls: ['waitHere'], steps: number },
		{ name: `outside_${number}`, calls: [`inside_${number}`], steps: 100 + number },
	];
	const form = { imports: ['waitHere'], functions, exports: [`outside_${number}`] };
	const module = exportsOf({ ...form, module: `many_${number}` }, { waitHere });
	module[`outside_${number}`](number);
	modules.push(module);
	references.push(new WeakRef(module));
	if (modules.length > MOST) modules.shift();
}

/** References are empty in a later turn than the one that they were used in. */
function later(call) {
	global.gc();
	setImmediate(call);
}

let number = 0;
function turn() {
	waitInNew(number++);
	later(number < MODULES ? turn : end);
}

function end() {
	modules.length = 0;
	later(() => {
		global.gc();
		const freed = references.filter((reference) => reference.deref() === undefined).length;
		process.stdout.write(`done ${MODULES} ${freed}\n`);
		readSync(0, Buffer.alloc(1));
	});
}

process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
readSync(0, Buffer.alloc(1));
turn();
