/** What a tool whose entries are stacks prints of them: as text, and which of them as anything else. */
import { type StackFilter, shownStacks } from '../aggregate/keep-stacks.js';
import type { Grouping, StackFindings } from '../aggregate/stack-rows.js';
import type { RuntimeFrames } from '../runtimes/runtime.js';
import { renderStacks, type StackTextOptions } from './stacks.js';
import type { Style } from './terminal.js';

/** How stacks are shown, as the user asked for. */
export interface StackView extends StackFilter {
	readonly delimited: boolean;
	readonly annotated: boolean;
	readonly top: number;
	/** Undefined: what suits the format. */
	readonly by: Grouping | undefined;
	readonly runtimeFrames?: RuntimeFrames;
}

/** The text of a tool whose entries are stacks, and how they leave as anything else. */
export function stackText(
	settings: StackView,
	words: Pick<StackTextOptions, 'verb' | 'label' | 'telling' | 'blockedFor'>,
) {
	return {
		report: async (findings: StackFindings, style: Style) =>
			renderStacks(findings, { ...settings, style, ...words }),
		shown: (findings: StackFindings, json: boolean) => shownStacks(findings, settings, json),
		stacks: { ...settings, process: settings.by === 'process' },
	};
}
