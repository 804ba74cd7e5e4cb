/**
 * Functions of WebAssembly with different shares of the time, and V8's own profiler beside. Prints "ready PID PID"; runs
 * until standard input ends, and then "done" with the share of each function as the profiler counted it, in billionths.
 */
'use strict';
const { Session } = require('node:inspector');
const { exportsOf } = require('./wasm-bytes.cjs');

/** Of one round; no two are alike. */
const TURNS = [1, 2, 4, 8, 13].map((share) => share * 20_000);

// A loop in the function that it is in; the callers are no parts of it.
const functions = TURNS.flatMap((_, i) => [
	{ name: `hot_${i}` },
	{ name: `call_${i}`, calls: [`hot_${i}`] },
]);
const names = TURNS.map((_, i) => `call_${i}`);
const instance = exportsOf({ functions, exports: names, module: 'shares' });

const session = new Session();
session.connect();
const post = (method, settings) =>
	new Promise((resolve, reject) =>
		session.post(method, settings, (error, result) => (error ? reject(error) : resolve(result))),
	);

/** Samples of each function itself, of all samples in any of them. */
function sharesOf({ nodes }) {
	const counts = TURNS.map(() => 0);
	for (const { callFrame, hitCount } of nodes) {
		const [, number] = /^hot_(\d+)$/.exec(callFrame.functionName) ?? [];
		if (number && callFrame.url.startsWith('wasm://wasm/shares-')) counts[number] += hitCount;
	}
	const all = counts.reduce((sum, count) => sum + count, 0);
	return counts.map((count) => Math.round((1e9 * count) / all));
}

let goesOn = true;

function turn() {
	for (const [i, turns] of TURNS.entries()) instance[names[i]](turns);
	if (goesOn) setImmediate(turn);
	else end();
}

async function end() {
	const { profile } = await post('Profiler.stop');
	process.stdout.write(`done ${sharesOf(profile).join(' ')}\n`, () => process.exit());
}

(async () => {
	await post('Profiler.enable');
	await post('Profiler.setSamplingInterval', { interval: 500 });
	// Compiled by then, as far as V8 will.
	for (let i = 0; i < 200; i++) for (const each of names) instance[each](1000);
	await post('Profiler.start');
	process.stdin
		.on('end', () => {
			goesOn = false;
		})
		.resume();
	process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
	turn();
})();
