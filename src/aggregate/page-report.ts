/** What a page says above its stacks, as the tool made it. Pure values: plain text, which is escaped where it is shown. */

/** Colours by what they mean; text says the same: time that is lost, is used, tells nothing. */
export type Tone = 'cool' | 'hot' | 'warm' | 'pale' | 'quiet' | 'faint';

export interface PageReport {
	readonly title: string;
	/** What it all comes to: it is the largest text. */
	readonly statement: string;
	/** Sentences below it. */
	readonly remarks: readonly string[];
	readonly facts: readonly PageFact[];
	/** What else to know: what was lost, which names are missing. */
	readonly notices?: readonly string[];
	readonly sections: readonly PageSection[];
}

export interface PageFact {
	readonly name: string;
	readonly value: string;
	/** To be typed. */
	readonly isCommand?: boolean;
}

export interface PageSection {
	readonly title: string;
	/** How to read it, or that there is nothing; '': that is plain. */
	readonly note: string;
	readonly blocks: readonly PageBlock[];
}

export type PageBlock = ShareBar | PageTable | PageEntries | Timeline;

/** One bar: what a whole is made of. */
export interface ShareBar {
	readonly type: 'shares';
	/** From left to right, of no matter which unit; none is below 0. */
	readonly shares: readonly {
		readonly name: string;
		readonly value: number;
		readonly tone: Tone;
	}[];
	/** What tones mean, with an amount. */
	readonly legend: readonly { readonly tone: Tone; readonly text: string }[];
}

export interface PageTable {
	readonly type: 'table';
	readonly columns: readonly { readonly name: string; readonly isText?: boolean }[];
	readonly rows: readonly {
		readonly tone: Tone;
		/** One for each column: a line, or several. */
		readonly cells: readonly (string | readonly string[])[];
		/** By which bars of a timeline refer to it. */
		readonly number?: number;
	}[];
}

/** Headings, each with named lists below it. */
export interface PageEntries {
	readonly type: 'entries';
	readonly entries: readonly {
		readonly title: string;
		readonly lists: readonly { readonly name: string; readonly values: readonly string[] }[];
	}[];
}

/** Bars over a stretch of time, one lane below the other. */
export interface Timeline {
	readonly type: 'timeline';
	readonly length_ns: number;
	readonly lanes: readonly { readonly name: string; readonly bars: readonly TimelineBar[] }[];
}

export interface TimelineBar {
	/** From where the timeline begins. */
	readonly begin_ns: number;
	readonly end_ns: number;
	readonly tone: Tone;
	/** As much of it is shown as the bar has room for. */
	readonly label: string;
	/** All that there is to say of it. */
	readonly text: string;
	/** Of a row in a table of this page. */
	readonly number: number;
}
