/** Counts of several runs of COMMAND, as one result. Pure. */
import { largest } from '../../aggregate/largest.js';
import type { CountRow, Spread, StatFindings } from './findings.js';
import { withMetrics } from './rows.js';

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const mean = (values: readonly number[]) => sum(values) / values.length;

/** Of one value at the least: the sample standard deviation, 0 of one. */
export function spreadOf(values: readonly number[]): Spread {
	const average = mean(values);
	const squares = sum(values.map((value) => (value - average) ** 2));
	return {
		deviation: Math.sqrt(squares / Math.max(1, values.length - 1)),
		min: -largest(values.map((value) => -value)),
		max: largest(values),
	};
}

/** The means of all runs, each with its spread; ratios are those of the means. */
export function joined(all: readonly StatFindings[]): StatFindings {
	const [first] = all as readonly [StatFindings];
	const elapsed = all.map(({ about }) => about.elapsed_s);
	const rows = first.rows.map((_, i) => joinedRow(all.map((each) => each.rows[i] as CountRow)));
	return {
		kind: 'table',
		about: {
			...first.about,
			...meanTimes(all),
			...meanBusy(all),
			elapsed_s: mean(elapsed),
			until_s: sum(elapsed),
			runs: all.length,
			elapsed_runs: spreadOf(elapsed),
		},
		rows: withMetrics(rows, mean(elapsed)),
	};
}

function meanTimes(all: readonly StatFindings[]) {
	const user = all.flatMap(({ about }) => about.user_s ?? []);
	const system = all.flatMap(({ about }) => about.system_s ?? []);
	return user.length === 0 ? {} : { user_s: mean(user), system_s: mean(system) };
}

/** A run counts for as long as it took. */
function meanBusy(all: readonly StatFindings[]) {
	const known = all.flatMap(({ about: { machine_busy_share: share, elapsed_s } }) =>
		share === undefined ? [] : { busy_s: share * elapsed_s, elapsed_s },
	);
	const elapsed_s = sum(known.map((each) => each.elapsed_s));
	return elapsed_s > 0
		? { machine_busy_share: sum(known.map(({ busy_s }) => busy_s)) / elapsed_s }
		: {};
}

/** A run in which the event's turn never came has no part in it. */
function joinedRow(all: readonly CountRow[]): CountRow {
	const [first] = all as readonly [CountRow];
	const counted = all.filter(({ value }) => value !== null);
	const enabled_ns = sum(all.map((row) => row.enabled_ns));
	const running_ns = sum(all.map((row) => row.running_ns));
	const counted_share = enabled_ns === 0 ? 1 : Math.min(1, running_ns / enabled_ns);
	const values = counted.map(({ value }) => value ?? 0);
	return {
		...(counted[0] ?? first),
		enabled_ns,
		running_ns,
		counted_share,
		...(values.length > 0 ? { value: mean(values), runs: spreadOf(values) } : {}),
	};
}
