/** The stacks that calls are made at: bpf/lib/trace/call_stacks.h. Each is read and named once, before its first line. */
import type { Lost } from '../../aggregate/report.js';
import type { CapturedStack, Frame, NamedStack } from '../../aggregate/stack.js';
import { CALLER_FRAME } from '../../aggregate/stack-rows.js';
import type { Subjects } from '../../bpf/filter.js';
import { depthOf, type StackSettings, StackTables } from '../../bpf/stacks/stacks.js';
import { trace as layout } from '../../generated/trace.js';
import { closeAll } from '../../loader/close-all.js';
import type { BpfObject } from '../../loader/object.js';
import { framesOf } from '../../render/json-frames.js';
import { printable } from '../../render/terminal.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import type { UnwindTables } from '../../symbolize/walks/unwind-tables.js';
import type { CallRecord } from './record.js';

/** Stacks that are remembered; others are read and named anew. */
const MAX_REMEMBERED = 8192;
const LOST_STACK: Frame = { name: '[stack lost]', kind: 'user' };

/** A stack as lines and in JSON show it, once `CallStacks.name` has named it. */
export class CallStack {
	#named: NamedStack = { kernel: [], user: [] };
	/** A line for each frame, leaf first. */
	lines: Uint8Array = new Uint8Array(0);

	constructor(readonly captured: CapturedStack) {}

	name(named: NamedStack): void {
		this.#named = named;
		const names = named.user.map(({ name }) => name);
		if (named.callerMissing) names.splice(1, 0, CALLER_FRAME);
		if (this.captured.lost) names.push(LOST_STACK.name);
		if (named.cut) names.push(`[cut: ${named.cut}]`);
		this.lines = new TextEncoder().encode(names.map((name) => ` > ${printable(name)}\n`).join(''));
	}

	/** The root first, as stacks of other tools are. */
	toJSON(): object {
		const { user, cut, callerMissing } = this.#named;
		return {
			...framesOf([...(this.captured.lost ? [LOST_STACK] : []), ...user.toReversed()]),
			...(cut ? { cut } : {}),
			...(callerMissing ? { caller_missing: true } : {}),
		};
	}
}

export class CallStacks {
	readonly #tables: StackTables;
	readonly #processes: ProcessWatch;
	readonly #depth: number;
	readonly #most: number;
	/** By the stack's hash, then by which program of which process. */
	readonly #known = new Map<number, Map<number, CallStack>>();
	#count = 0;
	/** Those that have no names yet. */
	#unnamed: CallStack[] = [];

	/** The object is loaded, and not yet attached. `most`: stacks that are remembered. */
	constructor(
		object: BpfObject<typeof layout>,
		settings: StackSettings,
		subjects: Subjects,
		tables: UnwindTables | undefined,
		most = MAX_REMEMBERED,
	) {
		this.#most = most;
		this.#processes = new ProcessWatch(subjects, tables);
		this.#depth = depthOf(settings);
		this.#tables = new StackTables(object);
		this.#tables.open();
	}

	/** Before loading: has programs take stacks. */
	static configure(object: BpfObject<typeof layout>, settings: StackSettings): void {
		new StackTables(object).configure(settings);
		// A thread may be preempted in its walk, in the program for raw tracepoints of Linux 7.0.
		object.map('scratch').setMaxEntries(layout.enums.stack_constant.SCRATCHES);
		object.setConstants({ with_stacks: true });
	}

	begin(): void {
		this.#processes.begin();
	}

	drain(): void {
		this.#processes.drain();
	}

	end(): void {
		this.#processes.end();
	}

	lost(): Lost {
		return this.#processes.lost();
	}

	close(): void {
		closeAll([() => this.#processes.close(), () => this.#tables.close()]);
	}

	/** The stack of a call, which has its names after the next `name`; undefined: it has none. */
	of(call: CallRecord): CallStack | undefined {
		const at = call.stack;
		if (at === 0) return undefined;
		const [hash, program] = call.stackIds();
		const known = this.#known.get(hash)?.get(program);
		if (known) return known;
		const stack = new CallStack(this.#captured(call, call.u64At(call.textAt(at))));
		this.#unnamed.push(stack);
		if (this.#count >= this.#most) {
			this.#known.clear();
			this.#count = 0;
		}
		const ofHash = this.#known.get(hash) ?? new Map<number, CallStack>();
		this.#known.set(hash, ofHash.set(program, stack));
		this.#count++;
		return stack;
	}

	/** Names what `of` has met since. */
	async name(): Promise<void> {
		const stacks = this.#unnamed;
		if (stacks.length === 0) return;
		this.#unnamed = [];
		const captured = stacks.map((stack) => stack.captured);
		const named = await this.#processes.nameEach(captured, this.#depth);
		for (const [i, stack] of stacks.entries()) stack.name(named[i] as NamedStack);
	}

	/** What to know of the names of all of them. */
	notices(): string[] {
		return this.#processes.noticesOfEach();
	}

	#captured(call: CallRecord, hash: bigint): CapturedStack {
		return {
			...this.#tables.userStack(hash),
			kernel: [],
			...call.process(),
			// What it had mapped then: execve has taken all of that away as it returns.
			at_ns: call.end_ns - (call.isStackOfEntry ? call.duration_ns : 0),
			parts: [1],
			count: 1,
			variance: 0,
		};
	}
}
