/** System calls by name and number, as bpf/lib/syscount/calls.h counts them. */
import { arm64, ia32, x64 } from '../generated/syscalls.js';

type Table = Readonly<Record<number, string>>;

/** bpf/lib/syscount/calls.h: CALL_NUMBERS, CALL_NR_BITS, CALL_ABI_BITS. */
export const CALL_NUMBERS = 512;
const NR_BITS = 18;
const ABI_BITS = 2;
/** Stands for all numbers from there on, which are no calls. */
const NO_CALL = 2 ** NR_BITS - 1;

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

/** What the programs count apart from each other, as one number: see kind_of in the BPF code. */
export function unpackKind(kind: number): Call & { errno: number } {
	return {
		nr: kind & NO_CALL,
		abi: ABIS[(kind >>> NR_BITS) & (2 ** ABI_BITS - 1)] ?? 'native',
		errno: kind >>> (NR_BITS + ABI_BITS),
	};
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

/** Indexes into the programs' tables of a call by its name, in both ABIs. */
export function indexesOf(name: string): number[] {
	return callTables().flatMap((table, abi) =>
		Object.entries(table)
			.filter(([, each]) => each === name)
			.map(([nr]) => abi * CALL_NUMBERS + Number(nr)),
	);
}

/** Whether a call, of whichever ABI, has this name. */
export function isNamed(call: Call, name: string): boolean {
	return callTables()[call.abi === '32-bit' ? 1 : 0][call.nr] === name;
}

/** The call at an index into the programs' tables. */
export function callAt(index: number): Call {
	const compat = index >= CALL_NUMBERS;
	return { nr: index % CALL_NUMBERS, abi: compat ? '32-bit' : 'native' };
}

/** Constants of bpf/lib/syscount/calls.h that have a number for each ABI. */
const SPECIAL_CALLS = {
	sigreturn_nr: ['rt_sigreturn'],
	exit_nr: ['exit'],
	exit_group_nr: ['exit_group'],
	/** Their child returns as well. */
	child_nr: ['clone', 'fork', 'vfork', 'clone3'],
} as const;
/** For what this architecture does not have. */
const NO_NUMBER = 0xffff_ffff;

/** An object that includes bpf/lib/syscount/calls.h. */
interface CallsObject {
	constantBytes(name: keyof typeof SPECIAL_CALLS | 'wanted_calls'): DataView;
	setConstants(constants: { filter_calls: boolean }): void;
}

/** Before loading: tells the programs which calls are special, and which are wanted if not all are. */
export function callConstants(
	object: CallsObject,
	wanted: readonly number[] | undefined,
	arch?: string,
): void {
	for (const [constant, names] of Object.entries(SPECIAL_CALLS)) {
		const memory = object.constantBytes(constant as keyof typeof SPECIAL_CALLS);
		for (const [abi, table] of callTables(arch).entries()) {
			for (const [i, name] of names.entries()) {
				const nr = Object.entries(table).find(([, each]) => each === name)?.[0];
				memory.setUint32((abi * names.length + i) * 4, Number(nr ?? NO_NUMBER), true);
			}
		}
	}
	object.setConstants({ filter_calls: wanted !== undefined });
	const mask = object.constantBytes('wanted_calls');
	for (const index of wanted ?? []) {
		const at = Math.floor(index / 8);
		mask.setUint8(at, mask.getUint8(at) | (1 << (index % 8)));
	}
}
