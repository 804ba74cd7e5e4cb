/** Waits out of the kernel, those that ended and those that were open at the end: for all tools of waits. */

import { deadlocks } from '../aggregate/deadlocks.js';
import { withoutIdle } from '../aggregate/idle.js';
import type { Lost } from '../aggregate/report.js';
import type { CapturedStack, CapturedWaker } from '../aggregate/stack.js';
import type { StackFindings, StackRow } from '../aggregate/stack-rows.js';
import type { WaitObject } from '../aggregate/wait-object.js';
import { blockedOf, WAIT_PARTS } from '../aggregate/wait-parts.js';
import type { Subjects } from '../bpf/filter.js';
import { depthOf, type StackSettings } from '../bpf/stacks/stacks.js';
import { StackSums } from '../bpf/stacks/sums.js';
import type { off_cpu as layout } from '../generated/off_cpu.js';
import { closeAll } from '../loader/close-all.js';
import { readU64 } from '../loader/layout.js';
import type { BpfObject } from '../loader/object.js';
import type { Patience, Reader } from '../reader.js';
import { humanTime } from '../render/units.js';
import type { NamingSettings } from '../symbolize/naming.js';
import { ProcessWatch } from '../symbolize/process-watch.js';
import type { UnwindTables } from '../symbolize/walks/unwind-tables.js';
import { deadlockText } from './deadlock-text.js';
import { WaitObjects, withFittingObjects } from './objects/objects.js';
import { OpenWaits } from './open-waits.js';
import { LOOK_PERIOD_MS, type WaitObserver, WaitRecords } from './records.js';
import { NOT_WOKEN, readWakers, UNSEEN_WAKER } from './wakers.js';

type Layout = typeof layout;

export interface WaitSettings extends StackSettings, NamingSettings {
	/** 0: every wait. */
	readonly period_usec: number;
	/** Also waits that were open when tracing began, or when it ended. */
	readonly edges: boolean;
	readonly hideIdle: boolean;
	/** Who ended them: who that is, or where they were, too; then only blocked time counts. */
	readonly wakers: 'who' | 'stacks' | undefined;
	/** With their stacks: of how many wakers of a wait, one behind the other, is told what they did meanwhile. */
	readonly followed: number;
}

/** Before they have names. */
interface CapturedWaits {
	readonly ended: CapturedStack[];
	readonly open: CapturedStack[];
	/** Where waits come one by one: of each that ended, the number by which an observer knows it. */
	readonly numbers: readonly number[];
}

export const MAX_PERIOD_USEC = 1_000_000;
const SLOW_DOWN_FACTOR = 4;

export class Waits implements Reader<StackFindings> {
	protected readonly object: BpfObject<Layout>;
	protected readonly sums: StackSums;
	protected readonly processes: ProcessWatch;
	/** From when on waits are counted. */
	protected begun_ns = 0;
	/** Up to when waits are counted; 0: tracing goes on. */
	protected ended_ns = 0;
	readonly #settings: WaitSettings;
	readonly #openWaits = new OpenWaits();
	#period_ns: number;
	/** Where waits come one by one, and not as sums. */
	readonly #records: WaitRecords | undefined;
	/** Undefined: they are not looked for. */
	readonly #waitObjects: WaitObjects | undefined;
	#objects: ReadonlyMap<bigint, WaitObject> = new Map();

