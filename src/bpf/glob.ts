/** Patterns of thread names, as a shell has them: user space's side of bpf/lib/glob.h. */
import { MAX_COMM_BYTES } from '../proc/threads.js';

/** Bits of a word: each pattern takes one for each of its characters, and one. */
const MAX_STATES = 64;
const BYTES = 256;

/** All patterns as one automaton; sets of states are words. */
export interface GlobTables {
	/** By byte: the states that go on to the next one with it. */
	readonly accepts: BigUint64Array;
	/** States that stay, whatever comes. */
	readonly stays: bigint;
	readonly begins: bigint;
	/** In the order of the patterns. */
	readonly ends: readonly bigint[];
}

/** What a pattern asks of a byte; undefined: a star. */
type Element = ReadonlySet<number> | undefined;

const ANY: ReadonlySet<number> = new Set(Array.from({ length: BYTES - 1 }, (_, i) => i + 1));

/** Whether it is a pattern, and not just a name. */
export function isGlob(name: string): boolean {
	return /[*?[\\]/.test(name);
}

/** `most`: bytes of what they are to match. Throws RangeError for patterns that are too long, or too many, in words for the user. */
export function compileGlobs(globs: readonly string[], most = MAX_COMM_BYTES): GlobTables {
	const accepts = new BigUint64Array(BYTES);
	const ends: bigint[] = [];
	let stays = 0n;
	let begins = 0n;
	let state = 0;
	for (const glob of globs) {
		const elements = elementsOf(glob);
		const length = elements.filter((element) => element !== undefined).length;
		if (length > most)
			throw new RangeError(
				`"${glob}" matches no thread name: the kernel keeps only ${MAX_COMM_BYTES} bytes of a name`,
			);
		if (state + length >= MAX_STATES)
			throw new RangeError(`all patterns together can have at most ${MAX_STATES} characters`);
		begins |= 1n << BigInt(state);
		for (const element of elements) {
			const bit = 1n << BigInt(state);
			if (element === undefined) stays |= bit;
			else {
				for (const byte of element) accepts[byte] = (accepts[byte] as bigint) | bit;
				state++;
			}
		}
		ends.push(1n << BigInt(state));
		state++;
	}
	return { accepts, stays, begins, ends };
}

/** Which of the patterns match a name: as bpf/lib/glob.h does it. */
export function matchingGlobs({ accepts, stays, begins, ends }: GlobTables, name: string) {
	let states = begins;
	for (const byte of Buffer.from(name).subarray(0, MAX_COMM_BYTES)) {
		if (byte === 0) break;
		const moved = BigInt.asUintN(MAX_STATES, (states & (accepts[byte] as bigint)) << 1n);
		states = moved | (states & stays);
	}
	return ends.map((end) => (states & end) !== 0n);
}

/** Finds out which of these names and patterns a thread's name is one of. */
export function commMatcher(comms: readonly string[]): (comm: string) => boolean {
	const names = new Set(comms.filter((each) => !isGlob(each)));
	const tables = compileGlobs(comms.filter(isGlob));
	return (comm) => names.has(comm) || matchingGlobs(tables, comm).includes(true);
}

/** Before loading: writes the tables into a program's constants, of which `memoryOf` gives each. */
export function writeGlobs(
	{ accepts, stays, begins, ends }: GlobTables,
	memoryOf: (table: 'accepts' | 'stays' | 'begins' | 'ends') => DataView,
): void {
	const memory = memoryOf('accepts');
	for (const [byte, states] of accepts.entries()) memory.setBigUint64(8 * byte, states, true);
	memoryOf('stays').setBigUint64(0, stays, true);
	memoryOf('begins').setBigUint64(0, begins, true);
	const all = ends.reduce((some, end) => some | end, 0n);
	memoryOf('ends').setBigUint64(0, all, true);
}

/** man 7 glob: * ? [a-z] [!a-z], and \ before what is to be itself; names are bytes. */
function elementsOf(glob: string): Element[] {
	const bytes = Buffer.from(glob);
	const elements: Element[] = [];
	for (let at = 0; at < bytes.length; ) {
		const character = String.fromCharCode(bytes[at] as number);
		const range = character === '[' ? rangeAt(bytes, at) : undefined;
		if (character === '*') elements.push(undefined);
		else if (character === '?') elements.push(ANY);
		else if (range) elements.push(range.accepts);
		else {
			if (character === '\\' && at + 1 < bytes.length) at++;
			elements.push(new Set([bytes[at] as number]));
		}
		at = range ? range.end : at + 1;
	}
	return elements;
}

/** "[a-z]" that begins at `at`; undefined where it does not end: then it is a bracket. */
function rangeAt(bytes: Buffer, at: number): { accepts: Set<number>; end: number } | undefined {
	const inverted = bytes[at + 1] === 0x21 || bytes[at + 1] === 0x5e;
	const first = at + (inverted ? 2 : 1);
	// A closing bracket that comes first is one of the characters.
	const close = bytes.indexOf(0x5d, first + 1);
	if (close < 0) return undefined;
	const listed = new Set<number>();
	for (let i = first; i < close; i++) {
		const isRange = bytes[i + 1] === 0x2d && i + 2 < close;
		const last = isRange ? (bytes[i + 2] as number) : (bytes[i] as number);
		for (let byte = bytes[i] as number; byte <= last; byte++) listed.add(byte);
		if (isRange) i += 2;
	}
	const accepts = inverted ? [...ANY].filter((byte) => !listed.has(byte)) : listed;
	return { accepts: new Set(accepts), end: close + 1 };
}
