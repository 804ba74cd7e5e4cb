/** Runs a converter: where its result goes, and what it has to tell. */
import type { AnyConverter, ResultDestination } from '../converter.js';
import { type RawValues, valuesOf } from '../options/typed-option.js';
import { printable, styleFor, wrapped } from '../render/terminal.js';
import { fileOptions } from '../run/common-options.js';
import { Output, say } from '../run/output.js';

/** Converts to the end. Throws UsageError, TstraceError and ClosedPipe. */
export async function convert(
	converter: AnyConverter,
	files: readonly string[],
	raw: RawValues,
): Promise<void> {
	const { output: path, quiet } = valuesOf(fileOptions(), raw);
	const toFile = path !== undefined && path !== '-';
	const output = toFile ? Output.file(path) : Output.stdout();
	const here: ResultDestination = {
		terminal: output.isTerminal,
		style: styleFor(output.isTerminal ? process.stdout : {}),
		output: path,
		notify: (notice) => {
			if (!quiet) say(wrapped(`note: ${printable(notice)}`, '      '));
		},
		show: async (text) => {
			const screen = Output.stdout();
			if (toFile && screen.isTerminal) await screen.write(text(styleFor(process.stdout)));
		},
	};
	try {
		const pieces = await converter.run(files, raw, here);
		output.truncate();
		for await (const piece of pieces) await output.write(piece);
	} finally {
		output.close();
	}
}
