/** Units of time on the way out; inside everything is nanoseconds. */
import { grouped } from './numbers.js';

export interface TimeUnit {
	/** As headings have it. */
	readonly name: string;
	readonly ns: number;
}

export const MICROSECONDS: TimeUnit = { name: 'usecs', ns: 1e3 };
export const MILLISECONDS: TimeUnit = { name: 'msecs', ns: 1e6 };

/** A time in a unit, with three significant digits or so: "0.42", "17.3", "1,024". */
export function inUnit(time_ns: number, unit: TimeUnit): string {
	const value = time_ns / unit.ns;
	if (value >= 100) return grouped(value);
	return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** A time in the unit that suits it: "870 ns", "4.1 us", "12.5 ms", "3.2 s". */
export function humanTime(time_ns: number): string {
	// 999.6 of one unit would be rounded up to 1000 of it.
	if (time_ns < 999.5) return `${Math.round(time_ns)} ns`;
	if (time_ns < 999.5e3) return `${(time_ns / 1e3).toPrecision(3)} us`;
	if (time_ns < 999.5e6) return `${(time_ns / 1e6).toPrecision(3)} ms`;
	const seconds = time_ns / 1e9;
	return seconds < 100 ? `${seconds.toPrecision(3)} s` : `${grouped(seconds)} s`;
}

const BYTE_UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** An amount of memory: exact as long as it is short, "99,700 B", then "12.3 MiB". */
export function humanBytes(bytes: number): string {
	const size = Math.abs(bytes);
	if (size < 999_999.5) return `${bytes < 0 ? '-' : ''}${grouped(size)} B`;
	let value = bytes / 1024;
	let unit = 0;
	while (Math.abs(value) >= 999.5 && unit < BYTE_UNITS.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${value.toPrecision(3)} ${BYTE_UNITS[unit]}`;
}

/** HH:MM:SS of the local time zone, as vmstat -t and bcc -T have it; with milliseconds if asked. */
export function clockTime(date: Date, milliseconds = false): string {
	const two = (value: number) => value.toString().padStart(2, '0');
	const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
	return milliseconds ? `${time}.${date.getMilliseconds().toString().padStart(3, '0')}` : time;
}
