/** What the results of a tool are that finds stacks: for its own output, and where they are met again. */

export interface StackTool {
	/** Stacks to draw leave as folded stacks where no terminal shows them; a report is text anywhere. */
	readonly use: 'to draw' | 'report';
	/** Of a picture. */
	readonly title: string;
	/** As the field colours them: https://www.brendangregg.com/FlameGraphs/offcpuflamegraphs.html; undefined: what suits the frames. */
	readonly palette: 'io' | 'mem' | undefined;
	/** What times are called in pprof; undefined: by their event. */
	readonly pprofType?: string;
	/** What folded stacks count, which they do not say, and what values are divided by for it. */
	readonly folded: { readonly unit: string; readonly divisor: number };
}
