/** Which functions were inlined at an address: asks addr2line and nm (binutils), once for each file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { TstraceError } from '../errors.js';
import type { Notify } from './format-reader.js';
import { readLines } from './lines.js';

/** Reading the debug information of a large program takes it seconds. */
const TIMEOUT_s = 120;
const MAX_ANSWER_BYTES = 1 << 28;
const NOWHERE = '??';
const NO_LINE = '??:0';

/** An address in a file, as perf prints it: hexadecimal, and the symbol with its offset: "main+0x1f". */
export interface PerfAddress {
	readonly address: string;
	readonly symbol: string;
}

/**
 * The functions at each address of a file, root first: the one that was compiled, then what was inlined
 * there. Addresses that nothing is known of are left out. Throws TstraceError where there is no addr2line.
 */
export async function functionsAt(
	file: string,
	places: readonly PerfAddress[],
	notify: Notify,
): Promise<Map<string, string[]>> {
	if (!isRegularFile(file)) return new Map();
	const addresses = places.map(({ address }) => address).filter((text) => isAddress(text));
	const found = await ask(file, addresses, notify);
	const missed = places.filter(({ address }) => found.get(address)?.lost);
	for (const [address, moved] of await addressesBySymbol(file, missed, notify)) {
		const again = (await ask(file, [moved], notify)).get(moved);
		if (again) found.set(address, again);
	}
	const functions = new Map<string, string[]>();
	for (const [address, { names }] of found) {
		if (names.length > 0 && !(names.length === 1 && names[0] === NOWHERE)) {
			functions.set(address, names);
		}
	}
	return functions;
}

interface Answer {
	/** Root first. */
	readonly names: string[];
	/** Some function's name or line is not known. */
	lost: boolean;
}

async function ask(
	file: string,
	addresses: readonly string[],
	notify: Notify,
): Promise<Map<string, Answer>> {
	const answers = new Map<string, Answer>();
	let next = 0;
	let answer: Answer = { names: [], lost: false };
	/** Lines come in twos, function and place, after one with the address. */
	let name: string | undefined;
	const onLine = (line: string): void => {
		if (name === undefined && line.startsWith('0x')) {
			answer = { names: [], lost: false };
			const address = addresses[next++];
			if (address !== undefined) answers.set(address, answer);
		} else if (name === undefined) {
			name = line;
		} else {
			answer.names.unshift(name);
			answer.lost ||= name === NOWHERE && line === NO_LINE;
			name = undefined;
		}
	};
	const options = ['-e', file, '-a', '-i', '-f', '-s', '-C'];
	await run('addr2line', options, `${addresses.join('\n')}\n`, onLine, notify);
	return answers;
}

/**
 * For places that addr2line does not know: older versions of perf print addresses in memory; the
 * symbol's own address in the file, from nm, and the offset say where it is.
 */
async function addressesBySymbol(
	file: string,
	places: readonly PerfAddress[],
	notify: Notify,
): Promise<Map<string, string>> {
	const wanted = new Map<string, { address: string; offset: bigint }[]>();
	for (const { address, symbol } of places) {
		const [, name, offset] = /^(.+)\+0x([0-9a-f]{1,16})$/.exec(symbol) ?? [];
		if (name === undefined) continue;
		const same = wanted.get(name) ?? [];
		same.push({ address, offset: BigInt(`0x${offset}`) });
		wanted.set(name, same);
	}
	const moved = new Map<string, string>();
	if (wanted.size === 0) return moved;
	const onLine = (line: string): void => {
		const [, start, name = ''] = /^([0-9a-f]+) . (.*)$/.exec(line) ?? [];
		if (start === undefined) return;
		for (const { address, offset } of wanted.get(name) ?? []) {
			moved.set(address, (BigInt(`0x${start}`) + offset).toString(16));
		}
		wanted.delete(name);
	};
	await run('nm', [file], '', onLine, notify);
	return moved;
}

/** Runs a program of binutils on a file; no shell. What it answered in time is used. */
async function run(
	program: string,
	args: readonly string[],
	input: string,
	onLine: (line: string) => void,
	notify: Notify,
): Promise<void> {
	// It would ask servers for what is missing here.
	const env = { ...process.env, DEBUGINFOD_URLS: '' };
	const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
	const failed = new Promise<never>((_, reject) => {
		child.once('error', (error) => reject(notStarted(program, error)));
	});
	const timer = setTimeout(() => {
		notify(`${program} was stopped after ${TIMEOUT_s} s; other frames keep the names from perf`);
		child.kill('SIGKILL');
	}, TIMEOUT_s * 1000);
	try {
		if (child.pid === undefined) await failed;
		// It may end before it has read everything.
		child.stdin.on('error', () => undefined);
		child.stdin.end(input);
		const lines = readLines(bounded(child), (bytes, from, to) => {
			onLine(bytes.toString('utf8', from, to));
		});
		await Promise.race([lines, failed]);
	} finally {
		clearTimeout(timer);
		child.kill('SIGKILL');
	}
}

async function* bounded(child: ChildProcess): AsyncGenerator<Buffer> {
	let bytes = 0;
	for await (const chunk of child.stdout ?? Readable.from([])) {
		bytes += chunk.length;
		if (bytes > MAX_ANSWER_BYTES) return;
		yield chunk;
	}
}

function notStarted(program: string, error: Error): TstraceError {
	const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
	const why = missing
		? 'is not installed: install binutils'
		: 'cannot be started: check its permissions';
	return new TstraceError(`${program} ${why}, or leave out --inline`, String(error));
}

const isAddress = (text: string): boolean => /^[0-9a-f]{1,16}$/.test(text);

/** Names come from strangers: no pipe, no device, and no folder. */
function isRegularFile(path: string): boolean {
	try {
		return path.startsWith('/') && statSync(path).isFile();
	} catch {
		return false;
	}
}
