/** What the page is about, as it was embedded, made handy. */
import { amountText, shareText } from '../../render/amounts.js';
import { KINDS, type PageData } from '../../render/page-data.js';

/** A box of the flame graph; d3-flame-graph's datum. `hide` and `fade` are how it is told of a zoom. */
export interface PageBox {
	/** -1 for the root. */
	readonly frame: number;
	readonly weight: number;
	readonly self: number;
	readonly children: PageBox[];
	hide: boolean;
	fade: boolean;
}

export interface Recording extends PageData {
	readonly root: PageBox;
	readonly all: number;
	/** A function's colour as CSS has it. */
	colour(frame: number): string;
	/** What to call a function; "all" for the root. */
	name(frame: number): string;
	/** '' of most. */
	kind(frame: number): string;
	/** "1,234 samples, 41.2 %" */
	amount(value: number): string;
	share(value: number): string;
}

export function readRecording(element: Element): Recording {
	const data = JSON.parse(element.textContent ?? '') as PageData;
	const root = readBoxes(data);
	const all = root.weight;
	const share = (value: number) => shareText(all === 0 ? 0 : value / all);
	return {
		...data,
		root,
		all,
		colour: (frame) => `#${data.colours.slice(6 * frame, 6 * frame + 6)}`,
		name: (frame) => (frame < 0 ? 'all' : data.names[frame] || '(no name)'),
		kind: (frame) => KINDS[Number(data.kinds[frame])] ?? '',
		amount: (value) => `${amountText(value, data.countName)}, ${share(value)}`,
		share,
	};
}

function readBoxes({ boxes }: PageData): PageBox {
	const all = boxes.frame.map((frame, index) => ({
		frame,
		weight: boxes.weight[index] ?? 0,
		self: boxes.self[index] ?? 0,
		children: [] as PageBox[],
		hide: false,
		fade: false,
	}));
	for (const [index, parent] of boxes.parent.entries()) {
		const box = all[index];
		if (box) all[parent]?.children.push(box);
	}
	return all[0] as PageBox;
}