	constructor(
		object: BpfObject<Layout>,
		settings: WaitSettings,
		subjects: Subjects,
		tables: UnwindTables | undefined,
		observer?: WaitObserver,
	) {
		this.object = object;
		this.#settings = settings;
		this.#period_ns = settings.period_usec * 1000;
		object.setVariable('period_ns', this.#period_ns);
		// Who wakes those that were chosen may be anybody.
		const everybody = settings.wakers === 'stacks';
		this.processes = new ProcessWatch(subjects, tables, { everybody });
		this.sums = new StackSums(object);
		this.sums.open();
		const { followed, maxStacks } = settings;
		if (followed > 0)
			this.#records = new WaitRecords(object, { followed, maxChains: maxStacks }, observer);
		this.#waitObjects = settings.kernel ? new WaitObjects(object) : undefined;
	}

	begin(): void {
		this.processes.begin();
		this.#waitObjects?.begin();
	}

	begun(): void {
		// Waits that were there already count from then on; 0: nobody has looked for them.
		const seeded_ns = readU64(this.object.variableBytes('begun_ns'), 0);
		this.begun_ns = seeded_ns || Number(process.hrtime.bigint());
		if (this.#records) this.#records.from_ns = this.begun_ns;
	}

	get drainPeriod_ms(): number | undefined {
		return this.#records && LOOK_PERIOD_MS;
	}

	drain(): void {
		this.processes.drain();
		this.#records?.drain();
	}

	/** What was kept with a shorter period stays as it is: each wait counts by its own chance. */
	slowDown(): string | undefined {
		const period_ns = this.#period_ns * SLOW_DOWN_FACTOR;
		if (this.#settings.period_usec === 0 || period_ns > MAX_PERIOD_USEC * 1000) return undefined;
		this.#period_ns = period_ns;
		this.object.setVariable('period_ns', period_ns);
		return `tstrace now samples waits shorter than ${humanTime(period_ns)}`;
	}

	end(): void {
		this.walkOpen();
		this.processes.end();
	}

	/** From now on no program counts. What is open is counted up to the first call, however often this is called. */
	protected stopCounting(): void {
		if (this.ended_ns > 0) return;
		this.ended_ns = Number(process.hrtime.bigint());
		this.object.setVariable('ended_ns', this.ended_ns);
	}

	/** After `walkOpen`: waits that end from now on are counted again. */
	countAgain(): void {
		this.ended_ns = 0;
		this.object.setVariable('ended_ns', 0);
	}

	/** No wait that ends from now on is counted; walks the user stacks of those that are open. */
	walkOpen(): void {
		this.stopCounting();
		const open = this.#settings.edges ? this.object.runIterator('end_waiting') : undefined;
		// What they forked, executed and loaded up to now, before it is looked what their addresses mean.
		this.processes.take();
		const depth = depthOf(this.#settings);
		// At once: the longer it takes, the more of them go on.
		if (open)
			this.#openWaits.take(open, (thread) =>
				this.processes.walkWaiting(thread, this.ended_ns, depth),
			);
	}

	/** Waits that ended since the last call, and those that were open at the last `walkOpen`. */
	captured(): CapturedWaits {
		const snapshot = this.sums.read();
		snapshot.objects = this.#objects;
		const { wakers } = this.#settings;
		if (wakers) snapshot.wakers = readWakers(this.object, snapshot);
		// If the period was raised meanwhile, errors are overstated.
		const options = { parts: WAIT_PARTS.length, period_ns: this.#period_ns };
		this.#records?.drain();
		const records = this.#records?.captured(snapshot);
		const ended = records?.stacks ?? this.sums.take(snapshot, options);
		const open = this.#openWaits.captured(snapshot, this.begun_ns, this.ended_ns);
		const numbers = records?.numbers ?? [];
		if (!wakers) return { ended, open, numbers };
		return {
			ended: ended.map(woken(UNSEEN_WAKER)),
			open: open.map(woken(NOT_WOKEN)),
			numbers,
		};
	}

	async read(patience?: Patience): Promise<StackFindings> {
		await this.readObjects();
		const { ended, open } = this.captured();
		const captured = [...ended, ...open];
		const { debuginfod } = this.#settings;
		const naming = { maxDepth: depthOf(this.#settings), debuginfod, patience };
		const { stacks, notices } = await this.named(captured, naming);
		return {
			kind: 'stacks',
			unit: 'ns',
			noun: 'wait',
			about: {
				period_ns: this.#period_ns,
				...(this.#settings.followed > 0 ? { hops: this.#settings.followed + 1 } : {}),
			},
			parts: WAIT_PARTS,
			...this.#shown(stacks),
			notices: [...notices, ...this.notices()],
		};
	}

	/** Rows, with those objects that the waits were for. */
	protected async named(
		stacks: readonly CapturedStack[],
		options: Parameters<ProcessWatch['name']>[1],
	): ReturnType<ProcessWatch['name']> {
		const named = await this.processes.name(stacks, options);
		return { ...named, stacks: withFittingObjects(named.stacks) };
	}

	/** What was waited for, for `captured`. Tracing has ended. */
	protected async readObjects(): Promise<void> {
		if (this.#waitObjects) this.#objects = await this.#waitObjects.read(this.processes);
	}

	/** What the user should know of them, and of who waits for whom for ever. */
	protected notices(): string[] {
		return [
			...(this.#waitObjects?.notices() ?? []),
			...deadlocks(this.#openWaits.forMutexes).map(deadlockText),
		];
	}

	/** Without threads that had nothing to do, if that is asked for. */
	#shown(rows: readonly StackRow[]): Pick<StackFindings, 'stacks' | 'leftOut'> {
		if (!this.#settings.hideIdle) return { stacks: rows };
		const duration_ns = this.ended_ns - this.begun_ns;
		return withoutIdle(rows, { duration_ns, stayed: this.#openWaits.stayed });
	}

	lost(): Lost {
		return { ...this.processes.lost(), ...this.#records?.lost() };
	}

	close(): void {
		closeAll([
			() => this.#waitObjects?.close(),
			() => this.processes.close(),
			() => this.sums.close(),
			() => this.#records?.close(),
		]);
	}
}

/** Stacks that were blocked and have no waker get this one. In place: there may be 100,000. */
const woken = (otherwise: CapturedWaker) => (stack: CapturedStack) =>
	stack.waker || blockedOf(stack) === 0 ? stack : Object.assign(stack, { waker: otherwise });
