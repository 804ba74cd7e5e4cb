/** What `tstrace why --json` says, as far as tests look at it. */
import assert from 'node:assert/strict';
import { tstrace } from './support.js';

export interface Place {
	readonly place: string;
	readonly kind: string;
	readonly for_traced?: true;
	readonly total_ns: number;
	readonly count: number;
	readonly error_ns?: number;
	readonly max?: number;
}

export interface Report {
	readonly lost: Readonly<Record<string, number>>;
	readonly verdict: string;
	readonly rule: string;
	readonly threads: number;
	readonly window_ns: number;
	readonly wall_ns: number;
	readonly idle_ns: number;
	readonly working_ns: number;
	readonly excess_ns: number;
	readonly account: readonly Place[];
	readonly sufferers: readonly { readonly pid: number }[];
	readonly machine: {
		readonly tracer_ns: number;
		readonly read_bytes: number;
		readonly others: readonly {
			pid: number;
			disk_pid: number;
			comm: string;
			processes: number;
			run_ns: number;
			read_bytes: number;
			written_bytes: number;
		}[];
	};
	readonly worst: readonly {
		begin_s: number;
		duration_ns: number;
		tid: number;
		comm: string;
		kind: string;
	}[];
	readonly stacks: readonly {
		frames: string[];
		value: number;
		key: { pid: number; comm: string; place: string; kind: string };
	}[];
}

export function why(...args: readonly string[]): Report {
	const { status, stdout, stderr } = tstrace(['why', '--json', ...args]);
	assert.equal(status, 0, stderr);
	return JSON.parse(stdout) as Report;
}

export const total = (places: readonly Place[]) =>
	places.reduce((sum, { total_ns }) => sum + total_ns, 0);

export function near(value: number, wanted: number, share: number, what: string, more = 0): void {
	const off = Math.abs(value - wanted);
	assert.ok(off <= share * wanted + more, `${what}: ${value}, not ${wanted}`);
}
