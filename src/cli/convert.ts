/** Runs a converter: where its result goes, and what it has to tell. */
import type { Converter, ResultDestination } from '../converter.js';
import type { OptionValues } from '../options/option-values.js';
import { printable, styleFor, wrapped } from '../render/terminal.js';
import { Output, say } from '../run/output.js';

/** Converts to the end. Throws UsageError, TstraceError and ClosedPipe. */
export async function convert(
	converter: Converter,
	files: readonly string[],
	values: OptionValues,
): Promise<void> {
	const path = values.output as string | undefined;
	const toFile = path !== undefined && path !== '-';
	const output = toFile ? Output.file(path) : Output.stdout();
	const here: ResultDestination = {
		terminal: output.isTerminal,
		style: styleFor(output.isTerminal ? process.stdout : {}),
		output: path,
		notify: (notice) => {
			if (values.quiet !== true) say(wrapped(`note: ${printable(notice)}`, '      '));
		},
		show: async (text) => {
			const screen = Output.stdout();
			if (toFile && screen.isTerminal) await screen.write(text(styleFor(process.stdout)));
		},
	};
	try {
		const pieces = await converter.convert(files, values, here);
		output.truncate();
		for await (const piece of pieces) await output.write(piece);
	} finally {
		output.close();
	}
}
