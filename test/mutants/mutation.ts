/** A plausible bug, as a change of one place in one file: pure. */

export interface Mutation {
	/** Names it: in the results, and for ID=. */
	readonly id: string;
	/** Below bpf/ or src/. */
	readonly file: string;
	/** What stands there now, exactly once in the file. */
	readonly from: string;
	readonly to: string;
	/** What goes wrong, for whom. */
	readonly bug: string;
	/** The test that is to catch it: a file below test/, without .test.ts. */
	readonly test: string;
	/** A part of the names of those of its tests that are to run; all of them without. */
	readonly only?: string;
}

/** The mutation says something about the code, or its test, that is not so: the table is wrong. */
export class Unfit extends Error {}

/** The file's text with the bug in it. Throws Unfit. */
export function applied(text: string, { file, from, to }: Mutation): string {
	if (from === to) throw new Unfit('it changes nothing');
	const places = text.split(from).length - 1;
	if (places !== 1) throw new Unfit(`its text is ${places} times in ${file}, not once`);
	return text.replace(from, () => to);
}

/**
 * Whether a mutation is among those asked for: by its id, its file (or a folder above that), or the tool
 * whose code it is in or whose test is to catch it. Nothing asked for is everything.
 */
export function isAskedFor(
	mutation: Mutation,
	asked: {
		readonly ids: readonly string[];
		readonly file: string | undefined;
		readonly tool: string | undefined;
	},
): boolean {
	const { ids, file, tool } = asked;
	if (ids.length > 0 && !ids.includes(mutation.id)) return false;
	if (file && mutation.file !== file && !mutation.file.startsWith(`${file.replace(/\/$/, '')}/`))
		return false;
	const ofTool = new RegExp(`^(bpf|src/tools|live|unit/tools)/${tool}\\b`);
	return !tool || ofTool.test(mutation.file) || ofTool.test(mutation.test);
}
