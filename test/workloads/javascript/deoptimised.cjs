/*
 * Waits in a call of a function that was optimised as it called, and no longer is.
 *
 * usage: node deoptimised.cjs
 *
 * Prints "ready PID TID" when outermost() is optimised, and begins at the first byte on standard input: a function that
 * it calls changes what V8 has counted on, and waits. Then prints "done WAITED_MS", and ends at the next byte.
 */
'use strict';
const { readSync } = require('node:fs');

const WAIT_MS = 500;
const ROUNDS = 3000;
const cell = new Int32Array(new SharedArrayBuffer(4));
let isOver = false;

class Shape {
	area() {
		return 1;
	}
}
const shape = new Shape();

function other(number) {
	return number * 2 + cell.length;
}
function callAfterwards(number) {
	return other(number) + other(number + 1);
}
function changeAndWait() {
	if (!isOver) return 1;
	Shape.prototype.area = function another() {
		return 2;
	};
	Atomics.wait(cell, 0, 0, WAIT_MS);
	return 1;
}
function callInBetween(number) {
	return changeAndWait() + number;
}
function outermost(times) {
	let sum = 0;
	for (let i = 0; i < times; i++) sum += shape.area() + callInBetween(i) + callAfterwards(i);
	return sum;
}

for (let i = 0; i < ROUNDS; i++) outermost(100);
process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
readSync(0, Buffer.alloc(1));
isOver = true;
outermost(1);
process.stdout.write(`done ${WAIT_MS}\n`);
readSync(0, Buffer.alloc(1));
