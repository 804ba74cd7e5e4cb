/** An examination as text or JSON. */
import { largest } from '../aggregate/largest.js';
import { escapedJson } from '../render/json.js';
import { type Colour, paint, printable, type Style, wrapped } from '../render/terminal.js';
import type { Check, Examination, State, ToolCheck } from './check.js';

const COLOURS: Readonly<Record<State, Colour>> = { ok: 'green', warn: 'yellow', missing: 'red' };
const STATE_WIDTH = 'missing'.length + 1;

export function renderText({ checks, tools }: Examination, style: Style): string {
	const nameWidth =
		largest(
			checks.map(({ name }) => name.length),
			0,
		) + 2;
	const lines = checks.flatMap((check) => checkLines(check, nameWidth, style));
	const running = tools.filter(({ runs }) => runs).length;
	const title = `${running} of ${tools.length} tools can run here:`;
	const toolWidth =
		largest(
			tools.map(({ name }) => name.length),
			0,
		) + 2;
	const toolsLines = tools.map((tool, i) => {
		const first = tools.findIndex(({ why }) => why !== undefined && why === tool.why);
		const same = first >= 0 && first < i ? `as ${tools[first]?.name}` : undefined;
		return toolLine(same === undefined ? tool : { ...tool, why: same }, toolWidth, style);
	});
	return `${[...lines, '', paint(style, 'bold', title), ...toolsLines].join('\n')}\n`;
}

function checkLines(check: Check, nameWidth: number, style: Style): string[] {
	const { name, state, found, costs, fix } = check;
	const before = ' '.repeat(STATE_WIDTH + nameWidth);
	const lines = [within(found, before.length, style)];
	if (costs !== undefined) lines.push(`${before}costs: ${within(costs, before.length + 7, style)}`);
	if (fix !== undefined) lines.push(`${before}fix:   ${within(fix, before.length + 7, style)}`);
	const mark = paint(style, COLOURS[state], state.padEnd(STATE_WIDTH));
	return [`${mark}${printable(name).padEnd(nameWidth)}${lines[0]}`, ...lines.slice(1)];
}

function toolLine({ name, runs, way, why }: ToolCheck, nameWidth: number, style: Style): string {
	const mark = paint(style, runs ? 'green' : 'red', runs ? 'yes  ' : 'no   ');
	const text = (runs ? way : why) ?? '';
	const line = `  ${name.padEnd(nameWidth)}${mark}${within(text, nameWidth + 7, style)}`;
	return line.trimEnd();
}

/** Text that begins `indent` columns into its line, and goes on there in the next. */
function within(text: string, indent: number, { width }: Style): string {
	const lines = wrapped(printable(text.replaceAll('\n', '; ')), '', width - indent).split('\n');
	return lines.join(`\n${' '.repeat(indent)}`);
}

/** One line; what does not apply is null. */
export function renderJson({ checks, tools }: Examination): string {
	return `${escapedJson({
		schema: 1,
		checks: checks.map(({ name, state, found, costs = null, fix = null }) => ({
			name,
			state,
			found,
			costs,
			fix,
		})),
		tools: tools.map(({ name, runs, way = null, why = null }) => ({ name, runs, way, why })),
	})}\n`;
}
