/** For each call: what its programs take, and how it is written. */
import { ABIS, type Call, callName, callTables } from '../../abi/syscalls.js';
import { CALL_NUMBERS } from '../../bpf/calls/calls.js';
import { trace as layout } from '../../generated/trace.js';
import type { Btf } from '../../loader/btf.js';
import {
	type Argument,
	argumentOf,
	type Capture,
	captureOf,
	type Limits,
	PARENT,
	RESULT_FILE,
} from './argument-kinds.js';
import { declaredArguments, wordOf } from './kernel-formats.js';
import { SAME_AS, SIGNATURES, SIGNATURES_OF_32_BIT } from './signatures.js';
import { type ShownStruct, structOf } from './structs.js';

const { CAPTURES } = layout.enums.capture_limit;
/** Where nobody says how many arguments a call has. */
const ALL_ARGUMENTS = 6;
/** All calls that have a name; numbers that are no calls are a stranger's. */
const MAX_PLANS = 2048;
/** What these hand over is of the memory that they replace. */
const REPLACING = ['execve', 'execveat'];
/** Kinds whose structure is not in their word. */
const STRUCT_OF: Readonly<Record<string, string>> = {
	epolled: 'epoll_event',
	pollfds: 'pollfd',
	futextime: 'timespec',
	fcntlarg: 'flock',
	mqattr: 'mq_attr',
};
/** They are more than a structure: what they are without it is still said. */
const BY_OTHERS = ['futextime', 'fcntlarg', 'mqattr'];
/** A 32-bit program's structures are others; what it has the same are bytes and strings. */
const NOT_OF_32_BIT = ['vec', 'vecout', 'msg', 'msgs', 'sockaddrout'];

const RETURNS: Readonly<Record<string, CallPlan['returns']>> = {
	'=x': 'address',
	'=fd': 'descriptor',
	'=o': 'octal',
	'=int': 'int',
	'=fcntl': 'fcntl',
};

/** One argument: what it is, the type that it points to, and what is taken for it. */
interface PlannedArgument {
	readonly argument: Argument;
	readonly struct: ShownStruct | undefined;
	readonly capture: Capture | undefined;
}

export interface CallPlan {
	/** "openat", "read (32-bit)". */
	readonly name: string;
	readonly arguments: readonly PlannedArgument[];
	readonly captures: readonly Capture[];
	readonly returns:
		| 'number'
		| 'address'
		| 'narrow address'
		| 'descriptor'
		| 'octal'
		| 'int'
		| 'fcntl';
}

/** Plans calls by what the table, the kernel's formats and its types say. */
export class CallPlanner {
	readonly #structs = new Map<string, ShownStruct | undefined>();
	readonly #plans = new Map<string, CallPlan>();

	/** `btf`: the kernel's types, which are asked for when a call is planned first. */
	constructor(
		private readonly btf: () => Btf,
		private readonly limits: Limits,
	) {}

	/** Of one call; each is planned once. */
	plan(call: Call): CallPlan {
		const name = callName(call);
		let plan = this.#plans.get(name);
		if (!plan) {
			plan = this.#planned(call);
			if (this.#plans.size < MAX_PLANS) this.#plans.set(name, plan);
		}
		return plan;
	}

	#planned(call: Call): CallPlan {
		const compat = call.abi === '32-bit';
		const table = callTables()[compat ? 1 : 0];
		const plain = table[call.nr] ?? '';
		const words = wordsOf(plain, call.abi === 'native');
		const wide = RETURNS[words?.at(-1) ?? ''] ?? 'number';
		const returns = compat && wide === 'address' ? 'narrow address' : wide;
		const named = (words ?? Array<string>(ALL_ARGUMENTS).fill('hex')).filter(
			(word) => !word.startsWith('='),
		);
		const planned = named.slice(0, ALL_ARGUMENTS).map((word, i) => this.#argument(word, i, compat));
		const captures = this.limits.nothing
			? []
			: planned.flatMap(({ capture }) => (capture ? [capture] : []));
		if (REPLACING.includes(plain) && !this.limits.nothing) captures.push(PARENT);
		if (this.limits.files && !this.limits.nothing && returns === 'descriptor')
			captures.push(RESULT_FILE);
		return {
			name: callName(call),
			arguments: planned,
			captures: captures.slice(0, CAPTURES),
			returns,
		};
	}

	#argument(word: string, i: number, compat: boolean): PlannedArgument {
		const argument = argumentOf(word);
		const { kind, detail } = argument;
		const of =
			STRUCT_OF[kind] ??
			(/^(in|out|outif)$/.test(kind) && /^[a-z]\w*$/i.test(detail) && detail !== 'r'
				? detail
				: undefined);
		const struct = of === undefined ? undefined : this.#struct(of);
		const none = compat && (struct !== undefined || NOT_OF_32_BIT.includes(kind));
		if (none)
			return {
				argument: BY_OTHERS.includes(kind) ? argument : { kind: 'ptr', detail: '', times: 1 },
				struct: undefined,
				capture: undefined,
			};
		return { argument, struct, capture: captureOf(argument, i, this.limits, struct) };
	}

