/** System calls by name and number. */
import { arm64, ia32, x64 } from '../generated/syscalls.js';

type Table = Readonly<Record<number, string>>;

/** Stands for all numbers from there on, which are no calls. */
const NO_CALL = 2 ** 18 - 1;

/** By `enum call_abi`. */
export const ABIS = ['native', '32-bit', 'x32'] as const;
export type Abi = (typeof ABIS)[number];

/**
 * Of 32-bit arm there is no header; but which calls begin or end a thread, or return from a signal,
 * has to be known: arch/arm/tools/syscall.tbl.
 */
const arm32: Table = {
	1: 'exit',
	2: 'fork',
	119: 'sigreturn',
	120: 'clone',
	173: 'rt_sigreturn',
	190: 'vfork',
	248: 'exit_group',
	435: 'clone3',
};

/** The names of a 64-bit program's calls, and of a 32-bit program's. */
export function callTables(arch: string = process.arch): readonly [Table, Table] {
	return arch === 'arm64' ? [arm64, arm32] : [x64, ia32];
}

export interface Call {
	readonly nr: number;
	readonly abi: Abi;
}

/** "read", "read (32-bit)", "syscall_467", "syscall_515 (x32)". */
export function callName({ nr, abi }: Call, arch?: string): string {
	if (nr === NO_CALL) return '(no such call)';
	const [native, compat] = callTables(arch);
	// x32 has the native numbers, and from 512 on some of its own.
	const name = (abi === '32-bit' ? compat : native)[nr] ?? `syscall_${nr}`;
	return abi === 'native' ? name : `${name} (${abi})`;
}

/** All names, of 64-bit programs first, by number. */
export function allCalls(): ReadonlyArray<Call & { name: string }> {
	return callTables().flatMap((table, abi) =>
		Object.entries(table).map(([nr, name]) => ({
			nr: Number(nr),
			abi: ABIS[abi] as Abi,
			name,
		})),
	);
}

/** Whether a call, of whichever ABI, has this name. */
export function isNamed(call: Call, name: string): boolean {
	return callTables()[call.abi === '32-bit' ? 1 : 0][call.nr] === name;
}
