/** The bytes of small modules of WebAssembly, by hand. */
'use strict';

const I32 = 0x7f;
const OP = { loop: 0x03, end: 0x0b, branchIf: 0x0d, call: 0x10, get: 0x20, set: 0x21, tee: 0x22 };
const NUMBER = { constant: 0x41, add: 0x6a, subtract: 0x6b, multiply: 0x6c };
const EMPTY_BLOCK = 0x40;
const MULTIPLIER = 31;

/** LEB128. */
function unsigned(value) {
	const bytes = [];
	let rest = value;
	do {
		const isLast = rest < 128;
		bytes.push((rest & 127) | (isLast ? 0 : 128));
		rest >>>= 7;
	} while (rest > 0);
	return bytes;
}
const vector = (items) => [...unsigned(items.length), ...items.flat()];
const text = (string) => vector([...Buffer.from(string)]);
const section = (id, bytes) => [id, ...unsigned(bytes.length), ...bytes];
const body = (locals, code) => {
	const bytes = [...vector(locals.map((count) => [...unsigned(count), I32])), ...code, OP.end];
	return [...unsigned(bytes.length), ...bytes];
};

/** A function that counts down from its parameter, and mixes what it counts. */
const burning = () =>
	body(
		[1],
		[
			...[OP.loop, EMPTY_BLOCK],
			...[
				OP.get,
				1,
				NUMBER.constant,
				MULTIPLIER,
				NUMBER.multiply,
				OP.get,
				0,
				NUMBER.add,
				OP.set,
				1,
			],
			...[OP.get, 0, NUMBER.constant, 1, NUMBER.subtract, OP.tee, 0, OP.branchIf, 0],
			OP.end,
			...[OP.get, 1],
		],
	);
/** A function that calls these, each with its own parameter, and adds up what they return. */
const calling = (indices) =>
	body(
		[],
		[
			...[NUMBER.constant, 1],
			...indices.flatMap((index) => [OP.get, 0, OP.call, ...unsigned(index), NUMBER.add]),
		],
	);

/**
 * A module with functions of one number each, which return one. `imports`: names in "env". `functions`: each with a
 * name, and which others it calls (by name); without any it burns. `names`: what of them is in the name section;
 * `module`: the name of the module. All of `exports` are exported.
 */
function moduleOf({ imports = [], functions, exports, module, names = 'all', padding = 0 }) {
	const all = [...imports, ...functions.map(({ name }) => name)];
	const indexOf = (name) => all.indexOf(name);
	const bodies = functions.map(({ calls }) => (calls ? calling(calls.map(indexOf)) : burning()));
	const named = names === 'all' ? all.map((name, i) => [...unsigned(i), ...text(name)]) : [];
	const nameParts = [
		...(module === undefined ? [] : section(0, text(module))),
		...(names === 'all' ? section(1, vector(named)) : []),
	];
	const hasNames = nameParts.length > 0;
	return Uint8Array.from([
		...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
		...section(1, vector([[0x60, ...vector([I32]), ...vector([I32])]])),
		...(imports.length > 0
			? section(2, vector(imports.map((name) => [...text('env'), ...text(name), 0, 0])))
			: []),
		...section(3, vector(functions.map(() => [0]))),
		...section(7, vector(exports.map((name) => [...text(name), 0, ...unsigned(indexOf(name))]))),
		...section(10, vector(bodies)),
		...(padding > 0 ? section(0, [...text('padding'), ...Array(padding).fill(0)]) : []),
		...(hasNames ? section(0, [...text('name'), ...nameParts]) : []),
	]);
}

module.exports = { moduleOf };
