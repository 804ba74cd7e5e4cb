/** What results of tools that find stacks are: for the writer, and for the reader of folded stacks. */
import type { PaletteName } from './palettes.js';

export interface StackTool {
	/** Stacks to draw leave as folded stacks where no terminal shows them; a report is text anywhere. */
	readonly use: 'to draw' | 'report';
	/** Of a picture. */
	readonly title: string;
	/** As the field colours them: https://www.brendangregg.com/FlameGraphs/offcpuflamegraphs.html; undefined: what suits the frames. */
	readonly palette: PaletteName | undefined;
	/** What folded stacks count, which they do not say, and what values are divided by for it. */
	readonly folded: { readonly unit: string; readonly divisor: number };
}

const OFFCPUTIME: StackTool = {
	use: 'to draw',
	title: 'Off-CPU Time Flame Graph',
	palette: 'io',
	// As bcc's offcputime has it.
	folded: { unit: 'us', divisor: 1000 },
};

const PROFILE: StackTool = {
	use: 'to draw',
	title: 'CPU Flame Graph',
	palette: undefined,
	folded: { unit: 'samples', divisor: 1 },
};

const MEMLEAK: StackTool = {
	use: 'report',
	title: 'Memory Flame Graph',
	palette: 'mem',
	folded: { unit: 'bytes', divisor: 1 },
};

/** By name. */
export const STACK_TOOLS = { offcputime: OFFCPUTIME, profile: PROFILE, memleak: MEMLEAK } as const;

/** By a name that strangers may have written. */
export function stackToolNamed(name = ''): StackTool | undefined {
	return Object.hasOwn(STACK_TOOLS, name)
		? STACK_TOOLS[name as keyof typeof STACK_TOOLS]
		: undefined;
}
