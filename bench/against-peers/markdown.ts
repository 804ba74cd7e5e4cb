/** docs/benchmarks.md from docs/benchmarks.json. Pure. */
import type { Benchmarks, FigureResult } from '../experiments/results.js';
import { formatSpread } from '../shared/statistics.js';
import { formatRatio } from './text.js';

/** Inside a cell of a table. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	return [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
}

function unique<T>(values: readonly T[]): T[] {
	return [...new Set(values)];
}

function figureTable({ figure, unit, digits, sides, ratios, rounds }: FigureResult): string {
	const name = `${unit ? `${figure}, ${unit}` : figure} (${rounds === 1 ? 'one run' : `${rounds} runs`})`;
	return table(
		[name, 'median (least – most)', 'ratio'],
		sides.map((side) => [
			side.name,
			formatSpread(side, digits),
			ratios
				.filter(({ of }) => of === side.name)
				.map(formatRatio)
				.join('<br>'),
		]),
	);
}

/** The commands of a workload's sides, and the peers that could not take part. */
function sidesOf(figures: readonly FigureResult[]): string {
	const commands = new Map(
		figures.flatMap(({ sides }) => sides.map((side) => [side.name, side] as const)),
	);
	const missing = new Map(
		figures.flatMap((figure) => figure.missing.map(({ name, why }) => [name, why] as const)),
	);
	return [
		...[...commands]
			.filter(([, { command }]) => command)
			.map(([name, { command, version }]) => {
				return `- ${name}${version ? ` (${version})` : ''}: \`${command}\``;
			}),
		...[...missing].map(([name, why]) => `- ${name}: not measured (${why})`),
	].join('\n');
}

function toolSection(tool: string, figures: readonly FigureResult[]): string {
	const parts = unique(figures.map(({ workload }) => workload)).map((workload) => {
		const those = figures.filter((figure) => figure.workload === workload);
		return [`### ${workload}`, sidesOf(those), ...those.map(figureTable)].join('\n\n');
	});
	const [{ date = '', commit = '', kernel = '' } = {}] = figures;
	return [
		`## ${tool}`,
		`\`make bench TOOL=${tool}\`, ${date.slice(0, 10)}, commit ${commit}, Linux ${kernel}`,
		...parts,
	].join('\n\n');
}

export function renderMarkdown({ command, date, machine, peers, figures }: Benchmarks): string {
	const facts = Object.entries(machine).map(([name, value]) => [name, `${value}`]);
	return `${[
		'# Benchmarks',
		`\`${command}\` wrote this page on ${date.slice(0, 10)}, from [benchmarks.json](benchmarks.json). Do not edit it.`,
		'The tools of a comparison do the same work, one after another, round after round. Each round gives a ratio of two ' +
			'values. The table shows the median of the ratios of all rounds, and in brackets the smallest and the largest ratio. A ratio below 1 means less than the ' +
			"peer; for each ratio, less is better. BPF time is the time in the tool's own BPF programs, from the kernel's run-time " +
			'statistics. To measure, the kernel reads the clock twice in each run; this time is in the figures of all tools. ' +
			'`make bench-guard` compares tstrace with an earlier tstrace instead: see [CONTRIBUTING](../CONTRIBUTING.md). ' +
			'Each section has the date, the commit and the kernel of its last measurement. All measurements were on this machine. ' +
			'The list of peers is from the last run. `asked ≤ 0.3` is the goal that this project set for that ratio.',
		table(['machine', ''], facts),
		table(
			['peer', 'version'],
			peers.map(({ name, version, missing }) => [name, version ?? `missing: ${missing}`]),
		),
		...unique(figures.map(({ tool }) => tool)).map((tool) =>
			toolSection(
				tool,
				figures.filter((figure) => figure.tool === tool),
			),
		),
	].join('\n\n')}\n`;
}
