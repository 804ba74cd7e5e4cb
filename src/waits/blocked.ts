/** What the tools that show blocked time with who ended it have in common. */

import type { CapturedStack } from '../aggregate/stack.js';
import type { StackFindings, StackRow } from '../aggregate/stack-rows.js';
import { BLOCKED } from '../aggregate/wait-parts.js';
import type { Subjects } from '../bpf/filter.js';
import { off_cpu as layout } from '../generated/off_cpu.js';
import type { BpfObject } from '../loader/object.js';
import { filtersOf } from '../options/stack-filter.js';
import {
	groupingOption,
	stackOptions,
	stackSettings,
	stackView,
} from '../options/stack-options.js';
import type { ValuesOf } from '../options/typed-option.js';
import type { Note } from '../reader.js';
import type { StackView } from '../render/stack-text.js';
import type { UnwindTables } from '../symbolize/walks/unwind-tables.js';
import { sampledText, waitOptions, waitSettings } from './options.js';
import { planWaits, type WaitChoice } from './plan.js';
import { type WaitSettings, Waits } from './waits.js';

type Layout = typeof layout;

interface BlockedSettings extends WaitSettings, WaitChoice, StackView {}

const options = () => ({
	...waitOptions(),
	by: groupingOption(),
	...stackOptions(),
});

/** What a reader is opened with: see `reader` in tool.ts. */
type Opened = [
	object: BpfObject<Layout>,
	settings: BlockedSettings,
	subjects: Subjects,
	note: Note,
	tables: UnwindTables | undefined,
];

/** Of a tool that shows blocked time with the stacks of those who ended it. */
export const blockedTime = {
	options,
	kind: 'stacks',
	layout,
	otherNames: { '-m': '--min', '-M': '--max' },
	settings: (values: ValuesOf<ReturnType<typeof options>>): BlockedSettings => ({
		...stackSettings(values),
		...stackView(values),
		...waitSettings(values),
		states: { mask: 0, letters: false },
		hideIdle: false,
		wakers: 'stacks',
		followed: 0,
	}),
	subject: (settings: BlockedSettings) => `blocked time and who ends it (${sampledText(settings)})`,
	filters: (settings: BlockedSettings) => filtersOf(settings),
	plan: (object: BpfObject<Layout>, settings: BlockedSettings, subjects: Subjects, note: Note) =>
		planWaits(object, settings, subjects, note),
	reader: (...opened: Opened) => new Blocked(...opened),
} as const;

/** The same, with the stacks of those who ended it only. */
export const endedBlockedTime = {
	...blockedTime,
	reader: (...opened: Opened) => new WakersOnly(...opened),
} as const;

/** Blocked time is all there is: no other part. */
class Blocked extends Waits {
	constructor(...[object, settings, subjects, , tables]: Opened) {
		super(object, settings, subjects, tables);
	}

	override async read(...patience: Parameters<Waits['read']>): Promise<StackFindings> {
		const findings = await super.read(...patience);
		const stacks = findings.stacks.map((row): StackRow => ({ ...row, parts: [row.value] }));
		return { ...findings, stacks, parts: [BLOCKED] };
	}
}

/** User stacks are not shown, get no names, and no notices about them; what was waited for, the kernel's tell. */
class WakersOnly extends Blocked {
	override captured(): ReturnType<Waits['captured']> {
		const { ended, open, numbers } = super.captured();
		return {
			ended: ended.map(withoutUserStack),
			open: open.map(withoutUserStack),
			numbers,
		};
	}
}

const withoutUserStack = (stack: CapturedStack): CapturedStack => ({
	...stack,
	user: [],
	userEnd: undefined,
	lost: false,
});
