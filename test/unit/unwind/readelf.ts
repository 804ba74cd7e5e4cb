/** What another program, binutils' readelf, reads of a file's frames. */
import { execFileSync } from 'node:child_process';

export interface ReadelfRow {
	/** In memory, as it is linked. */
	readonly address: number;
	/** As readelf writes them: "rsp+8", "c-16", "u", "exp"; "" without a column. */
	readonly cfa: string;
	readonly fp: string;
	readonly ra: string;
	readonly sp: string;
}

interface ReadelfFunction {
	readonly start: number;
	readonly end: number;
	readonly rows: readonly ReadelfRow[];
}

interface ReadelfSegment {
	readonly offset: number;
	readonly address: number;
	readonly size_bytes: number;
}

const OUTPUT_BYTES = 2 ** 30;
const EXPRESSION_AND_REGISTER = / \((\w+)\)/g;

function run(...args: string[]): string {
	const options = { encoding: 'latin1', maxBuffer: OUTPUT_BYTES } as const;
	return execFileSync('readelf', args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
}

/** The code's segments. */
export function readelfSegments(path: string): ReadelfSegment[] {
	const line = /^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ [R ][W ]E/gm;
	return [...run('-lW', path).matchAll(line)].map(([, ...hex]) => {
		const [offset = 0, address = 0, size_bytes = 0] = hex.map((each) => Number.parseInt(each, 16));
		return { offset, address, size_bytes };
	});
}

/** Functions in the order of the section. Where instructions do nothing, the CIE's row holds. */
export function readelfFunctions(path: string): ReadelfFunction[] {
	const functions: ReadelfFunction[] = [];
	const commons = new Map<string, readonly ReadelfRow[]>();
	for (const paragraph of run('-wNF', path).split('\n\n')) {
		const [head = '', columns = '', ...lines] = paragraph.trim().split('\n');
		const rows = columns.includes('LOC') ? readRows(columns, lines) : [];
		const common = /^([0-9a-f]+) \w+ \w+ CIE /.exec(head)?.[1];
		if (common) commons.set(common, rows);
		const fn = / FDE cie=(\w+) pc=(\w+)\.\.(\w+)/.exec(head);
		if (!fn) continue;
		const [of = '', ...hex] = fn.slice(1);
		const [start = 0, end = 0] = hex.map((each) => Number.parseInt(each, 16));
		const initial = (commons.get(of) ?? []).map((row) => ({ ...row, address: start }));
		functions.push({ start, end, rows: rows.length > 0 ? rows : initial });
	}
	return functions;
}

function readRows(columns: string, lines: readonly string[]): ReadelfRow[] {
	const names = columns.trim().split(/ +/);
	const columnOf = (...wanted: string[]) => names.findIndex((name) => wanted.includes(name));
	const [fpAt, raAt, spAt] = [columnOf('rbp', 'x29'), columnOf('ra'), columnOf('rsp', 'sp')];
	return lines.map((line) => {
		// "r9 (r9)" is one column. Most lines have none, and node's are 400,000.
		const bare = line.includes('(') ? line.replace(EXPRESSION_AND_REGISTER, '') : line;
		const parts = bare.trim().split(/ +/);
		const [address = '', cfa = ''] = parts;
		const text = (at: number) => (at < 0 ? '' : (parts[at] ?? ''));
		const others = { fp: text(fpAt), ra: text(raAt), sp: text(spAt) };
		return { address: Number.parseInt(address, 16), cfa, ...others };
	});
}
