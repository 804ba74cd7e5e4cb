/** How stacks are shown as a picture: what the user asked for, or what suits them. */
import type { Origin, StackProfile } from '../aggregate/stack-profile.js';
import type { PaletteName } from './palettes.js';

export { amountText, shareText } from './amounts.js';

export interface Look {
	readonly title: string;
	readonly subtitle: string;
	/** What values are, in words: "us", "samples"; '': they are shown without. */
	readonly countName: string;
	readonly palette: PaletteName;
	/** The root at the top: an icicle graph. */
	readonly inverted: boolean;
	/** Merged from the leaf. */
	readonly reverse: boolean;
	/** Narrower boxes are left out. */
	readonly minWidth_px: number;
	readonly width_px: number;
}

export const DEFAULT_WIDTH_PX = 1200;
/** flamegraph.pl's. */
const DEFAULT_MIN_WIDTH_PX = 0.1;

/** What suits a recording. `kinds`: whether its frames are known to be the kernel's, Python's, … */
export function suitableLook({ frames, origin, tool }: StackProfile): Look {
	let kinds = false;
	for (let frame = 0; frame < frames.size && !kinds; frame++) kinds = frames.kind(frame) !== 'user';
	const onCpu = ON_CPU_EVENT.test(origin.event ?? '');
	const { title, palette } = tool ?? {
		title: onCpu ? 'CPU Flame Graph' : 'Flame Graph',
		palette: undefined,
	};
	return {
		title,
		subtitle: subtitleOf(origin),
		countName: origin.unit ?? '',
		palette: palette ?? (kinds ? 'kind' : 'hot'),
		inverted: false,
		reverse: false,
		minWidth_px: DEFAULT_MIN_WIDTH_PX,
		width_px: DEFAULT_WIDTH_PX,
	};
}

/** Events that count while a CPU runs, as perf names them. */
const ON_CPU_EVENT = /^(cpu-clock|task-clock|cycles|cpu-cycles)(:|$)/;

function subtitleOf({ command, host, start, duration_s, event }: Origin): string {
	return [
		command?.join(' '),
		event,
		host,
		start && utcText(start),
		duration_s === undefined ? undefined : `${Number(duration_s.toFixed(3))} s`,
	]
		.filter((part) => part !== undefined && part !== '')
		.join(' · ');
}

/** "2025-07-01 12:00:00 UTC"; what is no time of ours stays as it is. */
export function utcText(start: string): string {
	return start.replace(/^(\d+-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/, '$1 $2 UTC');
}
