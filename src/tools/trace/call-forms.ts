/** How each call is written; made when the first record of it comes. */
import type { LineBuffer } from '../../render/line-buffer.js';
import type { WriteArgument } from './basic-writers.js';
import { type CallPlan, type CallPlanner, callOf } from './plans.js';
import type { CallRecord } from './record.js';
import { shownArguments } from './special-writers.js';
import { type FileTexts, writerOf } from './writers.js';

const [COMMA, SPACE] = [0x2c, 0x20];
/** Numbers of calls are a stranger's: a program can ask for any. */
const MAX_FORMS = 4096;

interface CallForm {
	readonly plan: CallPlan;
	/** "openat(". */
	readonly begin: Uint8Array;
	writeArguments(lines: LineBuffer, call: CallRecord): void;
}

export class CallForms {
	readonly #forms = new Map<number, CallForm>();

	constructor(
		private readonly planner: CallPlanner,
		private readonly files: FileTexts,
	) {}

	/** `packed`: the call of a record. */
	of(packed: number): CallForm {
		let form = this.#forms.get(packed);
		if (!form) {
			const plan = this.planner.plan(callOf(packed));
			const writers = plan.arguments.map(({ argument, struct }) =>
				writerOf(argument, struct, this.files),
			);
			form = {
				plan,
				begin: new TextEncoder().encode(`${plan.name}(`),
				writeArguments: (lines, call) => {
					const last = plan.arguments.at(-1)?.argument;
					writeAll(writers, shownArguments(last, call, writers.length), lines, call);
				},
			};
			if (this.#forms.size >= MAX_FORMS) this.#forms.clear();
			this.#forms.set(packed, form);
		}
		return form;
	}
}

function writeAll(
	writers: readonly WriteArgument[],
	count: number,
	lines: LineBuffer,
	call: CallRecord,
): void {
	for (let i = 0; i < count; i++) {
		if (i > 0) {
			lines.byte(COMMA);
			lines.byte(SPACE);
		}
		(writers[i] as WriteArgument)(lines, call, i);
	}
}
