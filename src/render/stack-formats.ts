/** Stacks of any tool, in the format of a picture or of another program. */
import type { PageReport } from '../aggregate/page-report.js';
import type { FrameKind } from '../aggregate/stack.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { renderFolded } from './folded.js';
import type { Look } from './picture-look.js';

/** Formats of stacks beside text and JSON. */
export const STACK_FORMATS = ['folded', 'svg', 'html', 'pprof', 'speedscope'] as const;
export type StackFormat = (typeof STACK_FORMATS)[number];

interface StackFormatOptions {
	readonly look: Look;
	/** Of folded stacks: see FoldedOptions. */
	readonly marks: ReadonlySet<FrameKind>;
	readonly divisor: number;
	readonly sorted: boolean;
	/** What a page says before it shows them. */
	readonly report?: PageReport | undefined;
}

/** What only a program reads: a terminal would show thousands of lines of it, or binary. */
export const isForPrograms = (format: string): boolean =>
	['svg', 'html', 'pprof', 'speedscope'].includes(format);

export type Pieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** In pieces. What draws or encodes is evaluated when it is asked for: most runs need none of it. */
export async function renderStackFormat(
	format: StackFormat,
	profile: StackProfile,
	options: StackFormatOptions,
): Promise<Pieces> {
	const { look, report } = options;
	switch (format) {
		case 'folded':
			return renderFolded(profile, options);
		case 'svg':
			return (await import('./svg.js')).renderSvg(profile, look);
		case 'html':
			return (await import('./html.js')).renderHtml(profile, look, report);
		case 'pprof':
			return (await import('./pprof.js')).renderPprof(profile);
		case 'speedscope':
			return (await import('./speedscope.js')).renderSpeedscope(profile);
	}
}
