/**
 * Ten functions with different shares of the time, and V8's own profiler beside. Prints "ready PID PID"; runs until
 * standard input ends, and then "done" with the share of each function as the profiler counted it, in billionths.
 */
'use strict';
const { Session } = require('node:inspector');

/** Of one round; no two are alike. */
const TURNS = [1, 2, 3, 4.5, 6.5, 9, 12, 16, 21, 27].map((share) => share * 4000);

// Each is a source of its own, so that V8 compiles each by itself, and inlines none into its caller.
const functions = TURNS.map((turns, number) =>
	// biome-ignore lint/security/noGlobalEval: functions of their own are what is wanted
	eval(`(function hot_${number}(start) {
		let sum = start;
		for (let i = 0; i < ${turns}; i++) sum = (sum * 31 + i) % 65521;
		return sum;
	})`),
);

const session = new Session();
session.connect();
const post = (method, settings) =>
	new Promise((resolve, reject) =>
		session.post(method, settings, (error, result) => (error ? reject(error) : resolve(result))),
	);

/** Samples of each function itself, of all samples in any of them. */
function sharesOf({ nodes }) {
	const counts = functions.map(() => 0);
	for (const { callFrame, hitCount } of nodes) {
		const [, number] = /^hot_(\d+)$/.exec(callFrame.functionName) ?? [];
		if (number) counts[number] += hitCount;
	}
	const all = counts.reduce((sum, count) => sum + count, 0);
	return counts.map((count) => Math.round((1e9 * count) / all));
}

let sum = 0;
let goesOn = true;

function turn() {
	for (const each of functions) sum = each(sum);
	if (goesOn) setImmediate(turn);
	else end();
}

async function end() {
	const { profile } = await post('Profiler.stop');
	process.stdout.write(`done ${sharesOf(profile).join(' ')}\n`, () =>
		process.exit(sum < 0 ? 1 : 0),
	);
}

(async () => {
	await post('Profiler.enable');
	await post('Profiler.setSamplingInterval', { interval: 500 });
	// Compiled by then, as far as V8 will.
	for (let i = 0; i < 200; i++) for (const each of functions) sum = each(sum);
	await post('Profiler.start');
	process.stdin
		.on('end', () => {
			goesOn = false;
		})
		.resume();
	process.stdout.write(`ready ${process.pid} ${process.pid}\n`);
	turn();
})();
