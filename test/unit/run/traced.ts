/** Runs of a tool whose reader the test writes: no kernel is asked, and time passes only as the test says. */
import fs, { existsSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { Findings } from '../../../src/aggregate/report.js';
import type { RawValues } from '../../../src/options/typed-option.js';
import type { Note, Reader } from '../../../src/reader.js';
import { commonSettings } from '../../../src/run/common-options.js';
import { run } from '../../../src/run/run.js';
import { definePlainTool, type TextView, type ToolKind } from '../../../src/tool.js';
import { temporaryFolder } from '../symbolize/support.js';

const STDERR = 2;
const BEGIN = Date.UTC(2026, 2, 4, 5, 6, 7);
const STEP_MS = 50;
/** What is to be done at a moment is done within so many turns of node's loop. */
const TURNS = 4;
const MOST_MS = 600_000;

/** All clocks and timers, and the CPU time of tstrace's own. */
export class Time {
	passed_ms = 0;
	/** How much of a CPU tstrace takes from now on. */
	ownShare = 0;
	#own_ms = 0;
	readonly #t: TestContext;

	constructor(t: TestContext) {
		this.#t = t;
		t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: BEGIN });
		t.mock.method(performance, 'now', () => this.passed_ms);
		t.mock.method(process.hrtime, 'bigint', () => BigInt(this.passed_ms) * 1_000_000n);
		t.mock.method(process, 'cpuUsage', () => ({ user: this.#own_ms * 1000, system: 0 }));
	}

	pass(time_ms: number): void {
		for (let left_ms = time_ms; left_ms > 0; left_ms -= STEP_MS) {
			const step_ms = Math.min(STEP_MS, left_ms);
			this.passed_ms += step_ms;
			this.#own_ms += step_ms * this.ownShare;
			this.#t.mock.timers.tick(step_ms);
		}
	}

	/** Passes until this is over. */
	async until(over: Promise<unknown>): Promise<void> {
		let isOver = false;
		const end = () => {
			isOver = true;
		};
		over.then(end, end);
		while (!isOver) {
			for (let turn = 0; turn < TURNS; turn++) await nextLoop();
			if (this.passed_ms > MOST_MS) throw new Error('it does not end');
			if (!isOver) this.pass(STEP_MS);
		}
	}
}

interface Asked<F extends Findings> {
	/** One for each round. */
	readonly reader: (note: Note) => Reader<F>;
	readonly view?: Partial<TextView<F>>;
	readonly kind?: ToolKind;
	/** The common options. */
	readonly raw?: RawValues;
	readonly command?: readonly string[];
	readonly interval_s?: number;
	readonly count?: number;
	/** How often COMMAND is run, and what becomes of what each time was found. */
	readonly times?: number;
	readonly joined?: (all: readonly F[]) => F;
}

interface Traced {
	/** The exit status; undefined: it has thrown. */
	readonly status: number | undefined;
	readonly error: unknown;
	/** The result, as it is written. */
	readonly written: string;
	/** What is on standard error. */
	readonly said: string;
}

/** Runs to the end; time passes unless there is a COMMAND. */
export async function traced<F extends Findings>(
	t: TestContext,
	time: Time,
	{
		reader,
		view = {},
		kind = 'table',
		raw = {},
		command = [],
		interval_s,
		count,
		...more
	}: Asked<F>,
): Promise<Traced> {
	const output = join(temporaryFolder(), 'result');
	const tool = definePlainTool({
		...{ name: 'counter', summary: '', description: '', examples: [], kind },
		options: () => ({}),
		settings: () => null,
		subject: () => 'what there is',
		withoutBpf: {
			reader: (_settings, _subjects, note) => reader(note),
			...{ because: 'nothing is asked', unseen: 'what nobody sees' },
		},
		repeated: { times: () => more.times ?? 1, joined: more.joined ?? (([first]) => first as F) },
		text: () => ({ report: async () => 'result\n', ...view }) as TextView<F>,
	});
	let said = '';
	const { writeSync } = fs;
	const write = t.mock.method(fs, 'writeSync', (fd: number, bytes: Uint8Array, at = 0) => {
		if (fd !== STDERR) return writeSync(fd, bytes, at);
		said += new TextDecoder().decode(bytes.subarray(at));
		return bytes.length - at;
	});
	const stderr = Object.getOwnPropertyDescriptor(process, 'stderr') as PropertyDescriptor;
	syncBuiltinESMExports();
	const common = commonSettings({ output, ...raw }, command, kind);
	const args = ['counter', ...command];
	const running = run(tool, null, { interval_s, count, common, command, args });
	try {
		if (command.length === 0) await time.until(running);
		const status = await running.catch((error) => ({ error }));
		return {
			status: typeof status === 'number' ? status : undefined,
			error: typeof status === 'number' ? undefined : status.error,
			written: existsSync(output) ? readFileSync(output, 'utf8') : '',
			said,
		};
	} finally {
		write.mock.restore();
		syncBuiltinESMExports();
		Object.defineProperty(process, 'stderr', stderr);
	}
}

/** Results that were written as JSON. */
export const objectsIn = ({ written }: Traced) =>
	written
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
