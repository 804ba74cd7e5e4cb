/** For how much of the time the CPUs were not idle. Source: man 5 proc_stat. */
import { readFileSync } from 'node:fs';

/** In ticks, of all CPUs together, since the machine started. */
export interface Busy {
	readonly idle: number;
	readonly all: number;
}

export const readBusy = (): Busy | undefined => parseBusy(readFileSync('/proc/stat', 'utf8'));

/** Of the first line: user nice system idle iowait irq softirq steal; what follows is in user already. */
export function parseBusy(text: string): Busy | undefined {
	const ticks = /^cpu +([\d ]+)/.exec(text)?.[1]?.split(' ').slice(0, 8).map(Number);
	if (!ticks || ticks.length < 8) return undefined;
	const all = ticks.reduce((sum, each) => sum + each, 0);
	return { all, idle: (ticks[3] ?? 0) + (ticks[4] ?? 0) };
}

/** From 0 to 1; undefined where it is not known. */
export function busySince(now: Busy | undefined, before: Busy | undefined): number | undefined {
	if (!now || !before || now.all <= before.all) return undefined;
	const share = 1 - (now.idle - before.idle) / (now.all - before.all);
	return Math.min(1, Math.max(0, share));
}
