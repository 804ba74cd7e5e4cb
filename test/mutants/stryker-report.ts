/** What StrykerJS reports of a folder, as a result: pure. */
import type { FolderResult } from './results.js';

/** reports/mutation/mutation.json: the mutation testing report schema, version 1. */
interface StrykerReport {
	readonly files: Readonly<
		Record<
			string,
			{
				readonly source: string;
				readonly mutants: readonly {
					readonly status: string;
					readonly mutatorName: string;
					readonly replacement?: string;
					readonly location: { readonly start: Position; readonly end: Position };
				}[];
			}
		>
	>;
}

/** Both count from 1. */
interface Position {
	readonly line: number;
	readonly column: number;
}

const SHORTEN = 80;
const IN_SAMPLE = ['Killed', 'Timeout', 'RuntimeError', 'Survived', 'NoCoverage'];

/** One line, not longer than a cell can be. */
function short(text: string): string {
	const line = text.replace(/\s+/g, ' ').trim();
	return line.length > SHORTEN ? `${line.slice(0, SHORTEN - 1)}…` : line;
}

function between(source: string, start: Position, end: Position): string {
	const lines = source.split('\n').slice(start.line - 1, end.line);
	const last = lines.length - 1;
	if (last >= 0) lines[last] = (lines[last] as string).slice(0, end.column - 1);
	if (last >= 0) lines[0] = (lines[0] as string).slice(start.column - 1);
	return lines.join('\n');
}

/** What is not in the sample has another status, see sample-checker.ts. */
export function folderResult({ files }: StrykerReport, date: string, seed: number): FolderResult {
	const survivors: FolderResult['survivors'][number][] = [];
	let all = 0;
	let unreached = 0;
	let run = 0;
	for (const [file, { source, mutants }] of Object.entries(files)) {
		for (const { status, replacement = '', location } of mutants) {
			all++;
			if (!IN_SAMPLE.includes(status)) continue;
			run++;
			if (status === 'NoCoverage') unreached++;
			if (status !== 'Survived') continue;
			const { start, end } = location;
			survivors.push({
				at: `${file}:${start.line}`,
				change: `${short(between(source, start, end))} → ${short(replacement) || 'nothing'}`,
			});
		}
	}
	const caught = run - unreached - survivors.length;
	return { all, run, unreached, caught, survivors, date, seed };
}