	#struct(name: string): ShownStruct | undefined {
		if (!this.#structs.has(name)) this.#structs.set(name, structOf(this.btf(), name));
		return this.#structs.get(name);
	}
}

/** The table knows best, then the kernel; undefined: neither does. */
function wordsOf(name: string, native: boolean): readonly string[] | undefined {
	if (name === '') return undefined;
	const other = Object.hasOwn(SAME_AS, name) ? SAME_AS[name] : undefined;
	const known = SIGNATURES.get(other ?? name);
	if (!native) return SIGNATURES_OF_32_BIT.get(name) ?? known?.map(narrowed);
	return known ?? declaredArguments(name)?.map(wordOf);
}

/** What is signed has 32 bits there, too, of which the upper ones of a register say nothing. */
const narrowed = (word: string) => (word === 'off' || word === 'long' ? 'int' : word);

/** How the programs get a plan: struct call_plan. */
export function encodePlan({ captures, arguments: planned, name }: CallPlan): Uint8Array {
	const { call_plan, capture } = layout.structs;
	const { fields } = call_plan;
	const bytes = new DataView(new ArrayBuffer(call_plan.size));
	bytes.setUint8(fields.arguments.offset, planned.length);
	const descriptors = planned.map(({ argument }, i) => (argument.kind === 'fd' ? 1 << i : 0));
	bytes.setUint8(
		fields.descriptors.offset,
		descriptors.reduce((all, bit) => all | bit, 0),
	);
	bytes.setUint8(fields.captures.offset, captures.length);
	bytes.setUint8(fields.at_exit.offset, captures.filter(({ atExit }) => atExit).length);
	bytes.setUint8(
		fields.replaces_memory.offset,
		REPLACING.includes(name.split(' ')[0] as string) ? 1 : 0,
	);
	for (const [i, { argument, kind, atExit, factor, unit, most }] of captures.entries()) {
		const at = fields.of.offset + i * capture.size;
		bytes.setUint8(at + capture.fields.argument.offset, argument);
		bytes.setUint8(at + capture.fields.kind.offset, kind);
		bytes.setUint8(at + capture.fields.at_exit.offset, atExit ? 1 : 0);
		bytes.setUint8(at + capture.fields.factor.offset, factor);
		bytes.setUint16(at + capture.fields.unit.offset, unit, true);
		bytes.setUint16(at + capture.fields.most.offset, most, true);
	}
	return new Uint8Array(bytes.buffer);
}

/** Whether one of the arguments is a path, a descriptor. */
export const hasPath = ({ arguments: planned }: CallPlan) =>
	planned.some(({ argument }) => argument.kind === 'path');
export const hasDescriptor = ({ arguments: planned }: CallPlan) =>
	planned.some(({ argument }) => argument.kind === 'fd');

/** The call of a record: number, and ABI above it. */
export function callOf(packed: number): Call {
	return { nr: packed & 0x3ffff, abi: ABIS[packed >>> 18] ?? 'native' };
}

/** Indexes of all calls that have a name. */
export function namedIndexes(): number[] {
	return callTables().flatMap((table, abi) =>
		Object.keys(table).map((nr) => abi * CALL_NUMBERS + Number(nr)),
	);
}
