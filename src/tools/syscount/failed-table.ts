/** System calls that failed, and what they were about, as a table. */
import { grouped } from '../../render/numbers.js';
import { type Column, moreLine, numbers, renderTable } from '../../render/table.js';
import type { Style } from '../../render/terminal.js';
import { normalErrors } from './normal-errors.js';

/** What of a row is shown. A type and not an interface, so that rows are records as well. */
export type ShownFailure = {
	readonly pid: number;
	readonly comm: string;
	readonly syscall: string;
	readonly error: string;
	readonly errors: number;
	/** As the program gave it; null: its memory could not be read. */
	readonly path?: string | null;
	/** It went on. */
	readonly path_cut?: boolean;
	readonly descriptor?: number;
	/** What the descriptor was; null: not open. */
	readonly file?: string | null;
};

interface FailuresView {
	readonly style: Style;
	/** 0: all. */
	readonly top: number;
}

/** The rows as they are sorted, and a line that adds them up. */
export function renderFailures(rows: readonly ShownFailure[], view: FailuresView): string {
	if (rows.length === 0) return '';
	const shown = view.top > 0 ? rows.slice(0, view.top) : rows;
	const failed = (some: readonly ShownFailure[]) =>
		`${grouped(some.reduce((sum, { errors }) => sum + errors, 0))} failed`;
	const rest = rows.slice(shown.length);
	const more = moreLine(rest.length, ` with ${failed(rest)}`);
	const table = renderTable(COLUMNS, shown, view.style);
	return `\n${table}${more}${failed(rows)} in all\n${normalErrors(shown)}`;
}

const COLUMNS: readonly Column<ShownFailure>[] = [
	numbers('ERRORS', ({ errors }) => grouped(errors)),
	numbers('PID', ({ pid }) => `${pid}`),
	{ heading: 'COMM', align: 'left', cell: ({ comm }) => comm },
	{ heading: 'SYSCALL', align: 'left', cell: ({ syscall }) => syscall },
	{ heading: 'ERROR', align: 'left', cell: ({ error }) => error },
	{ heading: 'PATH OR DESCRIPTOR', align: 'left', cell: subjectOf, shrinks: true },
];

function subjectOf({ path, path_cut, descriptor, file }: ShownFailure): string {
	if (path === null) return '(unreadable)';
	if (path !== undefined) return path === '' ? '""' : `${path}${path_cut ? '…' : ''}`;
	if (descriptor === undefined) return '';
	return file === null ? `${descriptor} (not open)` : `${descriptor} → ${file}`;
}
