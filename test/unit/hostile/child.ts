/**
 * Runs parsers over files, and says before each what comes, so that whoever started this knows in
 * which one it hangs or runs out of memory.
 *
 * usage: child.js JOB FOLDER; what it writes is in FOLDER
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { FRAME_LABOURS, INDEXED_LABOURS, LABOURS, LIES, validElf, validGo } from './elf-corpus.js';
import { damaged } from './mutations.js';
import { PARSER_NAMES, PROGRAM_PARSERS, parse, TABLE_PARSERS } from './parsers.js';
import { TEXTS, validTexts } from './text-corpus.js';

export interface Message {
	/** What begins now; undefined: all is done. */
	readonly step?: string;
	readonly failure?: string;
	/** The most memory that this process had so far. */
	readonly peak_kb?: number;
}

const send = (message: Message): void => {
	process.send?.({ ...message, peak_kb: process.resourceUsage().maxRSS });
};

const [job = '', folder = ''] = process.argv.slice(2);
const scratch = join(folder, 'file');

async function attempt(step: string, work: () => Promise<void>): Promise<void> {
	send({ step });
	try {
		await work();
	} catch (error) {
		const { stack, cause } = error as Error;
		send({ failure: `${step}: ${cause instanceof Error ? cause.stack : ''} ${stack}` });
	}
}

async function corpus(
	files: Readonly<Record<string, () => Buffer>>,
	parsers: readonly string[] = PARSER_NAMES,
): Promise<void> {
	for (const [name, make] of Object.entries(files)) {
		send({ step: `making ${name}` });
		const bytes = make();
		for (const parser of parsers) {
			await attempt(`${parser} reads ${name}`, () => parse(parser, bytes, scratch));
		}
	}
}

const MUTATIONS = 60;

/** What is valid is changed here and there; every parser gets it, whosever it is. */
async function mutations(): Promise<void> {
	const files = {
		...(await validTexts()),
		'x64 ELF': validElf(),
		'arm64 ELF': validElf(183),
		'Go ELF': validGo(),
		'arm64 Go ELF': validGo(183),
	};
	for (const [name, bytes] of Object.entries(files)) {
		for (const parser of PARSER_NAMES) {
			await attempt(`${parser} reads damaged ${name}`, async () => {
				await parse(parser, bytes, scratch);
				const property = fc.asyncProperty(damaged(bytes), (changed) =>
					parse(parser, changed, scratch),
				);
				await fc.assert(property, { numRuns: MUTATIONS });
			});
		}
	}
}

const JOBS: Readonly<Record<string, () => Promise<void>>> = {
	lies: () => corpus(LIES),
	// To the others they are a long line, or many short ones: those that are made for them are in TEXTS.
	labours: () => corpus(LABOURS, PROGRAM_PARSERS),
	'labours of frames': async () => {
		await corpus(FRAME_LABOURS, TABLE_PARSERS);
		await corpus(INDEXED_LABOURS, PROGRAM_PARSERS);
	},
	texts: () => corpus(TEXTS),
	mutations,
};

await JOBS[job]?.();
send({});
