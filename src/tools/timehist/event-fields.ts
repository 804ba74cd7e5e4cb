/** Where the fields of timehist's events are, in words of four bytes, and what their numbers mean. */
import { timehist as layout } from '../../generated/timehist.js';

export const { size: BYTES, fields: FIELDS } = layout.structs.timehist_event;
const wordOf = (field: keyof typeof FIELDS) => FIELDS[field].offset / 4;
export const TIME = wordOf('time_ns');
export const WAIT = wordOf('wait_ns');
export const LATENCY = wordOf('latency_ns');
export const RUN = wordOf('run_ns');
export const TGID = wordOf('tgid');
export const STATE = wordOf('state');
/** cpu, type and flags, in this order, are one word. */
export const ABOUT = wordOf('cpu');
export const OTHER = wordOf('other_tgid');
export const FROM = wordOf('from_cpu');
export const IRQ = wordOf('irq');
/** context, interrupt and by_thread, in this order, are one word. */
export const CONTEXT = wordOf('context');
export const FRAMES = wordOf('frames');
export const {
	TIMEHIST_SWITCH: SWITCH,
	TIMEHIST_WAKEUP: WAKEUP,
	TIMEHIST_MIGRATE: MIGRATE,
	TIMEHIST_THROTTLED: THROTTLED,
} = layout.enums.timehist_type;
export const {
	TIMEHIST_WAIT_UNKNOWN: WAIT_UNKNOWN,
	TIMEHIST_LATENCY_UNKNOWN: LATENCY_UNKNOWN,
	TIMEHIST_RUN_UNKNOWN: RUN_UNKNOWN,
} = layout.enums.timehist_flag;

/** What they are called in JSON. */
export const EVENTS = {
	[SWITCH]: 'switch',
	[WAKEUP]: 'wakeup',
	[MIGRATE]: 'migrate',
	[THROTTLED]: 'throttled',
} as Readonly<Record<number, string>>;

/** Whether an event is about the thread itself; only the others say what did it, and have room for that. */
export const isOwn = (type: number) => type === SWITCH || type === THROTTLED;
