/** How programs number system calls, and which they are told of: user space's side of bpf/lib/calls/calls.h. */
import { ABIS, type Call, callTables } from '../../abi/syscalls.js';
import { call_numbering } from '../../generated/common.js';

export const { CALL_NUMBERS } = call_numbering;
const { CALL_NR_BITS: NR_BITS, CALL_ABI_BITS: ABI_BITS } = call_numbering;

/** What the programs count apart from each other, as one number: see kind_of there. */
export function unpackKind(kind: number): Call & { errno: number } {
	return {
		nr: kind & (2 ** NR_BITS - 1),
		abi: ABIS[(kind >>> NR_BITS) & (2 ** ABI_BITS - 1)] ?? 'native',
		errno: kind >>> (NR_BITS + ABI_BITS),
	};
}

/** Indexes into the programs' tables of a call by its name, in both ABIs. */
export function indexesOf(name: string): number[] {
	return callTables().flatMap((table, abi) =>
		Object.entries(table)
			.filter(([, each]) => each === name)
			.map(([nr]) => abi * CALL_NUMBERS + Number(nr)),
	);
}

/** The call at an index into the programs' tables. */
export function callAt(index: number): Call {
	const compat = index >= CALL_NUMBERS;
	return { nr: index % CALL_NUMBERS, abi: compat ? '32-bit' : 'native' };
}

/** Constants of calls.h that have a number for each ABI. */
const SPECIAL_CALLS = {
	sigreturn_nr: ['rt_sigreturn'],
	exit_nr: ['exit'],
	exit_group_nr: ['exit_group'],
	/** Their child returns as well. */
	child_nr: ['clone', 'fork', 'vfork', 'clone3'],
} as const;
/** For what this architecture does not have. */
const NO_NUMBER = 0xffff_ffff;

/** An object that includes calls.h. */
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
